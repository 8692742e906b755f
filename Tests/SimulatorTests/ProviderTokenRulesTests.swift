import Core
import TLS
import Testing

@testable import Simulator

@Suite("The provider token of a connection")
struct ProviderTokenRulesTests {
    var binding = ProviderTokenRules()
    /// The bundle IDs of the key, or the refusal.
    typealias Verdict = Result<[[UInt8]], SimulatedResponse>
    let valid = Verdict.success([])

    func refused(_ status: UInt16, _ reason: String) -> Verdict {
        .failure(SimulatedResponse(status, reason))
    }

    mutating func check(_ header: String?, at time: Duration = .zero, keys: [ProviderKey] = []) throws -> Verdict {
        try verdict(header, at: time, keys: keys).mapError(\.withoutCause)
    }

    private mutating func verdict(_ header: String?, at time: Duration, keys: [ProviderKey] = []) throws -> Verdict {
        let ring = try ProviderKeyRing(keys)
        return Verdict { () throws(SimulatedResponse) in
            try binding.check(header.map { Array($0.utf8) }, at: Samples.moment(time), ring, .production)
        }
    }

    /// The reason for refusing a token.
    private mutating func cause(
        _ header: String?, at time: Duration = .zero, keys: [ProviderKey] = []
    ) throws -> String? {
        guard case .failure(let response) = try verdict(header, at: time, keys: keys) else { return nil }
        #expect(response.status == 403)
        return response.cause
    }

    private static let goodHeader = #"{"alg":"ES256","kid":"ABC123DEFG"}"#

    @Test(
        "The cause of a refusal names the wrong part of the token",
        arguments: [
            (goodHeader, #"{"iss":"DEF123GHIJ","iat":"1795219200"}"#, "iat is not a number"),
            (goodHeader, #"{"iss":"DEF123GHIJ"}"#, "iat is missing"),
            (goodHeader, #"{"iss":"DEF123GHIJ","iat":1.5}"#, "iat is not a whole number of seconds"),
            (#"{"alg":"RS256","kid":"ABC123DEFG"}"#, "{}", "alg is \"RS256\", not ES256"),
            (#"{"alg":"ES256","kid":"ABC"}"#, "{}", "kid has 3 characters instead of 10"),
            (#"{"alg":"ES256"}"#, "{}", "kid is missing"), (goodHeader, #"{"iss":7}"#, "iss is not a string"),
            ("[]", "{}", "the header of the provider token is not a JSON object"),
            (
                goodHeader, #"{"iss":"DEF123GHIJ","iat":1795219200}"#,
                "the signature is neither 64 bytes (r and s) nor DER, but 1 bytes"
            ),
        ])
    mutating func malformedCause(header: String, claims: String, cause: String) throws {
        let parts = [header, claims, "x"].map { Base64.url.encode(Array($0.utf8)) }
        #expect(try self.cause("bearer \(parts.joined(separator: "."))") == cause)
        #expect(!binding.isBound)
    }

    @Test("The cause of a refusal names the mismatch: header, key, team, signature or clock")
    mutating func cause() throws {
        #expect(try cause(nil) == "authorization is missing")
        #expect(try cause("bearer a.b") == "the provider token has 2 parts between dots instead of 3")
        #expect(try cause("bearer a.b.c") == "the header of the provider token is not base64url")
        let keys = [Self.key]
        #expect(try cause(Samples.bearer(key: "OTHERKEY12"), keys: keys) == "kid \"OTHERKEY12\" is not a known key")
        #expect(
            try cause(Samples.bearer(team: "OTHERTEAM1"), keys: keys)
                == "the key \"ABC123DEFG\" is not of the team \"OTHERTEAM1\"")
        #expect(
            try cause(Samples.bearer(pem: Samples.anotherSigningKey), keys: keys)
                == "the signature was not made with the key \"ABC123DEFG\"")
        #expect(
            try cause(Samples.bearer(issuedAt: Samples.start.wall.seconds - 3601))
                == "iat is 1795215599, more than 3600 s behind the simulator's clock (1795219200)")
    }

    static var key: ProviderKey {
        ProviderKey(keyID: Samples.keyID, teamID: Samples.teamID, publicKeyPEM: Samples.signingKey)
    }

    @Test("Every form of no token is refused as missing", arguments: [nil, "", "bearer", "bearer ", "Basic abcdef"])
    mutating func missing(header: String?) throws {
        #expect(try check(header) == refused(403, "MissingProviderToken"))
    }

    @Test("A token of a known key is accepted, and its header must not change")
    mutating func knownKeys() throws {
        #expect(try check(Samples.bearer(), keys: [Self.key]) == valid)
        #expect(
            try check(Samples.bearer().replacing("bearer", with: "Bearer"), at: .seconds(1), keys: [Self.key])
                == refused(429, "TooManyProviderTokenUpdates"))
    }

    @Test("Without a public key the signature is not checked")
    mutating func noPublicKey() throws {
        var key = Self.key
        key.publicKeyPEM = nil
        key.topics = ["com.example.MyApp"]
        let verdict = try check(Samples.bearer(pem: SigningKey.generate().pkcs8PEM), keys: [key])
        #expect(verdict == .success([Array("com.example.MyApp".utf8)]))
    }

    @Test("A key that cannot be read is refused at the start")
    func unreadable() {
        let key = ProviderKey(keyID: Samples.keyID, teamID: Samples.teamID, publicKeyPEM: "no key")
        #expect(throws: Complaint.self) { try ProviderKeyRing([key]) }
    }

    @Test("A key for the other environment is refused as such")
    mutating func environment() throws {
        var key = Self.key
        key.environment = .development
        #expect(try check(Samples.bearer(), keys: [key]) == refused(403, "BadEnvironmentKeyIdInToken"))
    }

    @Test("A token is valid for an hour to the second")
    mutating func age() throws {
        let bearer = Samples.bearer()
        #expect(try check(bearer) == valid)
        #expect(try check(bearer, at: .seconds(3600)) == valid)
        #expect(try check(bearer, at: .seconds(3601)) == refused(403, "ExpiredProviderToken"))
    }

    @Test("A token from the future is invalid beyond the permitted clock difference")
    mutating func future() throws {
        let now = Samples.start.wall.seconds
        #expect(try check(Samples.bearer(issuedAt: now + 61)) == refused(403, "InvalidProviderToken"))
        #expect(try check(Samples.bearer(issuedAt: .max)) == refused(403, "InvalidProviderToken"))
        #expect(try check(Samples.bearer(issuedAt: .min + 1)) == refused(403, "ExpiredProviderToken"))
        #expect(try check(Samples.bearer(issuedAt: now + 60)) == valid)
    }

    @Test("A token may be changed once in 20 minutes, and the previous one stays valid")
    mutating func updates() throws {
        let now = Samples.start.wall.seconds
        let tooMany = refused(429, "TooManyProviderTokenUpdates")
        let first = Samples.bearer()
        #expect(try check(first) == valid)
        #expect(try check(Samples.bearer(issuedAt: now + 1199), at: .seconds(1199)) == tooMany)
        #expect(try check(first, at: .seconds(1199)) == valid)
        #expect(try check(Samples.bearer(issuedAt: now + 1200), at: .seconds(1200)) == valid)
        #expect(binding.updates == 1)
        #expect(try check(Samples.bearer(issuedAt: now - 1), at: .seconds(1300)) == tooMany)
        #expect(try check(Samples.bearer(issuedAt: now + 2400), at: .seconds(2400)) == valid)
    }

    @Test("A connection opened with an old token may renew it at once, but only once")
    mutating func oldFirstToken() throws {
        let now = Samples.start.wall.seconds
        #expect(try check(Samples.bearer(issuedAt: now - 3000)) == valid)
        #expect(try check(Samples.bearer(issuedAt: now), at: .seconds(1)) == valid)
        #expect(
            try check(Samples.bearer(issuedAt: now - 1500), at: .seconds(2))
                == refused(429, "TooManyProviderTokenUpdates"))
    }

    @Test("A connection keeps its team and its key")
    mutating func teamAndKey() throws {
        let later = Samples.start.wall.seconds + 2000
        #expect(try check(Samples.bearer()) == valid)
        let otherTeam = Samples.bearer(team: "OTHERTEAM1", issuedAt: later)
        #expect(try check(otherTeam, at: .seconds(2000)) == refused(403, "InvalidProviderToken"))
        let otherKey = Samples.bearer(key: "OTHERKEY12", issuedAt: later)
        #expect(try check(otherKey, at: .seconds(2000)) == refused(403, "UnrelatedKeyIdInToken"))
    }
}

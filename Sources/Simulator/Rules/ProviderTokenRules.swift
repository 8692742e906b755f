import Core
import TLS

/// The provider token of one connection: the current one, and whether a new one is accepted.
///
/// A connection is bound to the team and the key of its first valid token; it may change to a related key. An update is
/// too frequent less than 20 minutes after the previous update on the connection. The same applies if both tokens were
/// issued less than 20 minutes apart. A connection opened with an old token may therefore renew it at once.
///
/// Sources: "Establishing a token-based connection to APNs" and "Handling notification responses from APNs".
struct ProviderTokenRules {
    private struct Bound {
        var header: [UInt8]
        var token: PresentedToken
        var key: ProviderKeyRing.Entry
        var updatedAt: Instant?
    }

    /// The maximum age of a provider token, in seconds.
    private static let lifetime: Int64 = 3600
    /// The minimum time between provider tokens on a connection, in seconds.
    private static let refreshInterval: Int64 = 1200
    /// The maximum of `iat` ahead of the simulator's clock, in seconds.
    private static let clockSkew: Int64 = 60

    private var bound: Bound?
    /// The number of token updates on the connection.
    private(set) var updates = 0

    var isBound: Bool { bound != nil }

    /// - Returns: the bundle IDs of the key; empty for all.
    mutating func check(
        _ authorization: [UInt8]?, at now: Moment, _ keys: ProviderKeyRing, _ environment: Environment
    ) throws(SimulatedResponse) -> [[UInt8]] {
        guard let authorization, authorization.count > 7, Self.isBearer(authorization.prefix(7)) else {
            let cause = authorization == nil ? "authorization is missing" : "authorization is not a bearer token"
            throw SimulatedResponse(403, "MissingProviderToken", cause)
        }
        if let bound, bound.header == authorization {
            guard now.instant < bound.key.revokedAt else {
                throw PresentedToken.invalid("the key \(quoted(bound.token.keyID.utf8)) is revoked")
            }
            try Self.checkAge(bound.token.issuedAt, now)
            return bound.key.topics
        }
        let token = try PresentedToken(authorization.dropFirst(7))
        let key = try keys.entry(for: token, at: now.instant)
        try Self.check(token, key, now, environment)
        try Self.checkAge(token.issuedAt, now)
        try bind(token, authorization, key, at: now.instant)
        return key.topics
    }

    private static func check(
        _ token: PresentedToken, _ key: ProviderKeyRing.Entry, _ now: Moment, _ environment: Environment
    ) throws(SimulatedResponse) {
        if let verifier = key.verifier, !verifier.verifyES256(token.signed.span, signature: token.signature.span) {
            throw PresentedToken.invalid("the signature was not made with the key \(quoted(token.keyID.utf8))")
        }
        if let only = key.key.environment, only != environment {
            throw SimulatedResponse(
                403, "BadEnvironmentKeyIdInToken", "the key \(quoted(token.keyID.utf8)) is for \(only.rawValue)")
        }
        guard token.issuedAt <= now.wall.seconds + clockSkew else {
            throw PresentedToken.invalid(
                "iat is \(token.issuedAt), more than \(clockSkew) s ahead of the simulator's clock "
                    + "(\(now.wall.seconds))")
        }
    }

    private mutating func bind(
        _ token: PresentedToken, _ header: [UInt8], _ key: ProviderKeyRing.Entry, at now: Instant
    ) throws(SimulatedResponse) {
        guard let bound else {
            self.bound = Bound(header: header, token: token, key: key)
            return
        }
        guard bound.token.teamID == token.teamID else {
            throw PresentedToken.invalid(
                "iss is \(quoted(token.teamID.utf8)), and the connection is bound to another team")
        }
        let previous = bound.token.keyID
        let isRelated = bound.key.key.relatedKeyID == token.keyID || key.key.relatedKeyID == previous
        guard previous == token.keyID || isRelated else {
            throw SimulatedResponse(
                403, "UnrelatedKeyIdInToken",
                "kid is \(quoted(token.keyID.utf8)), and the connection is bound to \(quoted(previous.utf8))")
        }
        let isFresh = bound.updatedAt.map { now - $0 < .seconds(Self.refreshInterval) } ?? false
        guard !isFresh, abs(token.issuedAt - bound.token.issuedAt) >= Self.refreshInterval else {
            throw SimulatedResponse(
                429, "TooManyProviderTokenUpdates",
                "the provider token was changed less than \(Self.refreshInterval) s ago")
        }
        self.bound = Bound(header: header, token: token, key: key, updatedAt: now)
        updates += 1
    }

    private static func checkAge(_ issuedAt: Int64, _ now: Moment) throws(SimulatedResponse) {
        // Subtracting from the clock cannot overflow, whatever value a client sends.
        guard issuedAt < now.wall.seconds - lifetime else { return }
        throw SimulatedResponse(
            403, "ExpiredProviderToken",
            "iat is \(issuedAt), more than \(lifetime) s behind the simulator's clock (\(now.wall.seconds))")
    }

    private static func isBearer(_ scheme: ArraySlice<UInt8>) -> Bool {
        scheme.elementsEqual("bearer ".utf8) { $0 == $1 || $0 | 0x20 == $1 }
    }
}

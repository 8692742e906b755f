import Core
import TLS

/// The provider token of one connection: the current one, and whether a new one is accepted.
///
/// A connection is bound to the team and the key of its first valid token; it may change to a related key. An update is
/// too frequent less than 20 minutes after the previous update on the connection. The same applies if both tokens were
/// issued less than 20 minutes apart. A connection opened with an old token may therefore renew it at once.
///
/// Sources: "Establishing a token-based connection to APNs" and "Handling notification responses from APNs".
struct CredentialBinding {
    private struct Bound {
        var header: [UInt8]
        var issuedAt: Int64
        var keyID: [UInt8]
        var key: ProviderKeyRing.Entry
        var updatedAt: Instant?
    }

    private var bound: Bound?
    /// The number of token updates on the connection.
    private(set) var updates = 0

    var isBound: Bool { bound != nil }

    /// - Returns: the bundle IDs of the key; empty for all.
    mutating func check(
        _ authorization: [UInt8]?, at now: Moment, _ keys: ProviderKeyRing, _ configuration: SimulatorConfiguration
    ) throws(SimulatedResponse) -> [[UInt8]] {
        guard let authorization, authorization.count > 7, Self.isBearer(authorization.prefix(7)) else {
            let cause = authorization == nil ? "authorization is missing" : "authorization is not a bearer token"
            throw SimulatedResponse(403, "MissingProviderToken", cause)
        }
        if let bound, bound.header == authorization {
            guard now.instant < bound.key.revokedAt else {
                throw PresentedToken.invalid("the key \(quoted(bound.keyID)) is revoked")
            }
            try Self.checkAge(bound.issuedAt, now, configuration)
            return bound.key.topics
        }
        let token = try PresentedToken(authorization.dropFirst(7))
        let key = try keys.entry(for: token, at: now.instant)
        try Self.check(token, key, now, configuration)
        try Self.checkAge(token.issuedAt, now, configuration)
        try bind(token, authorization, key, at: now.instant, configuration)
        return key.topics
    }

    /// Checks signature, environment and clock.
    private static func check(
        _ token: PresentedToken, _ key: ProviderKeyRing.Entry, _ now: Moment, _ configuration: SimulatorConfiguration
    ) throws(SimulatedResponse) {
        if let verifier = key.verifier, !verifier.verifyES256(token.signed.span, signature: token.signature.span) {
            throw PresentedToken.invalid("the signature was not made with the key \(quoted(token.keyID))")
        }
        if let environment = key.environment, environment != configuration.environment {
            throw SimulatedResponse(
                403, "BadEnvironmentKeyIdInToken", "the key \(quoted(token.keyID)) is for \(environment.rawValue)")
        }
        let skew = configuration.clockSkew.components.seconds
        guard token.issuedAt <= now.wall.seconds + skew else {
            throw PresentedToken.invalid(
                "iat is \(token.issuedAt), more than \(skew) s ahead of the simulator's clock (\(now.wall.seconds))")
        }
    }

    private mutating func bind(
        _ token: PresentedToken, _ header: [UInt8], _ key: ProviderKeyRing.Entry, at now: Instant,
        _ configuration: SimulatorConfiguration
    ) throws(SimulatedResponse) {
        guard var bound else {
            bound = Bound(header: header, issuedAt: token.issuedAt, keyID: token.keyID, key: key)
            return
        }
        guard bound.key.teamID == token.teamID else {
            throw PresentedToken.invalid("iss is \(quoted(token.teamID)), and the connection is bound to another team")
        }
        let isRelated = bound.key.relatedKeyID == token.keyID || key.relatedKeyID == bound.keyID
        guard bound.keyID == token.keyID || isRelated else {
            throw SimulatedResponse(
                403, "UnrelatedKeyIdInToken",
                "kid is \(quoted(token.keyID)), and the connection is bound to \(quoted(bound.keyID))")
        }
        let interval = configuration.tokenRefreshInterval
        let isFresh = bound.updatedAt.map { now - $0 < interval } ?? false
        guard !isFresh, abs(token.issuedAt - bound.issuedAt) >= interval.components.seconds else {
            throw SimulatedResponse(
                429, "TooManyProviderTokenUpdates",
                "the provider token was changed less than \(interval.components.seconds) s ago")
        }
        bound.keyID = token.keyID
        bound.key = key
        bound.header = header
        bound.issuedAt = token.issuedAt
        bound.updatedAt = now
        self.bound = bound
        updates += 1
    }

    private static func checkAge(
        _ issuedAt: Int64, _ now: Moment, _ configuration: SimulatorConfiguration
    ) throws(SimulatedResponse) {
        // Subtracting from the clock cannot overflow, whatever value a client sends.
        let lifetime = configuration.tokenLifetime.components.seconds
        guard issuedAt < now.wall.seconds - lifetime else { return }
        throw SimulatedResponse(
            403, "ExpiredProviderToken",
            "iat is \(issuedAt), more than \(lifetime) s behind the simulator's clock (\(now.wall.seconds))")
    }

    private static func isBearer(_ scheme: ArraySlice<UInt8>) -> Bool {
        scheme.elementsEqual("bearer ".utf8) { $0 == $1 || $0 | 0x20 == $1 }
    }
}

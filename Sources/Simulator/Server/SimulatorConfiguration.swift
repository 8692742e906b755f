package import Core

/// A signing key that the simulator knows.
package struct ProviderKey: Equatable, Sendable {
    /// Ten characters, the `kid` of a provider token.
    package var keyID: String
    /// Ten characters, the `iss` of a provider token.
    package var teamID: String
    /// The public key (or the whole `.p8`) in PEM; without it only the signature's format is checked.
    package var publicKeyPEM: String?
    /// The only environment of the key; `nil` for both.
    package var environment: Environment?
    /// The bundle IDs of the key; empty for all of the team.
    package var topics: [String] = []
    /// The ID of a key to which a connection with this key may change.
    package var relatedKeyID: String?
    /// Counted from the simulator's start, as the next one.
    package var issuedAfter = Duration.zero
    /// `nil` for never.
    package var revokedAfter: Duration?

    package init(keyID: String, teamID: String, publicKeyPEM: String? = nil) {
        self.keyID = keyID
        self.teamID = teamID
        self.publicKeyPEM = publicKeyPEM
    }
}

/// The configuration of the simulated service. The defaults are Apple's documented numbers if there are any.
///
/// It is flat because each property is one option of `harebell simulate`, or one setting of a test.
package struct SimulatorConfiguration: Sendable {
    /// A bundle ID, and when it is registered, counted from the simulator's start. A connection that was bound before
    /// still refuses it. Source: "Establishing a token-based connection to APNs".
    package struct Topic: Equatable, Sendable {
        package var bundleID: String
        package var after = Duration.zero
    }

    /// `development` adds `apns-unique-id` to responses.
    package var environment = Environment.production
    /// Authorities (PEM) of client certificates. If set, a client may present a certificate, which replaces its
    /// provider tokens; `nil` requests no certificate.
    package var clientAuthorityPEM: String?
    /// The signing keys by ID. Without any, every well-formed provider token is accepted.
    package var keys: [ProviderKey] = []
    /// The accepted bundle IDs; empty for all.
    package var topics: [Topic] = []
    /// The notifications per device and period before `TooManyRequests`; `nil` for no limit.
    package var deviceLimit: Rate?
    /// The connections per period before new ones are cut; `nil` for no limit.
    /// Source: APNs Provider API, "Best Practices for Managing Connections".
    package var connectionLimit: Rate?
    /// SETTINGS_MAX_CONCURRENT_STREAMS before a valid provider token. Source: "Sending notification requests to APNs".
    package var streamsBeforeToken: UInt32 = 1
    /// Whether device tokens with the documented prefixes have the documented outcomes without a script.
    package var hasBuiltInTokens = true
    /// The seed for random choices: the same seed and requests produce the same responses.
    package var seed: UInt64 = 1

    package init() {}
}

/// A count per period, starting with the first event: `5 per 10s`.
package struct Rate: Equatable, Sendable {
    package var count: Int
    package var period: Duration
}

/// The recent events of one rate.
struct RateWindow {
    private var begin = Instant.distantPast
    private var count = 0

    /// - Returns: `false` if the period has reached its limit.
    mutating func admit(_ rate: Rate, at now: Instant) -> Bool {
        if now - begin >= rate.period {
            begin = now
            count = 0
        }
        guard count < rate.count else { return false }
        count += 1
        return true
    }
}

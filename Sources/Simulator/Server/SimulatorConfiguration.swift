package import Core

/// A signing key that the simulated Apple knows.
package struct ProviderKey: Equatable, Sendable {
    /// Ten characters, the `kid` of a provider token.
    package var keyID: String
    /// Ten characters, the `iss` of a provider token.
    package var teamID: String
    /// The public key (or the whole `.p8`) in PEM; without it a signature's form is checked and nothing more.
    package var publicKeyPEM: String?
    /// The only environment that the key is for; `nil` for both.
    package var environment: Environment?
    /// The bundle IDs that the key is for; empty for all of the team.
    package var topics: [String]
    /// The ID of the key that a connection of this one may change to.
    package var relatedKeyID: String?
    /// When the key is issued, and when it is revoked, counted from the simulator's start; `nil`: always there.
    package var issuedAfter: Duration?
    package var revokedAfter: Duration?

    package init(
        keyID: String, teamID: String, publicKeyPEM: String? = nil, environment: Environment? = nil,
        topics: [String] = []
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.publicKeyPEM = publicKeyPEM
        self.environment = environment
        self.topics = topics
    }

    /// A key for everything of its team, with its public key from a file.
    package init(keyID: String, teamID: String, publicKeyFile: String) throws(SimulatorError) {
        self.init(keyID: keyID, teamID: teamID, publicKeyPEM: try TextFile.read(publicKeyFile))
    }
}

/// A bundle ID that the simulated Apple does not know from the start.
package struct LaterTopic: Equatable, Sendable {
    package var bundleID: String
    /// Counted from the simulator's start.
    package var after: Duration

    package init(_ bundleID: String, after: Duration) {
        self.bundleID = bundleID
        self.after = after
    }
}

/// What the simulated service knows and how it is set up. The defaults are Apple's own numbers where Apple gives any.
///
/// It is flat because each property is one option of `harebell simulate`, or one setting of a test.
package struct SimulatorConfiguration: Sendable {
    /// `development` adds `apns-unique-id` to the answers.
    package var environment = Environment.production
    /// Authorities (PEM) of client certificates. Where there are any, a client may show a certificate, which then takes
    /// the place of its provider tokens; `nil`: no client is asked for one.
    package var clientAuthorityPEM: String?
    /// The signing keys known by their IDs. Where there are none, and no ``publicKeyPEM`` either, any well-formed
    /// provider token is believed.
    package var keys: [ProviderKey] = []
    /// The public key (or the whole `.p8`) in PEM for provider tokens of all other key IDs and teams.
    package var publicKeyPEM: String?
    /// The bundle IDs that may be pushed to; empty, and ``laterTopics`` too: all.
    package var topics: [String] = []
    /// Bundle IDs that are registered so long after the simulator's start. A connection that was bound before keeps
    /// refusing them. Source: "Establishing a token-based connection to APNs".
    package var laterTopics: [LaterTopic] = []

    /// How old a provider token may be. Source: "Establishing a token-based connection to APNs".
    package var tokenLifetime = Duration.seconds(3600)
    /// How long a connection keeps a provider token at least. Source: as above.
    package var tokenRefreshInterval = Duration.seconds(1200)
    /// How far ahead of the simulator's clock `iat` may be.
    package var clockSkew = Duration.seconds(60)

    /// How many notifications a device takes in what time, before it is `TooManyRequests`; `nil`: any number.
    package var deviceLimit: Rate?
    /// How many connections may be opened in what time, before new ones are cut at once; `nil`: any number.
    /// Source: APNs Provider API, "Best Practices for Managing Connections".
    package var connectionLimit: Rate?
    /// With how many `BadDeviceToken` a connection is closed; `nil`: never.
    package var badTokenLimit: Int?
    /// With how many errors a connection is left with one stream; `nil`: never. 410 is no error.
    package var errorLimit: Int?

    /// SETTINGS_MAX_CONCURRENT_STREAMS until a valid provider token came. Source: "Sending notification requests to
    /// APNs".
    package var streamsBeforeToken: UInt32 = 1
    /// SETTINGS_MAX_CONCURRENT_STREAMS afterwards.
    package var streams: UInt32 = 1000
    /// SETTINGS_HEADER_TABLE_SIZE, bytes.
    package var headerTableSize: UInt32 = 4096
    /// SETTINGS_INITIAL_WINDOW_SIZE, bytes.
    package var initialWindow: UInt32 = 65535
    /// SETTINGS_MAX_HEADER_LIST_SIZE, bytes.
    package var maximumHeaderList: UInt32 = 8000

    /// Whether device tokens with the documented prefixes bring the documented outcomes without a script.
    package var hasBuiltInTokens = true
    /// Whether a payload has to be a JSON object, with `aps` where the push type has one.
    package var checksPayload = true
    /// Whether a broadcast to a channel that nobody created is accepted.
    package var acceptsUnknownChannels = false
    /// Channels per bundle ID. Source: "Sending channel management requests to APNs".
    package var maximumChannels = 10_000
    /// How many requests the ledger keeps one by one; it counts them all.
    package var maximumRecords = 100_000
    /// How many apns-ids the ledger remembers, to tell duplicates.
    package var maximumNotificationIDs = 2_000_000
    /// Where chance starts: the same seed and the same requests bring the same answers.
    package var seed: UInt64 = 1

    package init() {}

    /// Takes the authorities of client certificates from a PEM file.
    package mutating func acceptCertificates(ofAuthorityIn file: String) throws(SimulatorError) {
        clientAuthorityPEM = try TextFile.read(file)
    }
}

package import APNs
package import Configuration
package import Core
package import System
package import TLS

/// A pool of a configuration: the properties that apps must have in common to share connections to APNs, and the data
/// to decide whether a running pool can be kept for it.
///
/// The environment is included because a custom endpoint may serve both environments.
package struct PoolPlan: Sendable {
    /// Concurrent channel management requests per connection: each response may be as large as a list of channels.
    private static let managementStreams = 4

    package let environment: Environment
    package let endpoint: Endpoint
    package let caFile: FilePath?
    package let credential: Configuration.Credential
    /// Channel management has separate limits and therefore always separate connections.
    package let managesChannels: Bool
    private var limits: Configuration.APNs
    /// Of the credential and the trusted certificates: of the files' contents, not their names.
    private let digest: [UInt8]
    /// The bundle IDs of the apps that use it; empty for a certificate, which contains its own list.
    ///
    /// APNs binds a connection to a team "and its bundle IDs at that time". Source: "Establishing a token-based
    /// connection to APNs".
    private var bundleIDs: Set<String>

    /// - Parameter digest: the app's ``Configuration/App/credentialDigest()``; empty if no pool is kept.
    package init(
        _ app: Configuration.App, _ limits: Configuration.APNs, managesChannels: Bool = false, digest: [UInt8] = []
    ) {
        endpoint = managesChannels ? app.managementEndpoint : app.endpoint
        environment = app.environment
        caFile = app.caFile
        credential = app.credential
        self.managesChannels = managesChannels
        self.limits = limits
        // It does not concern pools: its change keeps them.
        self.limits.badTokenPause = nil
        self.digest = digest
        if case .token = app.credential { bundleIDs = [app.topic] } else { bundleIDs = [] }
    }

    /// `nil` for a direct connection.
    package var proxy: ProxyAddress? { limits.proxy }

    package func serves(_ wanted: PoolPlan) -> Bool {
        isAlike(wanted) && bundleIDs.isSuperset(of: wanted.bundleIDs)
    }

    func isAlike(_ other: PoolPlan) -> Bool {
        digest == other.digest && limits == other.limits && environment == other.environment
            && endpoint == other.endpoint && managesChannels == other.managesChannels
    }

    mutating func include(_ other: PoolPlan) {
        bundleIDs.formUnion(other.bundleIDs)
    }

    /// Reads the credential's certificate, if it has one, and the trusted certificates.
    package func makeContext() throws(TLSError) -> TLSContext {
        try TLSContext(
            role: .client, trust: caFile.map { .file($0) } ?? .system, identity: try credential.tlsIdentity(),
            protocols: ["h2"])
    }

    /// A pool that connects on `network`.
    ///
    /// - Parameters:
    ///   - connections: their number; `nil` for the configured number.
    ///   - context: from ``makeContext()``.
    package func makePool(
        connections: ClosedRange<Int>? = nil, context: TLSContext, tokens: ProviderTokens, network: any Network,
        seed: UInt64, at now: Instant
    ) -> APNsPool {
        let source = tokens.source(for: credential)
        var engine = APNsEngine.Configuration(endpoint: endpoint, usesProviderToken: source != nil)
        engine.requestTimeout = limits.requestTimeout
        engine.pingIdle = limits.pingIdle
        if managesChannels {
            engine.maximumResponseBody = APNsEngine.Configuration.maximumChannelList
            engine.maximumStreams = Self.managementStreams
        }
        // Channel management is rare: a connection is opened on demand.
        var pool = APNsPool.Configuration(
            engine: engine, connections: connections ?? (managesChannels ? 0...1 : limits.connections),
            permitsPerSecond: limits.permitsPerSecond, burst: limits.burst)
        pool.proxy = proxy
        return APNsPool(
            configuration: pool, context: context, tokens: source, network: network, random: SplitMix64(seed: seed),
            at: now)
    }
}

extension Configuration.App {
    /// SHA-256 of the app's credential and its trusted certificates.
    func credentialDigest() throws(TLSError) -> [UInt8] {
        var digests: [[UInt8]] = []
        if let caFile { digests.append(try Digest.sha256(file: caFile)) }
        switch credential {
        case .token(let keyFile, let keyID, let teamID):
            digests += [try Digest.sha256(file: keyFile), Digest.sha256(Array("\(keyID) \(teamID)".utf8))]
        case .pem(let certificateFile, let privateKeyFile):
            digests += [try Digest.sha256(file: certificateFile), try Digest.sha256(file: privateKeyFile)]
        case .p12(let file, let password):
            digests += [try Digest.sha256(file: file), Digest.sha256(Array((password?.reveal() ?? "").utf8))]
        }
        return Digest.sha256(digests.flatMap { $0 })
    }
}

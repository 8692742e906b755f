package import APNs
package import Configuration
package import Core
package import Proxy
package import System
package import TLS

/// What makes a connection to APNs one that another app may share: where it goes and which way, whom it trusts
/// and who it is. The
/// environment counts by itself, since one endpoint of a user's own may stand for both.
package struct PoolIdentity: Hashable, Sendable {
    /// What requests a connection carries.
    package enum Purpose {
        case notifications, broadcasts, management

        package init(_ target: Notification.Target) {
            switch target {
            case .device: self = .notifications
            case .channel: self = .broadcasts
            case .management: self = .management
            }
        }
    }

    /// Requests about channels at once on one connection: each answer may be as large as a list of channels.
    private static let managementStreams = 4

    package let environment: Environment
    package let endpoint: Endpoint
    /// What stands on the way; `nil` for the direct one.
    package let proxy: ProxyAddress?
    package let caFile: FilePath?
    package let credential: Configuration.Credential
    /// Channel management has limits of its own, and therefore connections of its own, wherever it goes.
    package let managesChannels: Bool

    package init(_ app: Configuration.App, for purpose: Purpose) {
        switch purpose {
        case .notifications: endpoint = app.endpoint
        case .broadcasts: endpoint = app.broadcastEndpoint
        case .management: endpoint = app.managementEndpoint
        }
        environment = app.environment
        proxy = app.proxy.proxy(to: endpoint)
        caFile = app.caFile
        credential = app.credential
        managesChannels = purpose == .management
    }

    /// Reads the credential's certificate, if it has one, and the certificates to trust.
    package func makeContext() throws(TLSError) -> TLSContext {
        try TLSContext(
            role: .client, trust: caFile.map { .file($0) } ?? .system, identity: try credential.tlsIdentity(),
            protocols: ["h2"])
    }

    /// Whether a pool connects before it has something to send.
    package func opensAtOnce(_ limits: Configuration.APNs) -> Bool {
        !managesChannels && limits.connections.lowerBound > 0
    }

    /// A pool for what has this identity, which connects on `network`.
    ///
    /// - Parameters:
    ///   - connections: how many; `nil` takes what `limits` says.
    ///   - context: from ``makeContext()``.
    package func makePool(
        _ limits: Configuration.APNs, connections: ClosedRange<Int>? = nil, context: TLSContext, tokens: ProviderTokens,
        network: any Network, seed: UInt64, at now: Instant
    ) -> APNsPool {
        let source = tokens.source(for: credential)
        var engine = APNsEngine.Configuration(endpoint: endpoint, usesProviderToken: source != nil)
        engine.requestTimeout = limits.requestTimeout
        engine.pingIdle = limits.pingIdle
        engine.stallLimit = limits.stallLimit
        if managesChannels {
            engine.maximumReplyBody = APNsEngine.Configuration.maximumChannelList
            engine.maximumStreams = Self.managementStreams
        }
        var pool = APNsPool.Configuration(engine: engine)
        // Channels are managed now and then: a connection is opened when there is something to ask.
        pool.connections = connections ?? (managesChannels ? 0...1 : limits.connections)
        pool.permitsPerSecond = limits.permitsPerSecond
        pool.burst = limits.burst
        pool.connectTimeout = limits.connectTimeout
        pool.maximumConnectsPerMinute = limits.connectsPerMinute
        pool.surplusTime = limits.surplusTime
        pool.deviceSpacing = limits.deviceSpacing
        if !limits.slowsOnErrors { pool.errorBrake = nil }
        return APNsPool(
            configuration: pool, context: context, tokens: source,
            network: proxy.map { ProxyNetwork(network, through: $0) } ?? network, random: SplitMix64(seed: seed),
            at: now)
    }
}

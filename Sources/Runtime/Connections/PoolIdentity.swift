package import APNs
package import Configuration
package import Core
package import Proxy
package import System
package import TLS

/// The properties that apps must have in common to share connections to APNs: endpoint, proxy, trusted certificates and
/// credential. The environment is included because a custom endpoint may serve both environments.
package struct PoolIdentity: Hashable, Sendable {
    /// The requests that a connection carries.
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

    /// Concurrent channel management requests per connection: each response may be as large as a list of channels.
    private static let managementStreams = 4

    package let environment: Environment
    package let endpoint: Endpoint
    /// `nil` for a direct connection.
    package let proxy: ProxyAddress?
    package let caFile: FilePath?
    package let credential: Configuration.Credential
    /// Channel management has separate limits and therefore always separate connections.
    package let managesChannels: Bool

    package init(_ app: Configuration.App, for purpose: Purpose) {
        endpoint = purpose == .management ? app.managementEndpoint : app.endpoint
        environment = app.environment
        proxy = app.proxy.proxy(to: endpoint)
        caFile = app.caFile
        credential = app.credential
        managesChannels = purpose == .management
    }

    /// Reads the credential's certificate, if it has one, and the trusted certificates.
    package func makeContext() throws(TLSError) -> TLSContext {
        try TLSContext(
            role: .client, trust: caFile.map { .file($0) } ?? .system, identity: try credential.tlsIdentity(),
            protocols: ["h2"])
    }

    /// Whether a pool connects before its first request.
    package func opensAtOnce(_ limits: Configuration.APNs) -> Bool {
        !managesChannels && limits.connections.lowerBound > 0
    }

    /// A pool with this identity that connects on `network`.
    ///
    /// - Parameters:
    ///   - connections: their number; `nil` for the number in `limits`.
    ///   - context: from ``makeContext()``.
    package func makePool(
        _ limits: Configuration.APNs, connections: ClosedRange<Int>? = nil, context: TLSContext, tokens: ProviderTokens,
        network: any Network, seed: UInt64, at now: Instant
    ) -> APNsPool {
        let source = tokens.source(for: credential)
        var engine = APNsEngine.Configuration(endpoint: endpoint, usesProviderToken: source != nil)
        engine.requestTimeout = limits.requestTimeout
        engine.pingIdle = limits.pingIdle
        if managesChannels {
            engine.maximumResponseBody = APNsEngine.Configuration.maximumChannelList
            engine.maximumStreams = Self.managementStreams
        }
        var pool = APNsPool.Configuration(engine: engine)
        // Channel management is rare: a connection is opened on demand.
        pool.connections = connections ?? (managesChannels ? 0...1 : limits.connections)
        pool.permitsPerSecond = limits.permitsPerSecond
        pool.burst = limits.burst
        return APNsPool(
            configuration: pool, context: context, tokens: source,
            network: proxy.map { ProxyNetwork(network, through: $0) } ?? network, random: SplitMix64(seed: seed),
            at: now)
    }
}

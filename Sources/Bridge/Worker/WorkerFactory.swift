import AMQP
import APNs
package import Core
package import Logging
import TLS

/// Builds a worker from a configuration, on whatever network it is to run.
package enum WorkerFactory {
    package static func worker(
        index: Int, configuration: Configuration, tokens: ProviderTokens, network: any Network, log: Logger,
        seed: UInt64,
        at now: Moment
    ) throws -> Worker {
        var random = SplitMix64(seed: seed)
        var identities: [PoolIdentity] = []
        let apps = configuration.apps.map { app in
            let identity = PoolIdentity(app)
            if !identities.contains(identity) { identities.append(identity) }
            return PipelineApp(
                topic: app.topic, environment: app.environment, pool: identities.firstIndex(of: identity) ?? 0)
        }
        var pools: [APNsPool] = []
        for identity in identities {
            pools.append(
                try pool(identity, configuration, tokens, network, seed: random.next(), at: now.instant))
        }
        let settings = PipelineSettings(configuration, worker: WorkerName.text(index: index))
        let consumers = settings.queues.map { ConsumerQueue(name: $0.name, prefetch: $0.prefetch) }
        return Worker(
            settings: settings, apps: AppTable(apps),
            consumer: try BrokerConnections.connection(
                .consumer(consumers), name: "harebell consume \(WorkerName.text(index: index))", configuration.broker,
                network: network, seed: random.next()),
            publisher: try BrokerConnections.connection(
                .publisher, name: "harebell publish \(WorkerName.text(index: index))", configuration.broker,
                network: network,
                seed: random.next()),
            pools: pools, log: log, seed: random.next(), at: now)
    }

    private static func pool(
        _ identity: PoolIdentity, _ configuration: Configuration, _ tokens: ProviderTokens, _ network: any Network,
        seed: UInt64, at now: Instant
    ) throws -> APNsPool {
        let limits = configuration.apns
        let source = tokens.source(for: identity.credential)
        var engine = APNsEngine.Configuration(endpoint: identity.endpoint, usesProviderToken: source != nil)
        engine.requestTimeout = limits.requestTimeout
        engine.pingIdle = limits.pingIdle
        var pool = APNsPool.Configuration(engine: engine)
        pool.connections = limits.connections
        pool.permitsPerSecond = limits.permitsPerSecond
        pool.burst = limits.burst
        pool.connectTimeout = limits.connectTimeout
        let context = try TLSContext(
            role: .client, trust: identity.caFile.map { .file($0) } ?? .system,
            identity: try identity.credential.tlsIdentity(), protocols: ["h2"])
        return APNsPool(
            configuration: pool, context: context, tokens: source, network: network, random: SplitMix64(seed: seed),
            at: now)
    }
}

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
        func pool(_ app: Configuration.App, for purpose: PoolIdentity.Purpose) -> Int {
            let identity = PoolIdentity(app, for: purpose)
            if let known = identities.firstIndex(of: identity) { return known }
            identities.append(identity)
            return identities.count - 1
        }
        let apps = try configuration.apps.map { app in
            try PipelineApp(
                app,
                pools: PipelineApp.Pools(
                    notifications: pool(app, for: .notifications), broadcasts: pool(app, for: .broadcasts),
                    management: pool(app, for: .management)))
        }
        var pools: [APNsPool] = []
        for identity in identities {
            pools.append(
                try identity.makePool(
                    configuration.apns, tokens: tokens, network: network, seed: random.next(), at: now.instant))
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
}

package import Core
package import TestSupport

/// The network of one worker: its connects to APNs are recorded, and a broken worker's output to the broker is changed.
package final class WorkerNetwork: Network {
    /// The times of its connects to APNs.
    package private(set) var connects: [Instant] = []
    private let network: MemoryNetwork
    private let sabotage: Sabotage?
    private var broken: [ObjectIdentifier: SabotagedEngine] = [:]

    package init(_ network: MemoryNetwork, _ sabotage: Sabotage?) {
        self.network = network
        self.sabotage = sabotage
    }

    package func connect(
        _ engine: any Engine, to endpoint: Endpoint, through proxy: ProxyAddress?, timeout: Duration
    ) {
        var engine = engine
        if endpoint == World.apns { connects.append(network.now) }
        if let sabotage, endpoint == World.broker {
            let wrapped = SabotagedEngine(engine, sabotage)
            broken[ObjectIdentifier(engine)] = wrapped
            engine = wrapped
        }
        network.connect(engine, to: endpoint, through: proxy, timeout: timeout)
    }

    package func disconnect(_ engine: any Engine) {
        network.disconnect(broken.removeValue(forKey: ObjectIdentifier(engine)) ?? engine)
    }
}

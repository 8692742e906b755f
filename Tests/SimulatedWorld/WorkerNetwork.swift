package import Core
package import TestSupport

/// The network of one worker, whose connects to APNs are recorded.
package final class WorkerNetwork: Network {
    /// The times of its connects to APNs.
    package private(set) var connects: [Instant] = []
    private let network: MemoryNetwork

    package init(_ network: MemoryNetwork) {
        self.network = network
    }

    package func connect(_ engine: any Engine, to endpoint: Endpoint, through proxy: ProxyAddress?, timeout: Duration) {
        if endpoint == World.apns { connects.append(network.now) }
        network.connect(engine, to: endpoint, through: proxy, timeout: timeout)
    }

    package func disconnect(_ engine: any Engine) {
        network.disconnect(engine)
    }
}

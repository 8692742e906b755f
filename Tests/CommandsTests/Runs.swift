import AMQP
import Core
import TestSupport

@testable import Commands

extension MemoryNetwork {
    /// A connection to the host `broker`.
    func brokerConnection(_ role: AMQPRole) -> AMQPConnection {
        let address = BrokerAddress(endpoint: Endpoint(host: "broker", port: 5672))
        return AMQPConnection(
            configuration: AMQPConfiguration(address: address, role: role), addresses: [address], network: self,
            random: SplitMix64(seed: 1))
    }
}

extension RequestRun {
    /// The trouble at its time limit; `nil` unless it came to that.
    var timeout: String? { if case .timedOut(let reason) = end { reason } else { nil } }
    /// Why it failed; `nil` unless it did.
    var failure: String? { if case .failed(let reason) = end { reason } else { nil } }
}

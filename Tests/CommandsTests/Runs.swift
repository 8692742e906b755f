import AMQP
import Core
import TestSupport

@testable import Commands

extension MemoryNetwork {
    /// A connection to the host `broker`.
    func brokerConnection(_ role: AMQPRole) -> AMQPConnection {
        brokerConnection(role, hosts: ["broker"], seed: 1)
    }

    func brokerConnection(_ role: AMQPRole, hosts: [String], seed: UInt64) -> AMQPConnection {
        let addresses = hosts.map { BrokerAddress(endpoint: Endpoint(host: $0, port: 5672)) }
        var configuration = AMQPConfiguration(address: addresses[0], role: role)
        configuration.connectTimeout = BrokerProgress.attempt
        return AMQPConnection(
            configuration: configuration, addresses: addresses, network: self, random: SplitMix64(seed: seed))
    }
}

extension RequestRun {
    /// The trouble at its time limit; `nil` unless it came to that.
    var timeout: String? { if case .timedOut(let reason) = end { reason } else { nil } }
    /// Why it failed; `nil` unless it did.
    var failure: String? { if case .failed(let reason) = end { reason } else { nil } }
}

package import AMQP
package import Configuration
package import Core
import TLS

package enum BrokerConnections {
    /// - Parameters:
    ///   - name: shown by the broker's management.
    ///   - connectTimeout: see ``AMQPConfiguration/connectTimeout``.
    package static func connection(
        _ role: AMQPRole, name: String, _ broker: Configuration.Broker, network: any Network, seed: UInt64,
        connectTimeout: Duration = AMQPConfiguration.connectTimeout
    ) throws -> AMQPConnection {
        let addresses = broker.addresses
        var configuration = AMQPConfiguration(address: addresses[0], role: role)
        configuration.connectionName = name
        configuration.connectTimeout = connectTimeout
        configuration.productVersion = Version.text
        configuration.heartbeat = broker.heartbeat
        configuration.maximumBody = broker.maximumMessage
        if addresses.contains(where: \.usesTLS) { configuration.tls = try broker.tls.context() }
        configuration.serverName = broker.tls.serverName
        return AMQPConnection(
            configuration: configuration, addresses: addresses, network: network, random: SplitMix64(seed: seed))
    }
}

extension Configuration.Broker {
    /// The endpoints, which the configuration's rules have read before, with the password in use.
    package var addresses: [BrokerAddress] {
        endpoints.compactMap { endpoint in
            var address = try? BrokerAddress(endpoint.reveal())
            if let password { address?.password = password.reveal() }
            return address
        }
    }
}

extension Configuration.TLSFiles {
    func context() throws(TLSError) -> TLSContext {
        var identity: TLSContext.Identity?
        if let certificateFile, let privateKeyFile {
            identity = .pem(certificateFile: certificateFile, privateKeyFile: privateKeyFile)
        }
        return try TLSContext(
            role: .client, trust: caFile.map { .file($0) } ?? .system, identity: identity, protocols: [])
    }
}

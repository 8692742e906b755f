import AMQP
import Core
import System
import TLS
import TestSupport
import Testing

/// A private RabbitMQ node with certificates.
@Suite(
    "With a private RabbitMQ node", .enabled(if: TestEnvironment.brokerScript != nil, "\(TestEnvironment.hint)"),
    .serialized)
struct PrivateBrokerTests {
    /// A node that requires a client certificate, and its certificate authority.
    private struct SecureNode {
        let authority = CertificateAuthority(commonName: "Broker test", now: SystemClock.now().wall)
        let files: TemporaryDirectory
        let broker: PrivateBroker
        let port: UInt16

        init() throws {
            files = try TemporaryDirectory()
            port = try freePort()
            let server = authority.issue(names: ["broker.test"], addresses: ["127.0.0.1"], usage: .server)
            let settings = [
                "log.console": "false", "log.file.level": "info", "disk_free_limit.absolute": "50MB",
                "listeners.ssl.1": "127.0.0.1:\(port)",
                "ssl_options.cacertfile": try files.write(authority.certificatePEM, to: "ca.pem"),
                "ssl_options.certfile": try files.write(server.certificatePEM, to: "server.pem"),
                "ssl_options.keyfile": try files.write(server.privateKeyPEM, to: "server.key"),
                "ssl_options.verify": "verify_peer", "ssl_options.fail_if_no_peer_cert": "true",
                "ssl_cert_login_from": "common_name", "auth_mechanisms.1": "PLAIN", "auth_mechanisms.2": "EXTERNAL",
            ]
            broker = try PrivateBroker([
                "rabbitmq.conf": settings.map { "\($0) = \($1)\n" }.joined(),
                "enabled_plugins": "[rabbitmq_auth_mechanism_ssl].",
            ])
        }

        /// The certificate and key of a client with this name.
        func client(_ name: String = "worker") throws -> TLSContext {
            let issued = authority.issue(usage: .client, commonName: name)
            return try TLSContext(
                role: .client, trust: .pem(authority.certificatePEM),
                identity: .pemText(certificates: issued.certificatePEM, privateKey: issued.privateKeyPEM))
        }

        func address(_ mechanism: BrokerAddress.Mechanism = .plain, host: String = "127.0.0.1") -> BrokerAddress {
            var address = BrokerAddress(endpoint: Endpoint(host: host, port: port))
            address.usesTLS = true
            address.mechanism = mechanism
            return address
        }
    }

    @Test("TLS with a client certificate: PLAIN, EXTERNAL, an IP address as name, another name, and refusals")
    func secure() throws {
        let node = try SecureNode()
        try node.broker.control("add_user", "worker", "not used")
        try node.broker.control("set_permissions", "worker", ".*", ".*", ".*")
        let rig = try BrokerRig()

        for mechanism in [BrokerAddress.Mechanism.plain, .external] {
            let client = try node.client()
            let publisher = try rig.open(.publisher, address: node.address(mechanism)) { $0.tls = client }
            let control = try rig.open(.control, address: node.address(mechanism)) { $0.tls = client }
            _ = try rig.ask(control, .declareQueue(QueueDeclaration(name: "q")))
            try rig.run { publisher.canPublish }
            _ = try publisher.publish(Publication(routingKey: bytes("q")[...], body: pattern(200_000)[...]))
            try rig.run { rig.confirmations(of: publisher) == [.acked] }
            guard case .got(let delivery, _)? = try rig.ask(control, .get(queue: "q")).first else {
                Issue.record("not there")
                return
            }
            #expect(delivery.body.elementsEqual(pattern(200_000)))
            control.ack(epoch: delivery.epoch, tag: delivery.tag, at: rig.now)
        }
        #expect(try node.broker.control("list_connections", "user", "auth_mechanism").contains("worker\tEXTERNAL"))

        // The certificate has two names, one of which is the address.
        let named = try node.client()
        let byName = try rig.open(.control, address: node.address()) {
            $0.tls = named
            $0.serverName = "broker.test"
        }
        try rig.run { byName.isOpen }

        // Read permission is enough to query the queue depth, which the stall check needs.
        try node.broker.control("set_permissions", "worker", "^$", "^$", ".*")
        let reader = try rig.open(.control, address: node.address(.external)) { $0.tls = named }
        guard case .declared(queue: "q", _, _)? = try rig.ask(reader, .inspectQueue("q")).first else {
            Issue.record("a reader may not look")
            return
        }

        let stranger = try node.client("stranger")
        let refused = try rig.open(.control, address: node.address(.external)) { $0.tls = stranger }
        let error = try rig.failure(of: refused)
        #expect(error.code == .accessRefused && error.description.contains("EXTERNAL"), "\(error)")
        refused.close(at: rig.now)
        // Without TLS there is no certificate to authenticate with.
        let plain = try BrokerAddress(node.broker.url + "?auth_mechanism=external")
        let offered = try rig.failure(of: try rig.open(.control, address: plain))
        #expect([.accessRefused, .protocolMismatch].contains(offered.code), "\(offered)")
    }
}

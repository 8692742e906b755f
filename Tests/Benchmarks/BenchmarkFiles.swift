import Configuration
import Core
import Simulator
import System
import TLS
import TestSupport

/// A configuration with its files, and the server that it connects to.
struct BenchmarkFiles {
    static let broker = Endpoint(host: "broker", port: 5672)
    static let apns = Endpoint(host: "apns.test", port: 443)
    static let start = Moment(
        instant: Instant(nanoseconds: 1_000_000_000), wall: WallTime(milliseconds: 1_790_000_000_000))

    private let folder: TemporaryDirectory
    // Certificates are checked against the real clock.
    private let authority = CertificateAuthority(commonName: "A benchmark's authority", now: SystemClock.now().wall)

    init() throws {
        folder = try TemporaryDirectory()
        try folder.write(authority.certificatePEM, to: "authority.pem")
        try folder.write(SigningKey.generate().pkcs8PEM, to: "AuthKey.p8")
    }

    /// - Parameter idleApps: the number of further apps, each with its own credential and hence its own connection.
    func configuration(idleApps: Int = 0) throws -> Configuration {
        let idle = (0..<idleApps).map { number in
            """
              - topic: com.example.idle\(number)
                endpoint: https://\(Self.apns)
                ca_file: authority.pem
                token: { key_file: AuthKey.p8, key_id: K\(100_000_000 + number), team_id: DEF123GHIJ }
            """
        }
        let path = try folder.write(
            """
            broker: { endpoints: ["amqp://guest:guest@\(Self.broker)/%2f"] }
            queues: [{ name: push.requests, prefetch: 256 }]
            results: { routing_key: push.results }
            apns:
              connections: { min: 1, max: 1 }
              rate_limit: { per_second: 1000000, burst: 1000000 }
            apps:
              - topic: com.example.app
                endpoint: https://\(Self.apns)
                ca_file: authority.pem
                token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
            \(idle.joined(separator: "\n"))
            \(Samples.decoders)
            """, to: "harebell.yaml")
        return try ConfigurationDocument.load(path: path).configuration
    }

    /// An APNs that accepts everything.
    func simulator() throws -> SimulatorContext {
        let identity = authority.issue(names: [Self.apns.host], usage: .server)
        return try SimulatorContext(
            identity: .pemText(certificates: identity.certificatePEM, privateKey: identity.privateKeyPEM),
            now: Self.start)
    }

    func clientContext() throws -> TLSContext {
        try TLSContext(role: .client, trust: .pem(authority.certificatePEM), protocols: ["h2"])
    }
}

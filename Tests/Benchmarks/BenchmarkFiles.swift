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

    /// The names of so many queues.
    func queues(_ count: Int) -> [String] {
        (0..<count).map { $0 == 0 ? "push.requests" : "push.requests\($0)" }
    }

    /// - Parameter trustsSystem: whether the apps trust the system's authorities, and not ``simulator()``'s.
    func configuration(
        _ load: WorkerBenchmarks.Load = .init(), trustsSystem: Bool = false
    ) throws -> Configuration {
        let path = try folder.write(
            """
            broker: { endpoints: ["amqp://guest:guest@\(Self.broker)/%2f"] }
            queues:
            \(queues(load.queues).map { "  - { name: \($0), prefetch: \(load.prefetch) }" }.joined(separator: "\n"))
            results: { routing_key: push.results }
            apns:
              connections: { min: 1, max: 1 }
              rate_limit: { per_second: 1000000, burst: 1000000 }
            apps:
            \(apps(load, authority: trustsSystem ? "null" : "authority.pem"))
            \(Samples.decoders)
            """, to: "harebell.yaml")
        return try ConfigurationDocument.load(path: path).configuration
    }

    private func apps(_ load: WorkerBenchmarks.Load, authority: String) -> String {
        func app(_ topic: String, keyID: String) -> String {
            """
              - topic: com.example.\(topic)
                endpoint: https://\(Self.apns)
                ca_file: \(authority)
                token: { key_file: AuthKey.p8, key_id: \(keyID), team_id: DEF123GHIJ }
            """
        }
        let busy = (0..<load.apps).map { app($0 == 0 ? "app" : "app\($0)", keyID: "ABC123DEFG") }
        let idle = (0..<load.idleApps).map { app("idle\($0)", keyID: "K\(100_000_000 + $0)") }
        return (busy + idle).joined(separator: "\n")
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

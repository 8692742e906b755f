import Core
import Foundation
import Glibc
import Simulator
import TLS
import TestSupport
import Testing

extension ProcessTests {
    /// The built `harebell` behind a third-party proxy.
    @Suite("A proxy")
    struct ProxyTests {
        private static let topic = "com.example.proxied"

        /// tinyproxy, a simulator, and what a configuration needs.
        private final class Rig {
            let simulator: SimulatorServer
            let directory: TemporaryDirectory
            let proxy: ChildProcess
            let proxyPort: UInt16

            init() throws {
                directory = try TemporaryDirectory()
                let key = SigningKey.generate()
                var options = SimulatorOptions()
                options.configuration.keys = [
                    ProviderKey(keyID: Stage.keyID, teamID: Stage.teamID, publicKeyPEM: key.publicKeyPEM)
                ]
                simulator = try SimulatorServer(options)
                try directory.write(key.pkcs8PEM, to: "AuthKey.p8")
                try directory.write(simulator.authorityPEM ?? "", to: "ca.pem")
                proxyPort = try freePort()
                let configuration = try directory.write(
                    """
                    Port \(proxyPort)
                    Listen 127.0.0.1
                    LogLevel Info
                    BasicAuth harebell secret7
                    """, to: "tinyproxy.conf")
                proxy = try ChildProcess("/usr/bin/tinyproxy", ["-d", "-c", configuration])
                try proxy.waitForLine { $0.contains("Accepting connections") }
            }

            deinit {
                proxy.signal(SIGTERM)
                simulator.stop()
            }

            /// Runs `harebell channels list` through a proxy and returns its exit and its output.
            func list(
                proxy: String, environment: [String: String] = [:]
            ) throws -> (status: ChildProcess.Exit, said: String) {
                let file = try directory.write(
                    """
                    apns: { proxy: "\(proxy)" }
                    apps:
                      - topic: \(topic)
                        endpoint: https://localhost:\(simulator.port)
                        ca_file: ca.pem
                        token: { key_file: AuthKey.p8, key_id: \(Stage.keyID), team_id: \(Stage.teamID) }
                    """, to: "harebell.yaml")
                let binary = try #require(TestEnvironment.binary)
                let process = try ChildProcess(
                    binary, ["channels", "list", "--config", file], environment: environment)
                let status = try process.waitForExit(within: .seconds(60))
                return (status, process.text() + process.text(.errors))
            }
        }

        @Test("with its credentials it connects to APNs, which does not notice it")
        func leads() throws {
            let rig = try Rig()
            let (status, said) = try rig.list(
                proxy: "http://harebell:${PROXY_PASSWORD}@127.0.0.1:\(rig.proxyPort)",
                environment: ["PROXY_PASSWORD": "secret7"])
            #expect(status == .exited(0) && said == "0 channels\n", "\(said)")
            #expect(rig.simulator.ledger.failures.isEmpty)
            #expect(rig.proxy.text().contains("CONNECT localhost:\(rig.simulator.port)"), "\(rig.proxy.report)")
        }
    }
}

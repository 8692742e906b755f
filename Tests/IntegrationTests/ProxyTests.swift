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
            /// An address of this host that is not excluded from the environment's proxy.
            static let otherHost = "0.0.0.0"

            /// - Parameter permitted: the only port that the proxy connects to; `nil` for all.
            init(permitted: UInt16? = nil) throws {
                directory = try TemporaryDirectory()
                let key = SigningKey.generate()
                var options = SimulatorOptions()
                options.addresses.append(Self.otherHost)
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
                    \(permitted.map { "ConnectPort \($0)\n" } ?? "")
                    """, to: "tinyproxy.conf")
                proxy = try ChildProcess("/usr/bin/tinyproxy", ["-d", "-c", configuration])
                try proxy.waitForLine { $0.contains("Accepting connections") }
            }

            deinit {
                proxy.signal(SIGTERM)
                simulator.stop()
            }

            /// Runs `harebell channels list`, or another command, through a proxy and returns its exit and its output.
            func list(
                _ command: [String] = ["channels", "list"], host: String = "localhost", proxy: String?,
                environment: [String: String] = [:]
            ) throws -> (status: ChildProcess.Exit, said: String) {
                let file = try directory.write(
                    """
                    apns: { proxy: \(proxy.map { "\"\($0)\"" } ?? "null") }
                    apps:
                      - topic: \(topic)
                        endpoint: https://\(host):\(simulator.port)
                        ca_file: ca.pem
                        token: { key_file: AuthKey.p8, key_id: \(Stage.keyID), team_id: \(Stage.teamID) }
                    """, to: "harebell.yaml")
                let binary = try #require(TestEnvironment.binary)
                let process = try ChildProcess(
                    binary, command + ["--config", file], environment: environment)
                let status = try process.waitForExit(within: .seconds(60))
                return (status, process.text() + process.text(.errors))
            }
        }

        @Test("with its credentials it connects to APNs, which does not notice it")
        func leads() throws {
            let rig = try Rig()
            let (status, said) = try rig.list(
                proxy: "http://harebell:${PROXY_PASSWORD}@127.0.0.1:\(rig.proxyPort)",
                environment: ["PROXY_PASSWORD": "secret7", "HTTPS_PROXY": "http://127.0.0.1:1"])
            #expect(status == .exited(0) && said == "0 channels\n", "\(said)")
            #expect(rig.simulator.ledger.failures.isEmpty)
            #expect(rig.proxy.text().contains("CONNECT localhost:\(rig.simulator.port)"), "\(rig.proxy.report)")
        }

        @Test("send goes through it")
        func send() throws {
            let rig = try Rig()
            let payload = try rig.directory.write("{\"aps\":{\"alert\":\"Hello\"}}", to: "payload.json")
            let (status, said) = try rig.list(
                ["send", "--device-token", "00aa", "--payload", payload],
                proxy: "http://harebell:secret7@127.0.0.1:\(rig.proxyPort)")
            #expect(status == .exited(0) && said.contains("\"outcome\":\"accepted\""), "\(said)")
            #expect(rig.simulator.ledger.statistics.accepted == 1)
            #expect(rig.proxy.text().contains("CONNECT localhost:\(rig.simulator.port)"), "\(rig.proxy.report)")
        }

        @Test("one named only by the environment connects to APNs, unless NO_PROXY excludes the host")
        func inherited() throws {
            let rig = try Rig()
            let variables = ["HTTPS_PROXY": "http://harebell:secret7@127.0.0.1:\(rig.proxyPort)"]
            let (status, said) = try rig.list(host: Rig.otherHost, proxy: nil, environment: variables)
            #expect(status == .exited(0) && said == "0 channels\n", "\(said)")
            let request = "CONNECT \(Rig.otherHost):\(rig.simulator.port)"
            #expect(rig.proxy.text().contains(request), "\(rig.proxy.report)")
            let before = rig.proxy.text().split(separator: request).count
            let excepted = try rig.list(
                host: Rig.otherHost, proxy: nil,
                environment: variables.merging(["NO_PROXY": Rig.otherHost]) { $1 })
            #expect(excepted.status == .exited(0), "\(excepted.said)")
            #expect(rig.proxy.text().split(separator: request).count == before)
        }

        @Test("without the right credentials the proxy's requirement is reported, and no secret")
        func credentials() throws {
            let rig = try Rig()
            for (credentials, wanted) in [
                ("", "requires a user and a password"), ("harebell:wrong7@", "refuses the user or the password"),
            ] {
                let (status, said) = try rig.list(proxy: "http://\(credentials)127.0.0.1:\(rig.proxyPort)")
                #expect(status == .exited(69), "\(said)")
                #expect(said.contains(wanted) && said.contains("(HTTP 40") && !said.contains("wrong7"), "\(said)")
            }
            #expect(rig.simulator.ledger.statistics.connections == 0)
        }

        @Test("a port that the proxy forbids is reported, and so is a proxy that is not running")
        func refused() throws {
            let rig = try Rig(permitted: 443)
            let (status, said) = try rig.list(proxy: "http://harebell:secret7@127.0.0.1:\(rig.proxyPort)")
            #expect(status == .exited(69))
            #expect(said.contains("does not permit connections to localhost:\(rig.simulator.port)"), "\(said)")
            let absent = try rig.list(proxy: "http://127.0.0.1:\(try freePort())")
            #expect(absent.status == .exited(69))
            #expect(absent.said.contains("the proxy: cannot connect to 127.0.0.1:"), "\(absent.said)")
        }

        @Test("a proxy of the environment is not used for this host, and a wrong one ends the command before it starts")
        func environment() throws {
            let rig = try Rig()
            let direct = try rig.list(proxy: nil, environment: ["HTTPS_PROXY": "http://127.0.0.1:1"])
            #expect(direct.status == .exited(0), "\(direct.said)")
            let wrong = try rig.list(proxy: nil, environment: ["HTTPS_PROXY": "socks5://user:secret9@127.0.0.1:1"])
            #expect(wrong.status == .exited(78))
            #expect(
                wrong.said.contains("HTTPS_PROXY: expected http://") && !wrong.said.contains("secret9"), "\(wrong.said)"
            )
        }
    }
}

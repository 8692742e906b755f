import AMQP
import Core
import Foundation
import Glibc
import Simulator
import TLS
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Channels")
    struct ChannelTests {
        private static let topic = "com.example.ledger"

        /// A simulator and a configuration for it.
        private final class Rig {
            let simulator: SimulatorServer
            let directory: TemporaryDirectory
            let file: String

            init(_ script: String = "") throws {
                directory = try TemporaryDirectory()
                let key = SigningKey.generate()
                var options = SimulatorOptions()
                options.configuration.keys = [
                    ProviderKey(keyID: Stage.keyID, teamID: Stage.teamID, publicKeyPEM: key.publicKeyPEM)
                ]
                options.script = try Script(script, file: "script", &options.configuration)
                simulator = try SimulatorServer(options)
                try directory.write(key.pkcs8PEM, to: "AuthKey.p8")
                try directory.write(simulator.authorityPEM ?? "", to: "ca.pem")
                file = try directory.write(
                    """
                    apps:
                      - topic: \(topic)
                        endpoint: https://127.0.0.1:\(simulator.port)
                        ca_file: ca.pem
                        token: { key_file: AuthKey.p8, key_id: \(Stage.keyID), team_id: \(Stage.teamID) }
                    """, to: "harebell.yaml")
            }

            deinit {
                simulator.stop()
            }

            /// Runs `harebell channels` and returns its exit and its output.
            func channels(_ arguments: String...) throws -> (status: ChildProcess.Exit, output: String, errors: String)
            {
                let binary = try #require(TestEnvironment.binary)
                let process = try ChildProcess(
                    binary, ["channels", arguments[0], "--config", file] + arguments.dropFirst())
                return (try process.waitForExit(within: .seconds(60)), process.text(), process.text(.errors))
            }
        }

        @Test("the command creates, lists, shows and deletes")
        func command() throws {
            let rig = try Rig()
            let created = try rig.channels("create", "--message-storage-policy", "latest")
            #expect(created.status == .exited(0), "\(created.errors)")
            let id = String(
                decoding: try #require(rig.simulator.channels.channels(of: ArraySlice(Self.topic.utf8)).first),
                as: UTF8.self)
            #expect(created.output == "channel  \(id)\nstorage  latest\n")
            #expect(try rig.channels("list", "--topic", Self.topic).output == "\(id)\n1 channel\n")
            let json = try rig.channels("list", "--json").output
            #expect(json.contains("\"channels\":[\"\(id)\"],\"outcome\":\"accepted\",\"status\":200,"), "\(json)")
            #expect(try rig.channels("show", "--channel", id).output == "channel  \(id)\nstorage  latest\n")
            #expect(try rig.channels("delete", "--channel", id).output == "deleted  \(id)\n")
            #expect(try rig.channels("list").output == "0 channels\n")
        }

        @Test("a refusal by APNs ends the command with 65 and its reason")
        func refused() throws {
            let rig = try Rig("operation create: 400 CannotCreateChannelConfig")
            let created = try rig.channels("create", "--message-storage-policy", "0")
            #expect(created.status == .exited(65) && created.output.isEmpty)
            #expect(created.errors == "APNs answered 400 CannotCreateChannelConfig\n")
        }
    }
}

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

        // MARK: Requests on a queue

        @Test("a channel is created, gets a broadcast and is deleted by requests on a queue")
        func bus() throws {
            let stage = try Stage(script: "")
            let worker = try stage.start()
            var sent = 0
            func ask(_ members: String) throws -> [String: Any] {
                let body = "{\"apns-topic\":\"\(Self.topic)\",\(members)}"
                try stage.client.publish([stage.requests.message(sent, to: stage.quorumQueue, body: body)])
                sent += 1
                var result: [String: Any] = [:]
                try stage.client.consume([stage.resultQueue]) { delivery in
                    let object = try JSONSerialization.jsonObject(with: Data(delivery.body))
                    result = try #require(object as? [String: Any])
                    return true
                }
                return result
            }
            let created = try ask(#""channel":{"operation":"create","message-storage-policy":0}"#)
            let id = try #require(created["apns-channel-id"] as? String, "\(created)")
            #expect(created["outcome"] as? String == "accepted" && created["status"] as? Int == 201)
            #expect(stage.simulator.channels.channels(of: ArraySlice(Self.topic.utf8)) == [Array(id.utf8)])

            let payload = #"{"aps":{"event":"update","timestamp":1,"content-state":{"a":1}}}"#
            let broadcast = try ask(
                #""apns-channel-id":"\#(id)","apns-expiration":0,"apns-priority":10,"payload":\#(payload)"#)
            #expect(broadcast["outcome"] as? String == "accepted", "\(broadcast)")
            #expect(broadcast["apns-unique-id"] is String)
            let stored = try ask(#""apns-channel-id":"\#(id)","apns-expiration":4102444800,"payload":\#(payload)"#)
            #expect(stored["reason"] as? String == "BadExpirationDate", "the channel stores nothing")

            let listed = try ask(#""channel":{"operation":"list"}"#)
            #expect((listed["channel"] as? [String: Any])?["channels"] as? [String] == [id], "\(listed)")
            let deleted = try ask(#""channel":{"operation":"delete","apns-channel-id":"\#(id)"}"#)
            #expect(deleted["outcome"] as? String == "accepted" && deleted["status"] as? Int == 204)
            let late = try ask(#""apns-channel-id":"\#(id)","apns-expiration":0,"payload":\#(payload)"#)
            #expect(late["outcome"] as? String == "unregistered", "\(late)")

            worker.signal(SIGTERM)
            #expect(try worker.waitForExit() == .exited(0), "\(worker.report)")
            #expect(try stage.client.takeAll(stage.deadLetterQueue).count == 1, "the broadcast that was rejected")
            try stage.removeQueues()
        }

        // MARK: The command

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

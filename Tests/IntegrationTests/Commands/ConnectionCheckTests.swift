import AMQP
import Core
import Foundation
import Simulator
import System
import TLS
import TestSupport
import Testing

extension ProcessTests {
    @Suite("check --connect")
    struct ConnectionCheckTests {
        private let stage: Stage

        init() throws {
            stage = try Stage(script: "")
        }

        private struct Answer {
            let exit: ChildProcess.Exit
            let output: String
            let errors: String

            /// Whether a line has the severity, the subject and the words, in this order.
            func says(_ severity: String, _ subject: String, _ words: String = "") -> Bool {
                output.split(separator: "\n").contains { line in
                    guard let place = line.firstRange(of: "  \(subject)  ") else { return false }
                    return line.hasPrefix("    \(severity) ")
                        && (words.isEmpty || line[place.upperBound...].contains(words))
                }
            }
        }

        private func check(
            _ file: String, _ arguments: String...
        ) throws -> Answer {
            let process = try ChildProcess(
                stage.binary, ["check", "--config", file, "--connect"] + arguments)
            let exit = try process.waitForExit(within: .seconds(90))
            return Answer(exit: exit, output: process.text(), errors: process.text(.errors))
        }

        private func settings(_ edit: (inout Stage.Settings) -> Void = { _ in }) -> Stage.Settings {
            var settings = Stage.Settings(queues: [stage.quorumQueue])
            edit(&settings)
            return settings
        }

        // MARK: Success

        @Test("A broker with every queue and an APNs that accepts the key end with 0, and nothing is left behind")
        func fine() throws {
            let response = try check(try stage.write(settings()))
            #expect(response.exit == .exited(0), "\(response)")
            #expect(response.says("ok", "login", "user \"guest\", virtual host \"/\""), "\(response)")
            #expect(response.says("ok", "version", "RabbitMQ \(TestEnvironment.brokerVersion)"), "\(response)")
            #expect(
                response.says("ok", "queue \(stage.quorumQueue)", "as planned; 0 messages, 0 consumers"), "\(response)")
            #expect(response.says("ok", "queue \(stage.quorumQueue).retry.2s", "as planned"), "\(response)")
            #expect(response.says("ok", "consuming \(stage.quorumQueue)", "permitted"), "\(response)")
            #expect(response.says("ok", "publishing", "permitted, through the default exchange"), "\(response)")
            #expect(response.says("ok", "tls", "TLSv1.3 with x25519, the certificate of "), "\(response)")
            #expect(response.says("ok", "http/2", "at once for now"), "\(response)")
            #expect(response.says("ok", "answer", "403 MissingProviderToken: it responds as APNs does"), "\(response)")
            #expect(
                response.says("ok", "credential", "200: APNs accepts the provider token of \(Requests.topic)"),
                "\(response)")
            #expect(response.output.hasSuffix("\nok\n"), "\(response)")
            for queue in stage.quorumQueues { #expect(try stage.client.takeAll(queue).isEmpty, "\(queue)") }
            #expect(stage.simulator.ledger.records.allSatisfy { $0.deviceToken.isEmpty })
            try stage.removeQueues()
        }

        @Test("--json prints the same as one object")
        func json() throws {
            let response = try check(try stage.write(settings { $0.queues = ["\(stage.name).none"] }), "--json")
            #expect(response.exit == .exited(78), "\(response)")
            let object = try #require(
                JSONSerialization.jsonObject(with: Data(response.output.utf8)) as? [String: Any], "\(response)")
            #expect(object["ok"] as? Bool == false)
            let connections = try #require(object["connections"] as? [[String: Any]])
            #expect(connections.map { $0["peer"] as? String } == ["broker", "apns", "apns"])
            #expect(connections[1]["endpoint"] as? String == "127.0.0.1:\(stage.simulator.port)")
            #expect(connections[1]["purpose"] as? String == "notifications of \(Requests.topic)")
            let findings = try #require(connections[0]["findings"] as? [[String: Any]])
            let missing = try #require(findings.first { $0["subject"] as? String == "queue \(stage.name).none" })
            #expect(missing["severity"] as? String == "wrong" && missing["text"] as? String == "missing")
            #expect((missing["hint"] as? String)?.hasPrefix("harebell topology --config FILE --apply") == true)
            try stage.removeQueues()
        }

        // MARK: The broker

        @Test("Missing permissions are reported one by one")
        func permissions() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url, script: "")
            try broker.control("add_user", "small", "small")
            try broker.control("set_permissions", "small", "^$", "^$", "^$")
            let url = broker.url.replacing("guest:guest", with: "small:small")
            let file = try stage.write(Stage.Settings(queues: [stage.quorumQueue], broker: url))
            let none = try check(file)
            #expect(none.exit == .exited(78), "\(none)")
            #expect(none.says("wrong", "consuming \(stage.quorumQueue)", "403 ACCESS_REFUSED"), "\(none)")
            #expect(none.output.contains("→ the user needs the read permission"), "\(none)")
            #expect(none.says("wrong", "publishing", "403 ACCESS_REFUSED"), "\(none)")
            #expect(none.output.contains("→ the user needs the write permission for amq.default"), "\(none)")

            try broker.control("set_permissions", "small", "^$", ".*", ".*")
            let enough = try check(file)
            #expect(enough.exit == .exited(0), "\(enough)")
            #expect(enough.says("ok", "consuming \(stage.quorumQueue)", "permitted"), "\(enough)")
            #expect(enough.says("ok", "publishing", "permitted"), "\(enough)")
            #expect(
                enough.says("note", "queue \(stage.quorumQueue)", "only with the configure permission"), "\(enough)")
        }
    }
}

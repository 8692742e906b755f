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
            _ file: String, _ arguments: String..., environment: [String: String] = [:]
        ) throws -> Answer {
            let process = try ChildProcess(
                stage.binary, ["check", "--config", file, "--connect"] + arguments, environment: environment)
            let exit = try process.waitForExit(within: .seconds(90))
            return Answer(exit: exit, output: process.text(), errors: process.text(.errors))
        }

        private func settings(_ edit: (inout Stage.Settings) -> Void = { _ in }) -> Stage.Settings {
            var settings = Stage.Settings(queues: [stage.quorumQueue])
            // The file itself causes no warning.
            settings.drainDeadline = 60
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
            #expect(response.says("ok", "delivery limit of \(stage.quorumQueue)", "10000"), "\(response)")
            #expect(response.says("ok", "consuming \(stage.quorumQueue)", "permitted"), "\(response)")
            #expect(response.says("ok", "publishing", "permitted, through the default exchange"), "\(response)")
            #expect(response.says("note", "consumer timeout"), "\(response)")
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

        @Test("A wrong password is an error, and is never shown")
        func password() throws {
            let url = stage.url.replacing("guest:guest", with: "guest:wrong-one")
            let response = try check(try stage.write(settings { $0.broker = url }))
            #expect(response.exit == .exited(78), "\(response)")
            #expect(response.says("wrong", "login", "403 ACCESS_REFUSED"), "\(response)")
            #expect(!response.output.contains("wrong-one") && !response.errors.contains("wrong-one"))
            try stage.removeQueues()
        }

        @Test("A port without TLS is reported for amqps, one with TLS for amqp")
        func wrongScheme() throws {
            let secure = stage.url.replacing("amqp://", with: "amqps://")
            let plain = "amqp://guest:guest@127.0.0.1:\(stage.simulator.port)/%2f"
            for (url, subject) in [(secure, "tls"), (plain, "connection")] {
                let response = try check(try stage.write(settings { $0.broker = url }))
                #expect(response.exit != .exited(0), "\(response)")
                #expect(response.says("wrong", subject) || response.says("unreachable", subject), "\(response)")
            }
            try stage.removeQueues()
        }

        @Test("A missing queue is an error and is not created, a classic one a warning")
        func queues() throws {
            let names = ["\(stage.name).none"] + stage.retryQueues(of: "\(stage.name).none")
            for _ in 0..<2 {
                let missing = try check(try stage.write(settings { $0.queues = ["\(stage.name).none"] }))
                #expect(missing.exit == .exited(78), "\(missing)")
                let line = "missing: \(names.joined(separator: ", "))"
                #expect(missing.says("wrong", "\(names.count) queues", line), "\(missing)")
                #expect(missing.output.split(separator: "\n").count { $0.contains("missing") } == 1, "\(missing)")
                #expect(missing.output.contains("→ harebell topology --config FILE --apply declares it"), "\(missing)")
            }

            let classic = try check(try stage.write(settings { $0.queues = [stage.classicQueue] }))
            #expect(classic.exit == .exited(0), "\(classic)")
            let queue = stage.classicQueue
            for name in [queue] + stage.retryQueues(of: queue) {
                #expect(classic.says("warning", "queue \(name)", "406 PRECONDITION_FAILED"), "\(classic)")
            }
            #expect(classic.output.hasSuffix("\nok, 3 warnings\n"), "\(classic)")
            try stage.removeQueues()
        }

        @Test("A retry queue with a longer time-to-live or another target is an error")
        func retryQueue() throws {
            let queue = "\(stage.quorumQueue).retry.2s"
            try stage.client.ask(.deleteQueue(queue))
            try stage.client.declare(
                queue,
                [
                    "x-queue-type": .string("quorum"), "x-message-ttl": .int32(90_000),
                    "x-dead-letter-exchange": .string(""), "x-dead-letter-routing-key": .string("elsewhere"),
                    "x-dead-letter-strategy": .string("at-least-once"), "x-overflow": .string("reject-publish"),
                    "x-delivery-limit": .int32(10_000),
                ])
            let response = try check(try stage.write(settings()))
            #expect(response.exit == .exited(78), "\(response)")
            #expect(response.says("wrong", "queue \(queue)", "406 PRECONDITION_FAILED"), "\(response)")
            #expect(
                response.says("wrong", "queue \(queue)", "'x-message-ttl'")
                    || response.says("wrong", "queue \(queue)", "'x-dead-letter-routing-key'"), "\(response)")
            try stage.removeQueues()
        }

        @Test("A delivery limit of -1 is none in RabbitMQ 4, and in RabbitMQ 3 drops a request after one failure")
        func deliveryLimit() throws {
            let queue = "\(stage.name).limited"
            try stage.client.declare(
                queue,
                [
                    "x-queue-type": .string("quorum"), "x-delivery-limit": .int32(-1),
                    "x-dead-letter-exchange": .string(""), "x-dead-letter-routing-key": .string(stage.deadLetterQueue),
                    "x-dead-letter-strategy": .string("at-least-once"), "x-overflow": .string("reject-publish"),
                ])
            let response = try check(try stage.write(settings { $0.queues = [queue] }))
            let isDropped = TestEnvironment.brokerVersion.hasPrefix("3.")
            #expect(
                response.says(isDropped ? "wrong" : "warning", "queue \(queue)", "'x-delivery-limit'"), "\(response)")
            #expect(response.output.contains("after its first failed delivery") == isDropped, "\(response)")
            try stage.client.ask(.deleteQueue(queue))
            try stage.removeQueues()
        }

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

        // MARK: APNs

        @Test("An authority that is not in ca_file is an error, even if the system trusts it")
        func authority() throws {
            let stranger = CertificateAuthority(commonName: "Stranger", now: SystemClock.now().wall)
            let file = try stage.directory.write(stranger.certificatePEM, to: "stranger.pem")
            let response = try check(
                try stage.write(settings { $0.authorityFile = file }),
                environment: ["SSL_CERT_FILE": stage.authorityFile])
            #expect(response.exit == .exited(78), "\(response)")
            #expect(response.says("wrong", "tls", "an authority that is not trusted here"), "\(response)")
            try stage.removeQueues()
        }

        @Test("A certificate for another name is an error")
        func name() throws {
            var options = SimulatorOptions()
            options.names = ["apns.example"]
            options.addresses = []
            let other = try SimulatorServer(options)
            defer { other.stop() }
            let trusted = try stage.directory.write(try #require(other.authorityPEM), to: "own.pem")
            let app = """
                  - topic: com.example.elsewhere
                    endpoint: https://127.0.0.1:\(other.port)
                    ca_file: \(trusted)
                    token: { key_file: \(stage.otherKeyFile), key_id: \(Stage.otherKeyID), team_id: \(Stage.teamID) }

                """
            let response = try check(try stage.write(settings { $0.moreApps = app }))
            #expect(response.exit == .exited(78), "\(response)")
            #expect(response.says("wrong", "tls", "is not for 127.0.0.1: it names apns.example"), "\(response)")
            try stage.removeQueues()
        }
    }
}

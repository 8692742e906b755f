import AMQP
import Core
import Foundation
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Topology")
    struct TopologyTests {
        private let stage: Stage

        init() throws {
            stage = try Stage(script: "")
        }

        private func topology(
            _ file: String, _ arguments: String...
        ) throws -> (exit: ChildProcess.Exit, lines: [Substring], errors: String) {
            let process = try ChildProcess(stage.binary, ["topology", "--config", file] + arguments)
            let exit = try process.waitForExit(within: .seconds(90))
            return (exit, process.text().split(separator: "\n"), process.text(.errors))
        }

        /// The configuration of a stage with one request queue, and more at its end.
        private func configuration(queue: String? = nil, _ more: String = "") throws -> String {
            try stage.write(Stage.Settings(queues: [queue ?? stage.quorumQueue], more: more))
        }

        @Test("Declared objects match the plan")
        func declared() throws {
            let file = try configuration(
                "results: { exchange: \(stage.name).exchange, routing_key: \(stage.name).answers }")
            let applied = try topology(file, "--apply")
            #expect(applied.exit == .exited(0), "\(applied)")
            #expect(applied.lines.allSatisfy { $0.hasPrefix("declared   ") }, "\(applied)")
            let compared = try topology(file, "--compare")
            #expect(compared.exit == .exited(0), "\(compared)")
            #expect(compared.lines.contains { $0.hasPrefix("ok         exchange \(stage.name).exchange: direct") })
            #expect(compared.lines.contains { $0.hasPrefix("ok         queue \(stage.quorumQueue): durable") })
            #expect(compared.lines.contains { $0.hasPrefix("unreadable binding \(stage.name).exchange -> ") })
            #expect(compared.lines.last?.hasSuffix("1 unreadable") == true, "\(compared)")
            try stage.client.ask(.deleteQueue("\(stage.name).answers"))
            try stage.client.ask(.deleteExchange("\(stage.name).exchange"))
            try stage.removeQueues()
        }

        @Test("Missing objects are reported, end with 78, and are not created")
        func missing() throws {
            let name = "\(stage.name).missing"
            let file = try configuration(queue: name)
            for _ in 0..<2 {
                let compared = try topology(file, "--compare")
                #expect(compared.exit == .exited(78), "\(compared)")
                #expect(compared.lines.contains { $0.hasPrefix("missing    queue \(name): durable") }, "\(compared)")
                #expect(compared.lines.contains { $0.hasPrefix("ok         queue \(stage.deadLetterQueue):") })
            }
            try stage.removeQueues()
        }

        @Test("A classic queue, another time-to-live and another kind of exchange are reported in words")
        func different() throws {
            let responses = "\(stage.name).answers"
            let exchange = "\(stage.name).exchange"
            try stage.client.declare(responses, ["x-queue-type": .string("quorum"), "x-message-ttl": .int32(60_000)])
            var fanout = ExchangeDeclaration(name: exchange, type: "fanout")
            fanout.durable = true
            try stage.client.ask(.declareExchange(fanout))
            let file = try configuration(
                queue: stage.classicQueue,
                """
                results: { routing_key: \(responses) }
                feedback: { exchange: \(exchange), routing_key: \(responses) }
                """)
            let compared = try topology(file, "--compare")
            #expect(compared.exit == .exited(78), "\(compared)")
            let place = try #require(
                compared.lines.firstIndex { $0.hasPrefix("different  queue \(stage.classicQueue):") }, "\(compared)")
            #expect(compared.lines[place + 1] == "           x-queue-type is classic, wanted quorum", "\(compared)")
            #expect(
                compared.lines[place + 2] == "           x-overflow is not set, wanted reject-publish", "\(compared)")
            #expect(compared.lines.contains("           x-message-ttl is 60000, wanted not set"), "\(compared)")
            #expect(compared.lines.contains("           type is fanout, wanted direct"), "\(compared)")

            let machine = try topology(file, "--compare", "--json")
            #expect(machine.exit == .exited(78))
            let response = try #require(
                JSONSerialization.jsonObject(with: Data(machine.lines.joined().utf8)) as? [String: Any])
            #expect(response["ok"] as? Bool == false)
            let steps = try #require(response["steps"] as? [[String: Any]])
            let step = try #require(steps.first { $0["name"] as? String == stage.classicQueue })
            #expect(step["kind"] as? String == "queue" && step["state"] as? String == "different")
            let differences = try #require(step["differences"] as? [[String: Any]])
            #expect(differences[0]["name"] as? String == "x-queue-type")
            #expect(differences[0]["wanted"] as? String == "quorum")
            // RabbitMQ 3 reports no type for a classic queue.
            let current = TestEnvironment.brokerVersion.hasPrefix("3.") ? nil : "classic"
            #expect(differences[0]["current"] as? String == current && differences[0].keys.contains("current"))

            // The queue is unchanged, and the reason is reported.
            let applied = try topology(file, "--apply")
            #expect(applied.exit == .exited(65), "\(applied)")
            #expect(applied.lines.contains { $0.hasPrefix("refused    queue \(stage.classicQueue):") }, "\(applied)")
            try stage.client.ask(.deleteQueue(responses))
            try stage.client.ask(.deleteExchange(exchange))
            try stage.removeQueues()
        }

        @Test("The plan is printed without a broker, as a table with a row for each step")
        func text() throws {
            var settings = Stage.Settings(queues: [stage.quorumQueue], broker: "amqp://guest:guest@127.0.0.1:1/%2f")
            settings.more = "results: { exchange: \(stage.name).exchange, routing_key: \(stage.name).answers }"
            let printed = try topology(try stage.write(settings))
            #expect(printed.exit == .exited(0), "\(printed)")
            let rows = printed.lines.map { $0.split(separator: #/ {2,}/#).map(String.init) }
            let (queue, dead) = (stage.quorumQueue, stage.deadLetterQueue)
            for row in [
                ["KIND", "NAME", "TYPE", "DELAY", "DEAD LETTERS TO", "PURPOSE"],
                ["exchange", "\(stage.name).exchange", "direct", "-", "-", "-"],
                ["queue", queue, "quorum", "-", dead, "requests"],
                ["queue", "\(queue).retry.2s", "quorum", "2 s", queue, "requests that wait 2 s to be tried again"],
                [
                    "binding", "\(stage.name).exchange -> \(stage.name).answers", "-", "-", "-",
                    "routing key \(stage.name).answers",
                ],
            ] {
                #expect(rows.count { $0 == row } == 1, "\(row): \(printed)")
            }
            try stage.removeQueues()
        }

        @Test("RabbitMQ imports the definitions, after which nothing is missing or different")
        func definitions() throws {
            let broker = try PrivateBroker()
            try broker.control("add_vhost", "push")
            try broker.control("set_permissions", "-p", "push", "guest", ".*", ".*", ".*")
            for place in ["%2f", "push"] {
                var settings = Stage.Settings(
                    queues: ["a.requests", "b.requests"], broker: broker.url.replacing("/%2f", with: "/\(place)"))
                settings.more = """
                    results: { exchange: a.exchange, routing_key: a.results }
                    feedback: { routing_key: a.feedback }
                    """
                let file = try stage.write(settings)
                #expect(try topology(file, "--compare").exit == .exited(78))
                let printed = try topology(file, "--definitions")
                #expect(printed.exit == .exited(0), "\(printed)")
                try broker.control(
                    "import_definitions",
                    try stage.directory.write(printed.lines.joined(separator: "\n"), to: "definitions.json"))
                // The import continues after the command has ended.
                try eventually("nothing missing or different", within: .seconds(30)) {
                    try topology(file, "--compare").exit == .exited(0) ? true : nil
                }
                let bindings = try broker.control("list_bindings", "-p", place == "push" ? "push" : "/", "--silent")
                #expect(bindings.contains("a.exchange\texchange\ta.results\tqueue\ta.results"), "\(bindings)")
                // AMQP does not compare everything: the declaration must agree, too.
                #expect(try topology(file, "--apply").exit == .exited(0))
            }
            try stage.removeQueues()
        }

        @Test("A second declaration prints and changes the same")
        func twice() throws {
            let file = try configuration()
            let first = try topology(file, "--apply")
            let second = try topology(file, "--apply")
            #expect(first.exit == .exited(0) && second.exit == .exited(0), "\(first) \(second)")
            #expect(!first.lines.isEmpty && first.lines == second.lines)
            #expect(try topology(file, "--compare").exit == .exited(0))
            try stage.removeQueues()
        }

        @Test("The plan is printed as JSON, too")
        func plan() throws {
            let printed = try topology(try configuration(), "--json")
            #expect(printed.exit == .exited(0))
            let response = try #require(
                JSONSerialization.jsonObject(with: Data(printed.lines.joined().utf8)) as? [String: Any])
            let steps = try #require(response["steps"] as? [[String: Any]])
            let step = try #require(steps.first { $0["name"] as? String == stage.quorumQueue })
            #expect(step["purpose"] as? String == "requests" && step["state"] == nil)
            let arguments = try #require(step["arguments"] as? [String: Any])
            #expect(arguments["x-queue-type"] as? String == "quorum")
            #expect(arguments["x-dead-letter-routing-key"] as? String == stage.deadLetterQueue)
            try stage.removeQueues()
        }

        @Test("Declaring and comparing at once is a usage error")
        func usage() throws {
            #expect(try topology(try configuration(), "--apply", "--compare").exit == .exited(64))
            #expect(try topology(try configuration(), "--compare", "--probe").exit == .exited(64))
            #expect(try topology(try configuration(), "--apply", "--definitions").exit == .exited(64))
            try stage.removeQueues()
        }

        @Test(
            "A probe leaves each retry queue in its time, one with a policy too early, and nothing remains")
        func probe() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url, script: "")
            let queue = stage.quorumQueue
            let file = try stage.write(Stage.Settings(queues: [queue]))
            let before = try broker.control("list_queues", "--silent", "name").split(separator: "\n")
            let fine = try topology(file, "--probe", "--within", "1")
            #expect(fine.exit == .exited(0), "\(fine)")
            #expect(fine.lines.count == 2, "\(fine)")
            #expect(fine.lines[0].hasPrefix("ok         queue \(queue).retry.1s: returned after 1."), "\(fine)")
            #expect(fine.lines[1] == "left       queue \(queue).retry.2s: skipped, its delay is 2 s")

            try broker.control("set_policy", "short", #"\.retry\.2s"#, #"{"message-ttl":100}"#, "--apply-to", "queues")
            let early = try topology(file, "--probe", "--within", "5", "--json")
            #expect(early.exit == .exited(78), "\(early)")
            let response = try #require(
                JSONSerialization.jsonObject(with: Data(early.lines.joined().utf8)) as? [String: Any])
            let levels = try #require(response["levels"] as? [[String: Any]])
            let states = levels.reduce(into: [:]) { $0[$1["delay_seconds"] as? Int ?? 0] = $1["state"] as? String }
            #expect(states == [1: "ok", 2: "early"])
            #expect(try broker.control("list_queues", "--silent", "name").split(separator: "\n") == before)
        }

        @Test("A probe that the broker refuses is reported")
        func refusedProbe() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url, script: "")
            let file = try stage.write(
                Stage.Settings(
                    queues: [stage.quorumQueue], broker: broker.url.replacing("guest:guest", with: "small:small")))
            try broker.control("add_user", "small", "small")
            try broker.control("set_permissions", "small", #"^harebell\.probe.*"#, ".*", ".*")
            let refused = try topology(file, "--probe", "--within", "1")
            #expect(refused.exit == .exited(78), "\(refused)")
            #expect(
                refused.lines[0] == "refused    queue \(stage.quorumQueue).retry.1s: its delay is 1 s", "\(refused)")
            #expect(refused.lines[1].contains("403 ACCESS_REFUSED"), "\(refused)")
        }
    }
}

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

        private func check(_ file: String) throws -> (exit: ChildProcess.Exit, text: String) {
            let process = try ChildProcess(stage.binary, ["check", "--config", file, "--connect"])
            return (try process.waitForExit(within: .seconds(90)), process.text())
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
            #expect(applied.lines.dropFirst().allSatisfy { $0.hasPrefix("declared  ") }, "\(applied)")
            let checked = try check(file)
            #expect(checked.exit == .exited(0), "\(checked)")
            let planned = checked.text.split(separator: "\n").filter { $0.contains("  as planned") }
            for subject in ["exchange \(stage.name).exchange ", "queue \(stage.quorumQueue) "] {
                #expect(planned.contains { $0.contains(" ok  ") && $0.contains(subject) }, "\(checked)")
            }
            try stage.client.ask(.deleteQueue("\(stage.name).answers"))
            try stage.client.ask(.deleteExchange("\(stage.name).exchange"))
            try stage.removeQueues()
        }

        @Test("A queue with other arguments stays as it is, and the broker's reason is printed")
        func refused() throws {
            let file = try configuration(queue: stage.classicQueue)
            let applied = try topology(file, "--apply")
            #expect(applied.exit == .exited(65), "\(applied)")
            let error = "queue \(stage.classicQueue): the broker says 406 PRECONDITION_FAILED"
            #expect(applied.lines.contains { $0.hasPrefix("refused ") && $0.contains(" \(stage.classicQueue) ") })
            #expect(applied.lines.contains { $0.hasPrefix(error) }, "\(applied)")

            let machine = try topology(file, "--apply", "--json")
            #expect(machine.exit == .exited(65))
            let response = try #require(
                JSONSerialization.jsonObject(with: Data(machine.lines.joined().utf8)) as? [String: Any])
            #expect(response["ok"] as? Bool == false)
            let steps = try #require(response["steps"] as? [[String: Any]])
            let step = try #require(steps.first { $0["name"] as? String == stage.classicQueue })
            #expect(step["kind"] as? String == "queue" && step["state"] as? String == "refused")
            #expect((step["detail"] as? String)?.contains("406 PRECONDITION_FAILED") == true, "\(step)")
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
                #expect(try check(file).exit == .exited(78))
                let printed = try topology(file, "--definitions")
                #expect(printed.exit == .exited(0), "\(printed)")
                try broker.control(
                    "import_definitions",
                    try stage.directory.write(printed.lines.joined(separator: "\n"), to: "definitions.json"))
                // The import continues after the command has ended.
                try eventually("nothing missing or different", within: .seconds(30)) {
                    try check(file).exit == .exited(0) ? true : nil
                }
                let bindings = try broker.control("list_bindings", "-p", place == "push" ? "push" : "/", "--silent")
                #expect(bindings.contains("a.exchange\texchange\ta.results\tqueue\ta.results"), "\(bindings)")
                // AMQP does not compare everything: the declaration must agree, too.
                #expect(try topology(file, "--apply").exit == .exited(0))
            }
            try stage.removeQueues()
        }
    }
}

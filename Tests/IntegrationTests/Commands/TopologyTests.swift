import TestSupport
import Testing

extension ProcessTests {
    @Suite("Topology")
    struct TopologyTests {
        private let stage: Stage

        init() throws {
            stage = try Stage(script: "")
        }

        private func topology(_ file: String, _ arguments: String...) throws -> ChildProcess {
            try .harebell(["topology", "--config", file] + arguments)
        }

        private func check(_ file: String) throws -> ChildProcess {
            try .harebell(["check", "--config", file, "--connect"])
        }

        @Test("A queue with other arguments stays as it is, and the broker's reason is printed")
        func refused() throws {
            let file = try stage.write(Stage.Settings(queues: [stage.classicQueue]))
            let applied = try topology(file, "--apply").expectExit(65)
            let error = "queue \(stage.classicQueue): the broker says 406 PRECONDITION_FAILED"
            #expect(applied.lines.contains { $0.hasPrefix("refused ") && $0.contains(" \(stage.classicQueue) ") })
            #expect(applied.lines.contains { $0.hasPrefix(error) }, "\(applied.report)")
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
                let missing = try check(file).expectExit(78)
                #expect(missing.text().ranges(of: "→ harebell topology ").count == 1, "\(missing.report)")
                let printed = try topology(file, "--definitions").expectExit(0)
                try broker.control(
                    "import_definitions",
                    try stage.directory.write(printed.text(), to: "definitions.json"))
                // The import continues after the command has ended.
                try eventually("nothing missing or different", within: .seconds(30)) {
                    try check(file).exit == .exited(0) ? true : nil
                }
                let bindings = try broker.control("list_bindings", "-p", place == "push" ? "push" : "/", "--silent")
                #expect(bindings.contains("a.exchange\texchange\ta.results\tqueue\ta.results"), "\(bindings)")
                let planned = try check(file).text().split(separator: "\n").filter { $0.contains("  as planned") }
                for subject in ["exchange a.exchange ", "queue a.requests "] {
                    #expect(planned.contains { $0.contains(" ok  ") && $0.contains(subject) }, "\(planned)")
                }
                // AMQP does not compare everything: the declaration must agree, too.
                let applied = try topology(file, "--apply").expectExit(0)
                #expect(applied.lines.dropFirst().allSatisfy { $0.hasPrefix("declared  ") }, "\(applied.report)")
            }
        }
    }
}

extension ChildProcess {
    fileprivate var lines: [Substring] { text().split(separator: "\n") }
}

import AMQP
import TestSupport
import Testing

extension ProcessTests {
    @Suite("check --connect")
    struct ConnectionCheckTests {
        private let stage: Stage

        init() throws {
            stage = try Stage(script: "")
        }

        private func check(_ file: String, _ arguments: String...) throws -> ChildProcess {
            try .harebell(["check", "--config", file, "--connect"] + arguments)
        }

        // MARK: Success

        @Test("A broker with every queue and an APNs that accepts the key end with 0, and nothing is left behind")
        func fine() throws {
            let response = try check(try stage.write(Stage.Settings(queues: [stage.quorumQueue]))).expectExit(0)
            let queue = "queue \(stage.quorumQueue)"
            for (subject, words) in [
                ("login", "user \"guest\", virtual host \"/\""),
                ("version", "RabbitMQ \(TestEnvironment.brokerVersion)"),
                (queue, "as planned; 0 messages, 0 consumers"), ("\(queue).retry.2s", "as planned"),
                ("consuming \(stage.quorumQueue)", "permitted"),
                ("publishing", "permitted, through the default exchange"),
                ("tls", "TLSv1.3 with "), ("tls", "25519"),  // X25519MLKEM768 since OpenSSL 3.5.
                ("tls", ", the certificate of "), ("http/2", "at once for now"),
                ("answer", "403 MissingProviderToken: it responds as APNs does"),
                ("credential", "200: APNs accepts the provider token of \(Requests.topic)"),
            ] {
                #expect(response.says("ok", subject, words), "\(subject): \(response.report)")
            }
            #expect(response.text().hasSuffix("\nok\n"), "\(response.report)")
            for queue in stage.quorumQueues { #expect(try stage.client.takeAll(queue).isEmpty, "\(queue)") }
        }

        @Test("--json prints the same as one object")
        func json() throws {
            let response = try check(try stage.write(Stage.Settings(queues: ["\(stage.name).none"])), "--json")
            #expect(response.exit == .exited(78), "\(response.report)")
            let object = try response.object()
            #expect(object["ok"] as? Bool == false)
            let connections = try #require(object["connections"] as? [[String: Any]])
            #expect(connections.map { $0["peer"] as? String } == ["broker", "apns", "apns"])
            #expect(connections[1]["endpoint"] as? String == "127.0.0.1:\(stage.simulator.port)")
            #expect(connections[1]["purpose"] as? String == "notifications of \(Requests.topic)")
            let findings = try #require(connections[0]["findings"] as? [[String: Any]])
            let missing = try #require(findings.first { $0["subject"] as? String == "queue \(stage.name).none" })
            #expect(missing["severity"] as? String == "wrong" && missing["text"] as? String == "missing")
            #expect((missing["hint"] as? String)?.hasPrefix("harebell topology --config FILE --apply") == true)
        }

        // MARK: The broker

        @Test("A stream is an error, whatever other arguments it has")
        func stream() throws {
            let stream = "\(stage.name).stream"
            try stage.client.declare(
                stream, ["x-queue-type": .string("stream"), "x-max-length-bytes": .int64(1_000_000)])
            let response = try check(try stage.write(Stage.Settings(queues: [stream]))).expectExit(78)
            #expect(response.says("wrong", "consuming \(stream)", "the queue is a stream"), "\(response.report)")
        }

        @Test("Missing permissions are reported one by one")
        func permissions() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url, script: "")
            try broker.control("add_user", "small", "small")
            try broker.control("set_permissions", "small", "^$", "^$", "^$")
            let url = broker.url.replacing("guest:guest", with: "small:small")
            let file = try stage.write(Stage.Settings(queues: [stage.quorumQueue], broker: url))
            let none = try check(file).expectExit(78)
            #expect(none.says("wrong", "consuming \(stage.quorumQueue)", "403 ACCESS_REFUSED"), "\(none.report)")
            #expect(none.text().contains("→ the user needs the read permission"), "\(none.report)")
            #expect(none.says("wrong", "publishing", "403 ACCESS_REFUSED"), "\(none.report)")
            #expect(none.text().contains("→ the user needs the write permission for amq.default"), "\(none.report)")

            try broker.control("set_permissions", "small", "^$", ".*", ".*")
            let enough = try check(file).expectExit(0)
            #expect(
                enough.says("note", "queue \(stage.quorumQueue)", "only with the configure permission"),
                "\(enough.report)")
        }
    }
}

extension ChildProcess {
    /// Whether a line has the severity, the subject and the words, in this order.
    fileprivate func says(_ severity: String, _ subject: String, _ words: String = "") -> Bool {
        text().split(separator: "\n").contains { line in
            guard let place = line.firstRange(of: "  \(subject)  ") else { return false }
            return line.hasPrefix("    \(severity) ")
                && (words.isEmpty || line[place.upperBound...].contains(words))
        }
    }
}

import Testing

@testable import AMQP

@Suite("Inequivalence")
struct InequivalenceTests {
    private func error(_ text: String, code: UInt16 = 406) -> AMQPError {
        .closed(replyCode: code, text: "PRECONDITION_FAILED - \(text)", name: "PRECONDITION_FAILED")
    }

    /// The exact text of RabbitMQ 3.10.
    @Test(
        "RabbitMQ's message about a difference is parsed",
        arguments: [
            (
                "inequivalent arg 'x-message-ttl' for queue 'c2' in vhost '/': received '2000' but current is '1000'",
                "x-message-ttl", "2000", "1000", "x-message-ttl is 1000, wanted 2000"
            ),
            (
                "inequivalent arg 'x-queue-type' for queue 'c1' in vhost '/': received the value 'quorum' of type "
                    + "'longstr' "
                    + "but current is none", "x-queue-type", "quorum", nil, "x-queue-type is classic, wanted quorum"
            ),
            (
                "inequivalent arg 'x-expires' for queue 'q' in vhost '/': received none but current is the value "
                    + "'1000' of type 'signedint'", "x-expires", nil, "1000", "x-expires is 1000, wanted not set"
            ),
            (
                "inequivalent arg 'x-dead-letter-exchange' for queue 'q' in vhost '/': received the value '' of type "
                    + "'longstr' but current is none", "x-dead-letter-exchange", "", nil,
                "x-dead-letter-exchange is not set, wanted \"\""
            ),
            (
                "inequivalent arg 'durable' for queue 'c2' in vhost '/': received 'true' but current is 'false'",
                "durable", "true", "false", "durable is false, wanted true"
            ),
            (
                "inequivalent arg 'type' for exchange 'ex' in vhost '/': received 'direct' but current is 'fanout'",
                "type", "direct", "fanout", "type is fanout, wanted direct"
            ),
            (
                "inequivalent arg 'x-dead-letter-routing-key' for queue 'it's' in vhost '/': received 'a of type b' "
                    + "but current is 'o'clock'", "x-dead-letter-routing-key", "a of type b", "o'clock",
                "x-dead-letter-routing-key is o'clock, wanted a of type b"
            ),
        ] as [(String, String, String?, String?, String)])
    func understood(text: String, name: String, wanted: String?, current: String?, shown: String) throws {
        let difference = try #require(Inequivalence(error(text)))
        #expect(difference.name == name && difference.wanted == wanted && difference.current == current)
        #expect(difference.description == shown)
    }

    @Test(
        "Other refusals and truncated messages are not differences",
        arguments: [
            "inequivalent arg 'x-overflow' for queue 'nnn...",
            "inequivalent arg 'x-overflow' for queue 'n': received '1...",
            "inequivalent arg 'x-overflow' for queue 'n': received 'a' but current is 'b...",
            "inequivalent arg 'x-overflow' for queue 'n': received the value 'a' of type 'long... but current is none",
            "invalid arg 'x-priority' for queue 'q' in vhost '/': \"expected integer, got longstr\"", "",
        ])
    func other(text: String) {
        #expect(Inequivalence(error(text)) == nil)
    }

    @Test("An error other than 406 is not a difference, whatever its text")
    func otherCode() {
        let text = "inequivalent arg 'durable' for queue 'q' in vhost '/': received 'true' but current is 'false'"
        #expect(Inequivalence(error(text)) != nil)
        #expect(Inequivalence(error(text, code: 404)) == nil)
    }
}

@Suite("DeclarationComparison")
struct DeclarationComparisonTests {
    private let wanted = QueueDeclaration(
        name: "q", arguments: ["x-queue-type": .string("quorum"), "x-message-ttl": .int32(5000)])

    private func refusal(_ code: UInt16, _ name: String, _ text: String = "") -> ControlResponse {
        .refused(.closed(replyCode: code, text: "\(name) - \(text)", name: name))
    }

    private func inequivalent(_ argument: String, _ received: String, _ current: String) -> ControlResponse {
        refusal(
            406, "PRECONDITION_FAILED",
            "inequivalent arg '\(argument)' for queue 'q' in vhost '/': received \(received) but current is \(current)")
    }

    /// Replays the given replies in turn.
    ///
    /// - Returns: the arguments of each declaration that was requested.
    private func run(_ comparison: inout DeclarationComparison, _ replies: [ControlResponse]) throws -> [FieldTable?] {
        try replies.map { reply in
            let request = try #require(comparison.nextRequest)
            comparison.take(reply)
            if case .declareQueue(let queue) = request { return queue.arguments }
            return nil
        }
    }

    private let there = ControlResponse.declared(queue: "q", messages: 7, consumers: 2)

    @Test("A missing queue is never declared")
    func missing() throws {
        var comparison = DeclarationComparison(.queue(wanted))
        #expect(try run(&comparison, [refusal(404, "NOT_FOUND")]) == [nil])
        guard case .missing? = comparison.finding else { return #expect(Bool(false)) }
        #expect(comparison.nextRequest == nil)
    }

    @Test("A queue that matches is declared once, and its counts are reported")
    func asWanted() throws {
        var comparison = DeclarationComparison(.queue(wanted))
        #expect(try run(&comparison, [there, there]) == [nil, wanted.arguments])
        guard case .asWanted(messages: 7, consumers: 2)? = comparison.finding else { return #expect(Bool(false)) }
    }

    @Test("Differences are requested one after the other, the type first")
    func differences() throws {
        var comparison = DeclarationComparison(.queue(wanted))
        let declarations = try run(
            &comparison,
            [
                there, inequivalent("x-message-ttl", "'5000'", "'1000'"),
                inequivalent("x-queue-type", "the value 'quorum' of type 'longstr'", "none"),
                inequivalent("x-expires", "none", "the value '9000' of type 'signedint'"), there,
            ])
        #expect(
            declarations == [
                nil, wanted.arguments, ["x-queue-type": .string("quorum"), "x-message-ttl": .int64(1000)],
                ["x-message-ttl": .int64(1000)], ["x-message-ttl": .int64(1000), "x-expires": .int64(9000)],
            ])
        guard case .different(let differences, nil, 7, 2)? = comparison.finding else { return #expect(Bool(false)) }
        #expect(differences.map(\.name) == ["x-queue-type", "x-message-ttl", "x-expires"])
    }

    @Test("An unreadable message ends the comparison, and is reported with the differences found so far")
    func unreadable() throws {
        var comparison = DeclarationComparison(.queue(wanted))
        _ = try run(
            &comparison,
            [there, inequivalent("x-message-ttl", "'5000'", "'1000'"), refusal(406, "PRECONDITION_FAILED", "Nein!")])
        guard case .different(let differences, let rest?, 7, 2)? = comparison.finding else {
            return #expect(Bool(false))
        }
        #expect(differences.map(\.name) == ["x-message-ttl"])
        #expect(rest.message.contains("Nein!"))
    }

    @Test("A broker that repeats the same difference is not asked endlessly")
    func stubborn() throws {
        var comparison = DeclarationComparison(.queue(wanted))
        let same = inequivalent("x-message-ttl", "'5000'", "'1000'")
        _ = try run(&comparison, [there, same, same])
        guard case .different(let differences, .some, _, _)? = comparison.finding else { return #expect(Bool(false)) }
        #expect(differences.count == 1)
    }

    @Test("A refused declaration leaves the difference unknown; a refused passive declaration refuses the queue")
    func permissions() throws {
        var comparison = DeclarationComparison(.queue(wanted))
        _ = try run(&comparison, [there, refusal(403, "ACCESS_REFUSED")])
        guard case .hidden? = comparison.finding else { return #expect(Bool(false)) }
        comparison = DeclarationComparison(.queue(wanted))
        _ = try run(&comparison, [refusal(405, "RESOURCE_LOCKED")])
        guard case .refused? = comparison.finding else { return #expect(Bool(false)) }
    }
}

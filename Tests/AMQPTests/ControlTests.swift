import AMQP
import Core
import TestSupport
import Testing

@Suite("Control")
struct ControlTests {
    @Test("Requests are answered in order, and a refusal does not end the connection")
    func requests() throws {
        let pair = Pair(.control)
        _ = pair.takeEvents()
        let queue = QueueDeclaration(name: "q", arguments: ["x-message-ttl": .int32(5000)])
        let requests: [ControlRequest] = [
            .declareQueue(queue), .inspectQueue("missing"),
            .declareExchange("e", type: "direct"),
            .bindQueue("q", exchange: "e", routingKey: "k"), .inspectQueue("q"),
            .declareQueue(QueueDeclaration(name: "q")), .inspectQueue(String(repeating: "x", count: 256)),
            .get(queue: "q"), .inspectExchange("e"), .deleteExchange("e"), .inspectExchange("e"),
            .probeReading(queue: "q"), .purgeQueue("q"), .deleteQueue("q"),
        ]
        for request in requests { pair.engine.request(request, at: pair.now) }
        pair.settle()
        let replies = pair.takeResponses().map { reply in
            switch reply {
            case .refused(let error): error.code.rawValue
            default: String(String(describing: reply).prefix { $0.isLetter })
            }
        }
        #expect(
            replies == [
                "declared", "NOT_FOUND", "done", "done", "declared", "PRECONDITION_FAILED", "SHORT_STRING_TOO_LONG",
                "empty", "done", "done", "NOT_FOUND", "PRECONDITION_FAILED", "done", "done",
            ])
        #expect(pair.engine.isOpen == true && pair.broker.violations.isEmpty)
    }

    @Test("Messages are fetched one by one and settled like deliveries")
    func get() throws {
        let broker = Broker()
        for number: UInt8 in 0..<3 { try broker.put([number], into: "q") }
        let pair = Pair(.control, broker: broker)
        _ = pair.takeEvents()
        for _ in 0..<3 { pair.engine.request(.get(queue: "q"), at: pair.now) }
        pair.settle()
        var bodies: [UInt8] = []
        for case .got(let delivery, let remaining) in pair.takeResponses() {
            bodies += delivery.body
            #expect(Int(remaining) == 3 - bodies.count)
            if delivery.tag == 2 {
                pair.engine.nack(tag: delivery.tag, requeue: true, at: pair.now)
            } else {
                pair.engine.ack(tag: delivery.tag, at: pair.now)
            }
        }
        pair.settle()
        #expect(bodies == [0, 1, 2])
        #expect(broker.messages(in: "q").map(\.body) == [[1]])
        #expect(broker.messages(in: "q").map(\.redelivered) == [true] && broker.violations.isEmpty)
    }

    @Test("A refusal while a message is unsettled ends the connection: its tag would be invalid on a new channel")
    func refusalWhileHeld() throws {
        let broker = Broker()
        try broker.put([1], into: "q")
        let pair = Pair(.control, broker: broker)
        pair.engine.request(.get(queue: "q"), at: pair.now)
        pair.engine.request(.inspectQueue("missing"), at: pair.now)
        pair.settle()
        #expect(pair.takeEvents().names == ["opened", "responded", "closed"])
        #expect(broker.messages(in: "q").count == 1)
    }
}

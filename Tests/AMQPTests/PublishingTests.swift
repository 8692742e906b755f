import Core
import TestSupport
import Testing

@testable import AMQP

@Suite("Publishing")
struct PublishingTests {
    /// A connection to a broker with a queue of results.
    private func pair() -> Pair {
        let broker = Broker()
        broker.declare("results")
        return Pair(.publisher, broker: broker)
    }

    @Test("A message reaches its queue unchanged, and is confirmed once")
    func publish() throws {
        let pair = pair()
        var properties = MessageProperties()
        properties.contentType = bytes("application/json")
        properties.correlationID = [UInt8](repeating: 99, count: 255)
        properties.messageID = bytes("m")
        properties.type = bytes("harebell.result")
        properties.timestamp = 5
        properties.priority = 1
        properties.headers = ConsumingTests.everyType
        let sequence = try pair.engine.publish(
            Publication(routingKey: bytes("results")[...], properties: properties, body: pattern(300_000)[...]))
        #expect(sequence == 1)
        pair.settle()
        let confirmations = pair.takeConfirmations()
        #expect(confirmations.map(\.0) == [1] && confirmations.map(\.1) == [.acked])
        let message = try #require(pair.broker.messages(in: "results").first)
        #expect(message.body == pattern(300_000))
        properties.deliveryMode = 2
        #expect(message.decodedProperties == properties && pair.broker.violations.isEmpty)
    }

    @Test("Bodies around the frame size are split correctly", arguments: [0, 1, 4087, 4088, 4089, 8176, 12_264])
    func bodySizes(size: Int) throws {
        let broker = Broker()
        broker.frameMax = 4096
        broker.declare("results")
        let pair = Pair(.publisher, broker: broker, chunk: 1000)
        try pair.publish(pattern(size), to: "results")
        pair.settle()
        #expect(broker.messages(in: "results").first?.body == pattern(size))
        #expect(pair.takeConfirmations().map(\.1) == [.acked] && broker.violations.isEmpty)
    }

    @Test("Confirms in any order, and multiple ones, end each publish once")
    func confirms() throws {
        let pair = pair()
        pair.broker.holdsConfirms = true
        for number: UInt8 in 1...6 { try pair.publish([number], to: "results") }
        pair.settle()
        #expect(pair.takeConfirmations().isEmpty && pair.engine.confirms.unconfirmed == 6)
        pair.server.releaseConfirms(4)
        pair.server.releaseConfirms(2, acked: false)
        pair.server.releaseConfirms(5, multiple: true)
        pair.server.releaseConfirms(5)
        pair.settle()
        let confirmations = pair.takeConfirmations()
        #expect(confirmations.map(\.0) == [4, 2, 1, 3, 5])
        #expect(confirmations.map(\.1) == [.acked, .nacked, .acked, .acked, .acked])
        #expect(pair.engine.confirms.unconfirmed == 1)
    }

    @Test("An unroutable message is returned and ends once, and the others are not affected")
    func returned() throws {
        let pair = pair()
        try pair.publish([1], to: "results", messageID: "a")
        try pair.publish([2], to: "nowhere", messageID: "b")
        try pair.publish([3], to: "results", messageID: "c")
        try pair.publish([4], to: String(repeating: "x", count: 255), messageID: "d", mandatory: false)
        try pair.publish([], to: "nowhere", messageID: "e")
        pair.settle()
        let noRoute = AMQP.Confirmation.returned(code: 312, text: "NO_ROUTE")
        let confirmations = pair.takeConfirmations()
        #expect(confirmations.map(\.0) == [1, 2, 3, 4, 5])
        #expect(confirmations.map(\.1) == [.acked, noRoute, .acked, .acked, noRoute])
    }

    @Test("A returned publish is matched among the unconfirmed ones, even without message ids")
    func returnedWithoutMessageID() throws {
        let broker = Broker()
        broker.declare("dead")
        broker.holdsConfirms = true
        let pair = Pair(.publisher, broker: broker) { $0.maximumBody = 1 }
        try pair.publish([1], to: "dead")
        pair.settle()
        broker.delete("dead")
        try pair.publish([2], to: "dead")
        pair.settle()
        pair.server.releaseConfirms(2, multiple: true)
        pair.settle()
        #expect(pair.takeConfirmations().map(\.1) == [.acked, AMQP.Confirmation.returned(code: 312, text: "NO_ROUTE")])
    }

    @Test("A blocked broker stops publishing until it is unblocked")
    func blocked() throws {
        let pair = pair()
        pair.broker.setAlarm(true)
        #expect(pair.engine.canPublish == true, "the broker tells at the first publish")
        try pair.publish([1], to: "results")
        pair.settle()
        #expect(pair.takeEvents().contains { if case .blocked("low on memory") = $0 { true } else { false } })
        #expect(pair.engine.canPublish == false)
        pair.advance(by: .seconds(20))
        pair.broker.setAlarm(false)
        pair.settle()
        #expect(pair.engine.canPublish == true && pair.takeEvents().names == ["unblocked"])
        // Other brokers send channel.flow, and want an answer.
        pair.engine.receive([1, 0, 1, 0, 0, 0, 5, 0, 20, 0, 20, 0, 0xCE].span, at: pair.now)
        var output = ByteQueue()
        pair.engine.drain(into: &output)
        #expect(output.copy() == [1, 0, 1, 0, 0, 0, 5, 0, 20, 0, 21, 0, 0xCE])
        #expect(pair.engine.canPublish == false)
    }

    @Test("4096 publishes may be unconfirmed, and up to 4 MiB unsent")
    func limit() throws {
        let broker = Broker()
        broker.declare("results")
        broker.holdsConfirms = true
        let pair = Pair(.publisher, broker: broker)
        for _ in 0..<4096 { try pair.publish([], to: "results") }
        #expect(pair.engine.canPublish == false)
        pair.settle()
        pair.server.releaseConfirms(1)
        pair.settle()
        #expect(pair.engine.canPublish == true)
        // With its frames, the first one has one byte less than 4 MiB.
        let other = self.pair()
        for size in [4_194_000, 0] { try other.publish([UInt8](repeating: 0, count: size), to: "results") }
        #expect(other.engine.canPublish == false)
    }

    @Test("Strings over 255 bytes and properties over one frame are refused before a byte is written")
    func refused() throws {
        let pair = pair()
        func refusal(_ publication: Publication) -> AMQPError? {
            #expect(throws: AMQPError.self) { try pair.engine.publish(publication) }
        }
        let long = [UInt8](repeating: 97, count: 256)[...]
        var properties = MessageProperties()
        let fields: [WritableKeyPath<MessageProperties, [UInt8]?>] = [
            \.contentType, \.contentEncoding, \.correlationID, \.replyTo, \.expiration, \.messageID, \.type, \.userID,
            \.appID, \.clusterID,
        ]
        for field in fields {
            properties = MessageProperties()
            properties[keyPath: field] = Array(long)
            let publication = Publication(routingKey: long.prefix(7), properties: properties, body: [])
            #expect(refusal(publication)?.code == .shortStringTooLong)
        }
        properties = MessageProperties()
        properties.headers = FieldTable([.init(name: Array(long), value: .void)])
        #expect(refusal(Publication(routingKey: [], properties: properties, body: [])) != nil)
        #expect(refusal(Publication(routingKey: long, body: [])) != nil)
        #expect(refusal(Publication(exchange: long, routingKey: [], body: [])) != nil)
        // One byte more than the frame of 131,072 bytes holds, with the delivery mode.
        properties.headers = FieldTable([.init(name: [97], value: .bytes(pattern(131_039)))])
        #expect(refusal(Publication(routingKey: [], properties: properties, body: []))?.code == .propertiesTooLarge)
        var output = ByteQueue()
        pair.engine.drain(into: &output)
        #expect(output.copy().isEmpty)
        #expect(try pair.publish([], to: "results") == 1)
        pair.settle()
        #expect(pair.takeConfirmations().map(\.1) == [.acked])
    }

    @Test("A missing exchange closes the channel and the connection")
    func missingExchange() throws {
        let pair = Pair(.publisher)
        _ = try pair.engine.publish(Publication(exchange: bytes("none")[...], routingKey: [], body: []))
        pair.settle()
        let events = pair.takeEvents()
        guard case .confirmed(sequence: 1, .lost) = events[1], case .closed(let error?)? = events.last else {
            Issue.record("unexpected \(events)")
            return
        }
        #expect(error.code == .notFound)
    }
}

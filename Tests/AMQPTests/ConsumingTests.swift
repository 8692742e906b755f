import AMQP
import Core
import TestSupport
import Testing

@Suite("Consuming")
struct ConsumingTests {
    static func consumer(_ broker: Broker, prefetch: UInt16 = 10, chunk: Int = .max) -> Pair {
        broker.declare("work")
        return Pair(.consumer([ConsumerQueue(name: "work", prefetch: prefetch)]), broker: broker, chunk: chunk)
    }

    static var everyType: FieldTable {
        [
            "t": .boolean(true), "no": .boolean(false), "b": .int8(-8), "B": .uint8(200), "s": .int16(-300),
            "u": .uint16(60_000), "I": .int32(-70_000), "i": .uint32(4_000_000_000), "l": .int64(-5_000_000_000),
            "L": .uint64(5_000_000_000), "f": .float(1.5), "d": .double(-2.25), "D": .decimal(scale: 2, value: 314),
            "S": .string("text"), "x": .bytes([0, 255]), "T": .timestamp(1_700_000_000),
            "A": .array([.int32(1), .table(["in": .void])]), "F": .table(["deep": .array([])]), "V": .void,
        ]
    }

    @Test("A message arrives with every property and header type, however its bytes are split")
    func everyProperty() throws {
        var properties = MessageProperties()
        properties.contentType = bytes("application/json")
        properties.contentEncoding = bytes("utf-8")
        properties.headers = Self.everyType
        properties.deliveryMode = 2
        properties.priority = 3
        properties.correlationID = bytes("correlation")
        properties.replyTo = bytes("replies")
        properties.expiration = bytes("60000")
        properties.messageID = bytes("message")
        properties.timestamp = .max
        properties.type = bytes("type")
        properties.userID = bytes("guest")
        properties.appID = bytes("app")
        properties.clusterID = bytes("")
        for chunk in [1, 2, 3, 5, 7, 8, 9, 64, .max] {
            let broker = Broker()
            try broker.put(pattern(3000), properties: properties, exchange: "in", into: "work")
            let delivery = try #require(Self.consumer(broker, chunk: chunk).takeDeliveries().first)
            #expect(delivery.epoch == 7 && delivery.tag == 1 && delivery.queue == 0)
            #expect(delivery.body.elementsEqual(pattern(3000)))
            #expect(delivery.routingKey.equals("work") && delivery.exchange.equals("in"))
            let texts = [
                delivery.contentType, delivery.contentEncoding, delivery.correlationID, delivery.replyTo,
                delivery.expiration, delivery.messageID, delivery.type, delivery.appID,
            ].map { $0.map { String(decoding: $0, as: UTF8.self) } }
            #expect(
                texts == ["application/json", "utf-8", "correlation", "replies", "60000", "message", "type", "app"])
            #expect(delivery.timestamp == .max)
            #expect(try MessageProperties(decoding: delivery.rawProperties) == properties)
            #expect(delivery.headerCount == 19)
            let names: [StaticString] = ["t", "no", "b", "i", "l", "d", "S", "x", "T", "F", "missing"]
            let values: [Delivery.HeaderValue?] = [
                .boolean(true), .boolean(false), .integer(-8), .integer(4_000_000_000), .integer(-5_000_000_000),
                .number(-2.25), .text(bytes("text")[...]), .text([0, 255]), .integer(1_700_000_000), .other, nil,
            ]
            #expect(names.map { delivery.header($0) } == values)
        }
    }

    @Test(
        "Bodies around the frame size arrive intact",
        arguments: [0, 1, 4087, 4088, 4089, 8176, 131_064, 131_065, 262_128])
    func bodySizes(size: Int) throws {
        for frameMax: UInt32 in [4096, 131_072] {
            let broker = Broker()
            broker.frameMax = frameMax
            try broker.put(pattern(size), into: "work")
            let delivery = try #require(Self.consumer(broker).takeDeliveries().first)
            #expect(delivery.body.elementsEqual(pattern(size)))
        }
    }

    @Test("A body of 10 MiB is skipped and reported, and the connection stays open")
    func oversize() throws {
        let broker = Broker()
        var properties = MessageProperties()
        properties.messageID = bytes("large")
        try broker.put([UInt8](repeating: 1, count: 10 << 20), properties: properties, into: "work")
        try broker.put(bytes("next"), into: "work")
        let pair = Self.consumer(broker, chunk: 65_536)
        let events = pair.takeEvents()
        guard events.count == 4, case .delivery(let delivery) = events[2],
            case .delivery(let next) = events[3]
        else {
            Issue.record("unexpected \(events.names)")
            return
        }
        #expect(delivery.oversizeBody == 10 << 20 && delivery.body.isEmpty)
        #expect(delivery.messageID?.equals("large") == true)
        #expect(next.body.equals("next"))
        pair.engine.nack(tag: delivery.tag, requeue: false, at: pair.now)
        pair.engine.ack(tag: next.tag, at: pair.now)
        pair.settle()
        #expect(pair.server.unsettledCount == 0)
        #expect(broker.queues["work"]?.discarded == 1 && broker.violations.isEmpty)
    }

    @Test("Headers nested too deeply arrive, and only decoding them fails")
    func nested() throws {
        var value = FieldValue.void
        for _ in 0..<100 { value = .array([value]) }
        var properties = MessageProperties()
        properties.headers = ["deep": value, "flat": .int32(1)]
        let broker = Broker()
        try broker.put([], properties: properties, into: "work")
        let delivery = try #require(Self.consumer(broker).takeDeliveries().first)
        #expect(delivery.header("flat") == .integer(1))
        let error = #expect(throws: AMQPError.self) { try MessageProperties(decoding: delivery.rawProperties) }
        #expect(error?.code == .badTable)
    }

    @Test("A consumer's priority is sent, and nothing without one", arguments: [nil, -5, 7])
    func priority(priority: Int?) {
        let broker = Broker()
        broker.declare("work")
        let pair = Pair(.consumer([ConsumerQueue(name: "work", prefetch: 1, priority: priority)]), broker: broker)
        pair.settle()
        var expected = FieldTable()
        if let priority { expected["x-priority"] = .int32(Int32(priority)) }
        expected["x-consumer-timeout"] = .int64(7_200_000)
        #expect(broker.queues["work"]?.consumeArguments == expected)
    }

    @Test("A queue without delivery timeouts is consumed without one, and the owner does not notice")
    func refusedTimeout() throws {
        let broker = Broker()
        broker.refusesTimeouts = true
        try broker.put([1], into: "work")
        let pair = Self.consumer(broker)
        pair.advance(by: .milliseconds(1))
        #expect(broker.queues["work"]?.consumeArguments == FieldTable())
        #expect(pair.takeEvents().names == ["opened", "consuming", "delivery"])
        // It may be declared again as a queue that has them, and once more as one without.
        for refuses in [false, true] {
            broker.delete("work")
            broker.refusesTimeouts = refuses
            broker.declare("work")
            pair.advance(by: .seconds(3))
            #expect((broker.queues["work"]?.consumeArguments == FieldTable()) == refuses)
        }
    }

    @Test("Prefetch limits what is in flight, and acks admit more")
    func prefetch() throws {
        let broker = Broker()
        for number in 0..<100 { try broker.put([UInt8(number)], into: "work") }
        let pair = Self.consumer(broker, prefetch: 10)
        var seen: [UInt8] = []
        while true {
            let deliveries = pair.takeDeliveries()
            if deliveries.isEmpty { break }
            #expect(deliveries.count <= 10)
            for delivery in deliveries {
                seen += delivery.body
                #expect(pair.engine.ack(tag: delivery.tag, at: pair.now) == true)
                #expect(pair.engine.ack(tag: delivery.tag, at: pair.now) == false, "an ack is sent once")
            }
            pair.settle()
        }
        #expect(seen == (0..<100).map { UInt8($0) })
        #expect(pair.server.unsettledCount == 0 && broker.violations.isEmpty)
    }

    @Test("A consumer that the broker cancels returns its deliveries and resumes when it can, twice in a row")
    func serverCancel() throws {
        let broker = Broker()
        let pair = Self.consumer(broker)
        _ = pair.takeEvents()
        for body: UInt8 in [1, 3] {
            try broker.put([body], into: "work")
            pair.settle()
            let delivery = try #require(pair.takeDeliveries().first)
            broker.delete("work")
            pair.settle()
            guard case .channelClosed(queue: 0, let error)? = pair.takeEvents().first else {
                Issue.record("not told")
                return
            }
            #expect(error.code == .consumerCancelled && error.isTransient && pair.server.unsettledCount == 0)
            #expect(pair.engine.ack(tag: delivery.tag, at: pair.now) == false)
            broker.declare("work")
            pair.advance(by: .seconds(3))
            #expect(pair.takeEvents().names == ["consuming"])
            try broker.put([body + 1], into: "work")
            pair.settle()
            let next = try #require(pair.takeDeliveries().first)
            #expect(next.body == [body + 1])
            pair.engine.ack(tag: next.tag, at: pair.now)
            pair.settle()
        }
        #expect(broker.violations.isEmpty)
    }

    @Test("After a delivery timeout all deliveries come again, those that were not overdue included, twice in a row")
    func deliveryTimeout() throws {
        let broker = Broker()
        for number: UInt8 in 1...3 { try broker.put([number], into: "work") }
        let pair = Self.consumer(broker)
        for _ in 1...2 {
            #expect(Set(pair.takeDeliveries().map { $0.body.first }) == [1, 2, 3])
            broker.timeOut("work") { $0.body == [1] }
            pair.advance(by: .seconds(3))
        }
        let again = pair.takeDeliveries()
        #expect(again.count == 3 && again.allSatisfy(\.redelivered))
        #expect(Set(again.map { $0.body.first }) == [1, 2, 3])
        for delivery in again { pair.engine.ack(tag: delivery.tag, at: pair.now) }
        pair.settle()
        #expect(broker.unsettledCount == 0 && broker.messages(in: "work").isEmpty && broker.violations.isEmpty)
    }

    @Test("Acks are batched for 5 ms, but not when nothing else is unsettled")
    func acknowledgementDelay() throws {
        let broker = Broker()
        for number: UInt8 in 0..<4 { try broker.put([number], into: "work") }
        let pair = Self.consumer(broker, prefetch: 5)
        pair.engine.ack(tag: 1, at: pair.now)
        pair.advance(by: .microseconds(4999))
        #expect(pair.server.unsettledCount == 4)
        pair.advance(by: .milliseconds(5))
        #expect(pair.server.unsettledCount == 3)
        // Behind a held one; the next one does not wait for it.
        pair.engine.ack(tag: 4, at: pair.now)
        pair.engine.ack(tag: 2, at: pair.now)
        pair.advance(by: .milliseconds(5))
        #expect(pair.server.unsettledCount == 2)
        pair.advance(by: .milliseconds(244))
        #expect(pair.server.unsettledCount == 2)
        pair.advance(by: .milliseconds(1))
        #expect(pair.server.unsettledCount == 1)
        pair.engine.ack(tag: 3, at: pair.now)
        pair.settle()
        #expect(pair.server.unsettledCount == 0)
    }

    @Test("Acks for half of the prefetch do not wait, twice in a row", arguments: [1, 3] as [UInt64])
    func acknowledgementsOfHalf(first: UInt64) throws {
        let broker = Broker()
        for number: UInt8 in 1...8 { try broker.put([number], into: "work") }
        let pair = Self.consumer(broker, prefetch: 4)
        for tag in [first, first + 2] {
            pair.engine.ack(tag: tag, at: pair.now)
            pair.settle()
            #expect(pair.takeDeliveries().map(\.tag).max() == tag + 4 - first)
            pair.engine.ack(tag: tag + 1, at: pair.now)
            pair.settle()
        }
        #expect(pair.takeDeliveries().map(\.tag) == [7, 8] && pair.server.unsettledCount == 4)
    }
}

/// A broker engine that records its output.
class Recorder: Engine {
    private let inner: BrokerEngine
    private(set) var sent: [UInt8] = []

    init(_ broker: Broker) {
        inner = BrokerEngine(broker: broker)
    }

    /// The broker's whole output to a client.
    static func stream(of broker: Broker, to configuration: AMQPConfiguration) -> [UInt8] {
        let recorder = Recorder(broker)
        let network = MemoryNetwork { _ in recorder }
        let link = AMQPLink(AMQPEngine(configuration: configuration, epoch: 1))
        network.connect(link, to: configuration.address.endpoint, timeout: .seconds(1))
        network.settle()
        return recorder.sent
    }

    func transportOpened(at now: Instant) { inner.transportOpened(at: now) }
    func receive(_ bytes: Span<UInt8>, at now: Instant) { inner.receive(bytes, at: now) }
    func transportClosed(_ failure: TransportError?, at now: Instant) { inner.transportClosed(failure, at: now) }
    func drain(into output: inout ByteQueue) {
        let before = output.count
        inner.drain(into: &output)
        sent += output.copy().dropFirst(before)
    }
    var isEstablished: Bool { inner.isEstablished }
    var wantsDisconnect: Bool { inner.wantsDisconnect }
    var nextDeadline: Instant? { inner.nextDeadline }
    func expire(at now: Instant) { inner.expire(at: now) }
}

import AMQP
import Core
import Testing
import TestSupport

@Suite("With RabbitMQ", .enabled(if: TestEnvironment.broker != nil, "\(TestEnvironment.hint)"), .serialized)
struct RabbitMQTests {
    private let rig: BrokerRig
    private let control: AMQPConnection
    private let queue = "harebell-test-\(UInt64.random(in: 0 ... .max))"

    init() throws {
        rig = try BrokerRig()
        control = try rig.open(.control)
    }

    private func declare(_ arguments: FieldTable = FieldTable()) throws {
        var declaration = QueueDeclaration(name: queue, arguments: arguments)
        declaration.durable = true
        let replies = try rig.ask(control, .declareQueue(declaration))
        guard case .declared(queue, messages: 0, consumers: 0)? = replies.first else {
            throw TestSupportError("not declared: \(replies)")
        }
    }

    private func end() throws {
        _ = try rig.ask(control, .deleteQueue(queue))
        try rig.close()
    }

    private func publication(_ body: [UInt8], to queue: String? = nil, id: String = "id") -> Publication {
        var properties = MessageProperties()
        properties.messageID = bytes(id)
        return Publication(routingKey: bytes(queue ?? self.queue)[...], properties: properties, body: body[...])
    }

    @Test("Messages of every size around the frame size pass through the broker intact, and are confirmed and acked")
    func roundTrip() throws {
        try declare()
        let publisher = try rig.open(.publisher)
        try rig.run { publisher.isOpen }
        let sizes = [0, 1, 300, 131_063, 131_064, 131_065, 262_128, 0, 5]
        var properties = MessageProperties()
        properties.contentType = bytes("application/json")
        properties.headers = ["apns-topic": .string("com.example.app"), "n": .int64(-1)]
        properties.correlationID = bytes("c")
        properties.replyTo = bytes("r")
        properties.timestamp = 1_700_000_000
        properties.priority = 4
        for size in sizes {
            let body = pattern(size)
            _ = try publisher.publish(
                Publication(routingKey: bytes(queue)[...], properties: properties, body: body[...]))
        }
        try rig.run { [rig] in rig.confirmations(of: publisher).count == sizes.count }
        #expect(rig.confirmations(of: publisher).allSatisfy { $0 == .acked })

        let consumer = try rig.open(.consumer([ConsumerQueue(name: queue, prefetch: 3)])) {
            $0.maximumBody = 262_127
        }
        var received: [Int] = []
        try rig.run { [rig] in
            for case .engine(let event) in rig.takeEvents(of: consumer) {
                switch event {
                case .delivery(let delivery):
                    #expect(delivery.body.elementsEqual(pattern(delivery.body.count)))
                    #expect(delivery.header("apns-topic") == .text(bytes("com.example.app")[...]))
                    #expect(delivery.header("n") == .integer(-1))
                    #expect(delivery.correlationID?.equals("c") == true)
                    #expect(delivery.timestamp == 1_700_000_000)
                    received.append(delivery.body.count)
                    consumer.ack(epoch: delivery.epoch, tag: delivery.tag, at: rig.now)
                case .oversize(let delivery, let size):
                    #expect(size == 262_128)
                    received.append(Int(size))
                    consumer.nack(epoch: delivery.epoch, tag: delivery.tag, requeue: false, at: rig.now)
                default: break
                }
            }
            return received.count == sizes.count
        }
        #expect(received == sizes)
        try rig.close(consumer)
        guard case .declared(_, messages: 0, consumers: 0)? = try rig.ask(control, .inspectQueue(queue)).first else {
            Issue.record("messages were left")
            return
        }
        try end()
    }

    @Test("A thousand deliveries settled in random order are all settled")
    func randomOrder() throws {
        try declare()
        let publisher = try rig.open(.publisher)
        try rig.run { publisher.isOpen }
        for number in 0..<1000 { _ = try publisher.publish(publication(bytes("\(number)"))) }
        let consumer = try rig.open(.consumer([ConsumerQueue(name: queue, prefetch: 200)]))
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        var held: [Delivery] = []
        var seen: Set<[UInt8]> = []
        try rig.run { [rig] in
            for case .engine(.delivery(let delivery)) in rig.takeEvents(of: consumer) {
                seen.insert(Array(delivery.body))
                held.append(delivery)
            }
            held.shuffle(using: &random)
            while held.count > (seen.count < 1000 ? 50 : 0), let delivery = held.popLast() {
                consumer.ack(epoch: delivery.epoch, tag: delivery.tag, at: rig.now)
            }
            return seen.count == 1000
        }
        #expect(rig.confirmations(of: publisher).count == 1000)
        try rig.close(consumer)
        guard case .declared(_, messages: 0, _)? = try rig.ask(control, .inspectQueue(queue)).first else {
            Issue.record("messages were left, seed \(seed)")
            return
        }
        try end()
    }

    @Test("An unroutable message is returned, and the messages around it are not")
    func returned() throws {
        try declare()
        let publisher = try rig.open(.publisher)
        try rig.run { publisher.isOpen }
        for number in 0..<50 {
            let target = number % 7 == 3 ? "harebell-test-nowhere" : queue
            _ = try publisher.publish(publication(bytes("x"), to: target, id: "\(number)"))
        }
        var ends: [UInt64: AMQP.Confirmation] = [:]
        try rig.run { [rig] in
            for case .engine(.confirmed(let sequence, let confirmation)) in rig.takeEvents(of: publisher) {
                #expect(ends.updateValue(confirmation, forKey: sequence) == nil)
            }
            return ends.count == 50
        }
        for number: UInt64 in 0..<50 {
            let expected = number % 7 == 3 ? AMQP.Confirmation.returned(code: 312, text: "NO_ROUTE") : .acked
            #expect(ends[number + 1] == expected)
        }
        try end()
    }

    @Test("A full queue's nack reaches the publisher")
    func nacked() throws {
        try declare(["x-max-length": .int32(1), "x-overflow": .string("reject-publish")])
        let publisher = try rig.open(.publisher)
        try rig.run { publisher.isOpen }
        for _ in 0..<20 { _ = try publisher.publish(publication([1])) }
        try rig.run { [rig] in rig.confirmations(of: publisher).count == 20 }
        #expect(rig.confirmations(of: publisher).contains(.nacked))
        try end()
    }

    @Test("A publish that the broker refuses with an error ends the connection, and the error says so")
    func refusedPublishes() throws {
        try declare()
        func failure(_ edit: (inout Publication) -> Void) throws -> AMQPError {
            let publisher = try rig.open(.publisher)
            try rig.run { publisher.isOpen }
            var publication = publication([1])
            edit(&publication)
            _ = try publisher.publish(publication)
            let error = try rig.failure(of: publisher)
            try rig.close(publisher)
            return error
        }
        let missing = try failure { $0.exchange = bytes("harebell-test-missing")[...] }
        #expect(missing.code == .notFound)
        let user = try failure { $0.properties.userID = bytes("somebody-else") }
        #expect(user.code == .preconditionFailed)
        let expiration = try failure { $0.properties.expiration = bytes("soon") }
        #expect(expiration.code == .preconditionFailed)
        for error in [missing, user, expiration] { #expect(error.isAboutPublish, "\(error)") }
        let requester = bytes("amq.rabbitmq.reply-to.g2dkABByZXBseQ.nonsense")[...]
        if TestEnvironment.returnsMalformedReplies {
            let publisher = try rig.open(.publisher)
            try rig.run { publisher.isOpen }
            var publication = publication([1])
            publication.routingKey = requester
            _ = try publisher.publish(publication)
            try rig.run { [rig] in rig.confirmations(of: publisher) == [.returned(code: 312, text: "NO_ROUTE")] }
        } else {
            let reply = try failure { $0.routingKey = requester }
            #expect(reply.replyCode == 541 && reply.isAboutPublish, "\(reply)")
        }
        try end()
    }

    /// With the old tag, the broker would end the connection (541) at the next delivery.
    @Test("A quorum queue's consumer gets a higher prefetch on the same connection while deliveries are unsettled")
    func prefetchOfQuorumQueue() throws {
        let quorum = "\(queue)-quorum"
        let arguments: FieldTable = ["x-queue-type": .string("quorum")]
        _ = try rig.ask(control, .declareQueue(QueueDeclaration(name: quorum, arguments: arguments)))
        let publisher = try rig.open(.publisher)
        try rig.run { publisher.isOpen }
        for number: UInt8 in 0..<10 { _ = try publisher.publish(publication([number], to: quorum)) }
        let consumer = try rig.open(.consumer([ConsumerQueue(name: quorum, prefetch: 3)]))
        try rig.run { [rig] in rig.deliveries(of: consumer).count == 3 }
        consumer.setPrefetch(20, queue: 0, at: rig.now)
        try rig.run { [rig] in rig.deliveries(of: consumer).count == 10 || consumer.epoch > 1 }
        #expect(consumer.epoch == 1)
        _ = try rig.ask(control, .deleteQueue(quorum))
        try rig.close()
    }

    @Test("A requeued message is delivered again as redelivered")
    func requeue() throws {
        try declare()
        let publisher = try rig.open(.publisher)
        try rig.run { publisher.isOpen }
        _ = try publisher.publish(publication([7]))
        let consumer = try rig.open(.consumer([ConsumerQueue(name: queue, prefetch: 1)]))
        try rig.run { [rig] in !rig.deliveries(of: consumer).isEmpty }
        let first = try #require(rig.deliveries(of: consumer).first)
        #expect(!first.redelivered)
        consumer.nack(epoch: first.epoch, tag: first.tag, requeue: true, at: rig.now)
        try rig.run { [rig] in rig.deliveries(of: consumer).count == 2 }
        let second = rig.deliveries(of: consumer)[1]
        #expect(second.redelivered)
        #expect(second.body == [7])
        consumer.ack(epoch: second.epoch, tag: second.tag, at: rig.now)
        try end()
    }

    @Test("The deletion of a consumed queue is reported, and the queue is consumed again once it exists")
    func deletedQueue() throws {
        try declare()
        let consumer = try rig.open(.consumer([ConsumerQueue(name: queue, prefetch: 1)])) {
            $0.consumerRetry = .milliseconds(200)
        }
        func count(_ isWanted: (AMQPEngine.Event) -> Bool) -> Int {
            rig.events[1].count { if case .engine(let event) = $0 { isWanted(event) } else { false } }
        }
        try rig.run { count { if case .consuming = $0 { true } else { false } } == 1 }
        _ = try rig.ask(control, .deleteQueue(queue), .declareQueue(QueueDeclaration(name: queue)))
        try rig.run { count { if case .channelClosed = $0 { true } else { false } } == 1 }
        try rig.run { count { if case .consuming = $0 { true } else { false } } == 2 }
        #expect(consumer.epoch == 1)
        try end()
    }

    @Test("A wrong password is refused with a readable reason")
    func refusedLogin() throws {
        var address = try BrokerRig.address()
        address.password = "wrong-and-secret"
        let error = try rig.failure(of: try rig.open(.publisher, address: address))
        #expect(error.code == .accessRefused)
        #expect(!error.isTransient)
        #expect(error.description.contains("check user"))
        #expect(!error.description.contains("wrong-and-secret"))
        try rig.close()
    }

    @Test("An unknown virtual host is refused")
    func unknownVirtualHost() throws {
        var address = try BrokerRig.address()
        address.virtualHost = "harebell-missing"
        let error = try rig.failure(of: try rig.open(.publisher, address: address))
        #expect(error.code == .notAllowed)
        #expect(!error.isTransient)
        try rig.close()
    }

    @Test("The error names a missing queue, for a consumer and for control")
    func missingQueue() throws {
        let consumer = try rig.open(.consumer([ConsumerQueue(name: queue, prefetch: 1)]))
        let error = try rig.failure(of: consumer)
        #expect(error.code == .notFound)
        #expect(error.message.contains(queue))
        let replies = try rig.ask(control, .inspectQueue(queue), .get(queue: queue), .inspectExchange("amq.direct"))
        guard case .refused(let first) = replies[0], case .refused = replies[1], case .done = replies[2] else {
            Issue.record("unexpected \(replies)")
            return
        }
        #expect(first.code == .notFound)
        try rig.close()
    }

    @Test("A different queue declaration is refused, and bindings route messages")
    func topology() throws {
        try declare()
        let other = QueueDeclaration(name: queue, arguments: ["x-message-ttl": .int32(1000)])
        let exchange = ExchangeDeclaration(name: queue, type: "direct")
        let replies = try rig.ask(
            control, .declareQueue(other), .declareExchange(exchange),
            .bindQueue(queue, exchange: queue, routingKey: "k", arguments: FieldTable()), .get(queue: queue))
        guard case .refused(let error) = replies[0], case .done = replies[1], case .done = replies[2],
            case .empty = replies[3]
        else {
            Issue.record("unexpected \(replies)")
            return
        }
        #expect(error.code == .preconditionFailed)
        let publisher = try rig.open(.publisher)
        try rig.run { publisher.isOpen }
        _ = try publisher.publish(
            Publication(exchange: bytes(queue)[...], routingKey: bytes("k")[...], body: bytes("routed")[...]))
        try rig.run { [rig] in rig.confirmations(of: publisher) == [.acked] }
        guard case .got(let delivery, remaining: 0, nil)? = try rig.ask(control, .get(queue: queue)).first else {
            Issue.record("not routed")
            return
        }
        #expect(delivery.body.equals("routed"))
        #expect(delivery.exchange.elementsEqual(queue.utf8))
        control.ack(epoch: delivery.epoch, tag: delivery.tag, at: rig.now)
        guard case .done? = try rig.ask(control, .deleteExchange(queue)).first else {
            Issue.record("not deleted")
            return
        }
        try end()
    }
}

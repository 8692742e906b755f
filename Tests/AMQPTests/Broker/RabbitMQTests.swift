import Core
import Testing
import TestSupport

@testable import AMQP

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
        properties.headers = ["apns-topic": .string("com.example.app"), "n": .int64(-1)]
        for size in sizes {
            _ = try publisher.publish(
                Publication(routingKey: bytes(queue)[...], properties: properties, body: pattern(size)[...]))
        }
        try rig.run { [rig] in rig.confirmations(of: publisher).count == sizes.count }
        #expect(rig.confirmations(of: publisher).allSatisfy { $0 == .acked })

        let consumer = try rig.open(.consumer([ConsumerQueue(name: queue, prefetch: 3)])) { $0.maximumBody = 262_127 }
        var received: [Int] = []
        try rig.run { [rig] in
            for case .engine(let event) in rig.takeEvents(of: consumer) {
                switch event {
                case .delivery(let delivery) where delivery.oversizeBody == nil:
                    #expect(delivery.body.elementsEqual(pattern(delivery.body.count)))
                    #expect(delivery.header("apns-topic") == .text(bytes("com.example.app")[...]))
                    #expect(delivery.header("n") == .integer(-1))
                    received.append(delivery.body.count)
                    consumer.ack(epoch: delivery.epoch, tag: delivery.tag, at: rig.now)
                case .delivery(let delivery):
                    #expect(delivery.oversizeBody == 262_128)
                    received.append(Int(delivery.oversizeBody ?? 0))
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
}

import AMQP
import Core
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// RabbitMQ features that applications use with a worker.
    @Suite("Features of RabbitMQ")
    struct BrokerFeatureTests {
        private static let count = 40
        private static let streamed = 200

        /// The results of so many requests.
        private static func collect(_ stage: Stage) throws -> Conservation {
            var conservation = Conservation(stage.requests, count: 2 * count)
            try stage.client.consume([stage.resultQueue]) { delivery in
                try conservation.addResult(delivery)
                return conservation.responded == count
            }
            return conservation
        }

        @Test(
            "From a priority queue behind a topic exchange urgent requests are sent first, and a dead letter keeps all")
        func priorities() throws {
            let stage = try Stage(script: "token 79*: 400 BadMessageId")
            let (queue, exchange) = ("\(stage.name).priority", "\(stage.name).exchange")
            try stage.client.declare(queue, ["x-max-priority": .int32(5)])
            try stage.client.ask(.declareExchange(exchange, type: "topic"))
            try stage.client.ask(.bindQueue(queue, exchange: exchange, routingKey: "push.#"))
            let urgent = 30..<Self.count
            try stage.client.publish(
                (0..<Self.count).map { index in
                    var message = stage.requests.message(
                        index, to: "push.\(index).ios",
                        body: Requests.body(index, beginning: index == 0 ? "79" : "7"))
                    message.exchange = ArraySlice(exchange.utf8)
                    message.properties.priority = urgent.contains(index) ? 5 : 1
                    return message
                })
            let worker = try stage.start(Stage.Settings(queues: [queue], prefetch: 1))
            let conservation = try Self.collect(stage)
            #expect(conservation.outcomes == ["accepted": Self.count - 1, "rejected": 1])
            let sent = stage.simulator.ledger.records.compactMap { Requests.index(ofDeviceToken: $0.deviceToken) }
            #expect(sent.prefix(urgent.count).allSatisfy(urgent.contains), "\(sent)")
            try worker.end()
            let letters = try stage.client.takeAll(stage.deadLetterQueue)
            #expect(letters.count == 1)
            #expect(try letters.map { try MessageProperties(decoding: $0.rawProperties).priority } == [1])
            for (name, value) in [("harebell-exchange", exchange), ("harebell-routing-key", "push.0.ios")] {
                let header = letters.first?.header(named: Array(name.utf8))
                #expect(header == .text(ArraySlice(value.utf8)))
            }
            try stage.client.ask(.deleteExchange(exchange))
        }

        @Test("Requests that a federated queue fetches from another broker are sent once, with one result each")
        func federation() throws {
            let upstream = try #require(TestEnvironment.broker)
            let broker = try PrivateBroker(["enabled_plugins": "[rabbitmq_federation]."])
            let stage = try Stage(broker: broker.url)
            let producer = try BrokerClient(upstream)
            try producer.declare(stage.quorumQueue, ["x-queue-type": .string("quorum")])
            try broker.control("set_parameter", "federation-upstream", "up", "{\"uri\":\"\(upstream)\"}")
            try broker.control(
                "set_policy", "federated", "^\(stage.quorumQueue)$", "{\"federation-upstream\":\"up\"}",
                "--apply-to", "queues")
            let worker = try stage.start(Stage.Settings(queues: [stage.quorumQueue]))
            try producer.publish((0..<Self.count).map { stage.requests.message($0, to: stage.quorumQueue) })
            let conservation = try Self.collect(stage)
            #expect(conservation.duplicateResults == 0, "\(worker.report)")
            #expect(conservation.outcomes == ["accepted": Self.count], "\(worker.report)")
            #expect(conservation.pushes(stage.simulator.ledger).contradictions == 0)
            try worker.end()
            #expect(try stage.client.count(stage.deadLetterQueue) == 0)
            try producer.ask(.deleteQueue(stage.quorumQueue))
        }

        // Source: rabbitmq.com/docs/streams.
        @Test("A stream ends the worker with 78 before any of its messages is sent, and other queues lose nothing")
        func stream() throws {
            let stage = try Stage()
            let stream = "\(stage.name).stream"
            try stage.client.declare(stream, ["x-queue-type": .string("stream"), "x-max-age": .string("1h")])
            let worker = try stage.start(Stage.Settings(queues: [stage.quorumQueue, stream], workers: 2))
            try stage.client.publish((0..<Self.streamed).map { stage.requests.message($0, to: stage.quorumQueue) })
            try stage.client.publish((Self.streamed..<2 * Self.streamed).map { stage.requests.message($0, to: stream) })
            #expect(try worker.waitForExit(within: .seconds(60)) == .exited(78), "\(worker.report)")
            #expect(worker.text(.errors).contains("queue \(stream) is a stream"), "\(worker.report)")

            var conservation = Conservation(stage.requests, count: Self.streamed)
            for delivery in try stage.client.takeAll(stage.resultQueue) { try conservation.addResult(delivery) }
            try stage.client.waitUntilLeft(stage.quorumQueue)
            for delivery in try stage.client.takeAll(stage.quorumQueue) { conservation.addQueued(delivery) }
            let pushes = conservation.pushes(stage.simulator.ledger)
            #expect(conservation.lost.isEmpty && conservation.duplicateResults == 0, "\(pushes) \(worker.report)")
            #expect(conservation.responded <= Self.streamed)
            for record in stage.simulator.ledger.records {
                let index = try #require(Requests.index(ofDeviceToken: record.deviceToken))
                #expect(index < Self.streamed, "nothing of the stream is sent")
            }
            #expect(try stage.client.count(stage.deadLetterQueue) == 0)
        }

        @Test(
            "With Khepri, requests are sent and retried, and survive a broker restart",
            .enabled(if: !TestEnvironment.brokerVersion.hasPrefix("3."), "RabbitMQ 4 only"))
        func khepri() throws {
            let broker = try PrivateBroker()
            try broker.control("enable_feature_flag", "--experimental", "khepri_db")
            let stage = try Stage(
                broker: broker.url, script: "attempt 1, every 10 requests: 500 InternalServerError\ntoken *: delay 2ms")
            let worker = try stage.start()
            try stage.client.publish(
                (0..<Self.count).map {
                    stage.requests.message($0, to: $0.isMultiple(of: 2) ? stage.quorumQueue : stage.classicQueue)
                })
            #expect(try Self.collect(stage).outcomes == ["accepted": Self.count])
            try broker.stop()
            try broker.start()
            try stage.client.waitUntilUsable(stage.quorumQueue)
            try stage.client.publish(
                (Self.count..<2 * Self.count).map { stage.requests.message($0, to: stage.quorumQueue) })
            #expect(try Self.collect(stage).duplicateResults == 0)
            try worker.end()
            for queue in [stage.quorumQueue, stage.classicQueue, stage.deadLetterQueue] {
                #expect(try stage.client.takeAll(queue).isEmpty, "\(queue)")
            }
            let flags = try broker.control("list_feature_flags", "--silent", "name", "state")
            #expect(flags.split(separator: "\n").contains { $0.hasPrefix("khepri_db") && $0.contains("enabled") })
        }
    }
}

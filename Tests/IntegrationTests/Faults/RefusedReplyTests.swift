import AMQP
import Core
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// Producers whose reply queue refuses their results, beside one whose reply queue accepts them.
    @Suite("Reply queues that refuse results")
    struct RefusedReplyTests {
        private static let prefetch = 100
        private static let attack = 0..<300
        private static let healthy = 300..<400
        private func settings(_ stage: Stage) -> Stage.Settings {
            var settings = Stage.Settings(queues: [stage.quorumQueue], prefetch: Self.prefetch)
            settings.more = "results: { routing_key: null }"
            return settings
        }

        /// Publishes the other producer's requests, and waits for all their results, for less time than a refused
        /// result waits.
        private func serveHealthy(_ stage: Stage) throws -> Conservation {
            try stage.client.publish(Self.healthy.map { stage.requests.message($0, to: stage.quorumQueue) })
            var conservation = Conservation(stage.requests, count: Self.healthy.upperBound)
            try stage.client.consume([stage.resultQueue], within: .seconds(20)) { delivery in
                try conservation.addResult(delivery)
                return conservation.responded == Self.healthy.count
            }
            return conservation
        }

        @Test(
            "A full reply queue delays no other producer, does not hold up a drain, and nothing is lost or sent twice")
        func full() throws {
            let stage = try Stage()
            let full = "\(stage.name).full"
            try stage.client.declare(
                full, ["x-max-length": .int32(1), "x-overflow": .string("reject-publish")])
            let worker = try stage.start(settings(stage))
            try stage.client.publish(
                Self.attack.map { index in
                    var message = stage.requests.message(index, to: stage.quorumQueue)
                    message.properties.replyTo = Array(full.utf8)
                    return message
                })
            var conservation = try serveHealthy(stage)
            try worker.end()
            for delivery in try stage.client.takeAll(full) { try conservation.addResult(delivery) }
            for delivery in try stage.client.takeAll(stage.deadLetterQueue) {
                conservation.addDeadLetter(delivery)
                guard case .text(let result)? = delivery.header("harebell-result") else {
                    Issue.record("a dead letter without its result")
                    break
                }
                #expect(String(decoding: result, as: UTF8.self).contains("\"outcome\":\"accepted\""))
            }
            for delivery in try stage.client.takeAll(stage.quorumQueue) { conservation.addQueued(delivery) }
            #expect(conservation.lost.isEmpty)
            #expect(conservation.queued.isEmpty)
            #expect(conservation.deadLetters.count >= Self.attack.count - 2)
            #expect(stage.simulator.ledger.statistics.accepted == Self.healthy.upperBound, "nothing is sent twice")
            #expect(worker.text(.errors).contains("a result cannot reach its destination"), "\(worker.report)")
            try stage.client.ask(.deleteQueue(full))
            try stage.removeQueues()
        }

        @Test("Forged direct replies, a new name each time, do not delay results to queues, and nothing is lost")
        func forged() throws {
            let stage = try Stage()
            let worker = try stage.start(settings(stage))
            // RabbitMQ 4 drops the replies to well-formed names.
            let dropped = Set(TestEnvironment.closesOverDirectReplies ? [] : Self.attack.filter { $0 % 2 == 1 })
            // The broker refuses the bare name from a producer that consumes no direct replies.
            let malformed = DirectReplies.malformed.filter { $0 != "amq.rabbitmq.reply-to" }
            try stage.client.publish(
                Self.attack.map { index in
                    var message = stage.requests.message(index, to: stage.quorumQueue)
                    let name =
                        index % 2 == 0
                        ? malformed[index / 2 % malformed.count]
                        : DirectReplies.name(node: "reply@\(index)")
                    message.properties.replyTo = Array(name.utf8)
                    return message
                })
            var conservation = try serveHealthy(stage)
            try eventually("the end of every forged reply; \(worker.report)", within: .seconds(60)) {
                try stage.client.count(stage.deadLetterQueue) == Self.attack.count - dropped.count ? true : nil
            }
            try worker.end()
            for delivery in try stage.client.takeAll(stage.deadLetterQueue) { conservation.addDeadLetter(delivery) }
            #expect(Set(conservation.lost) == dropped)
            #expect(conservation.duplicateResults == 0)
            #expect(stage.simulator.ledger.statistics.accepted == Self.healthy.upperBound, "nothing is sent twice")
            #expect(!worker.text(.errors).contains("the publishing connection is lost"), "\(worker.report)")
            try stage.removeQueues()
        }
    }
}

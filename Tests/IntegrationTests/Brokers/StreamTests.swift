import AMQP
import Core
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// Source: rabbitmq.com/docs/streams.
    @Suite("Streams")
    struct StreamTests {
        private static let count = 200

        @Test("A stream ends the worker with 78 before any of its messages is sent, and other queues lose nothing")
        func stream() throws {
            let stage = try Stage()
            let stream = "\(stage.name).stream"
            try stage.client.declare(stream, ["x-queue-type": .string("stream"), "x-max-age": .string("1h")])
            let worker = try stage.start(Stage.Settings(queues: [stage.quorumQueue, stream], workers: 2))
            try stage.client.publish((0..<Self.count).map { stage.requests.message($0, to: stage.quorumQueue) })
            try stage.client.publish(
                (Self.count..<2 * Self.count).map { stage.requests.message($0, to: stream) })
            #expect(try worker.waitForExit(within: .seconds(60)) == .exited(78), "\(worker.report)")
            #expect(worker.text(.errors).contains("queue \(stream) is a stream"), "\(worker.report)")

            var conservation = Conservation(stage.requests, count: Self.count)
            for delivery in try stage.client.takeAll(stage.resultQueue) { try conservation.addResult(delivery) }
            try stage.client.waitUntilLeft(stage.quorumQueue)
            for delivery in try stage.client.takeAll(stage.quorumQueue) { conservation.addQueued(delivery) }
            #expect(conservation.lost.isEmpty && conservation.duplicateResults == 0)
            #expect(conservation.responded <= Self.count)
            for record in stage.simulator.ledger.records {
                let index = try #require(Requests.index(ofDeviceToken: record.deviceToken))
                #expect(index < Self.count, "nothing of the stream is sent")
            }
            #expect(try stage.client.count(stage.deadLetterQueue) == 0)
            try stage.client.ask(.deleteQueue(stream))
            try stage.removeQueues()
        }

        @Test("A forged x-stream-offset has no effect: each request has one result and is sent once")
        func forged() throws {
            let stage = try Stage()
            let worker = try stage.start()
            let forged: FieldTable = ["x-stream-offset": .int64(7)]
            try stage.client.publish(
                (0..<Self.count).map { index in
                    var message = stage.requests.message(
                        index, to: index.isMultiple(of: 2) ? stage.quorumQueue : stage.classicQueue)
                    if index % 10 < 4 { message.properties.headers = forged }
                    return message
                })
            var conservation = Conservation(stage.requests, count: Self.count)
            try stage.client.consume([stage.resultQueue]) { delivery in
                try conservation.addResult(delivery)
                return conservation.responded == Self.count
            }
            try worker.end()
            #expect(conservation.outcomes == ["accepted": Self.count])
            #expect(conservation.duplicateResults == 0)
            let pushes = conservation.pushes(stage.simulator.ledger)
            #expect(pushes.duplicates == 0 && pushes.repeated == 0 && pushes.contradictions == 0)
            #expect(!worker.text(.errors).contains("connection is lost"), "\(worker.report)")
            for queue in [stage.quorumQueue, stage.classicQueue, stage.deadLetterQueue] {
                try stage.client.waitUntilLeft(queue)
                #expect(try stage.client.takeAll(queue).isEmpty, "\(queue)")
            }
            try stage.removeQueues()
        }
    }
}

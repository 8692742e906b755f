import AMQP
import Core
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// With two seconds of hold time, and retry queues of one second and two.
    @Suite("Hold time in the broker")
    struct HoldTests {
        private static let count = 100

        /// The outcomes of all results, once each request has one.
        private static func outcomes(_ stage: Stage) throws -> [String: Int] {
            var conservation = Conservation(stage.requests, count: count)
            try stage.client.consume([stage.resultQueue]) { delivery in
                try conservation.addResult(delivery)
                return conservation.responded == count
            }
            #expect(conservation.duplicateResults == 0)
            return conservation.outcomes
        }

        @Test("While APNs is unreachable the queue has no consumer and all messages, and afterwards all are sent")
        func unreachable() throws {
            let stage = try Stage(script: "")
            let relay = try FaultRelay(to: stage.simulator.port)
            var settings = Stage.Settings(prefetch: 40, more: "hold_seconds: 2")
            settings.apnsPort = relay.port
            let worker = try stage.start(settings)
            relay.refuse()
            relay.reset()
            // Both are complete once the thread has ended.
            relay.stop()
            try stage.client.publish((0..<Self.count).map { stage.requests.message($0, to: stage.quorumQueue) })
            try stage.client.waitUntilLeft(stage.quorumQueue, by: worker, messages: Self.count)
            let back = try FaultRelay(to: stage.simulator.port, listen: relay.port)
            #expect(try Self.outcomes(stage) == ["accepted": Self.count])
            try worker.end()
            back.stop()
            #expect(stage.simulator.ledger.statistics.accepted == Self.count)
            // The first message was delivered to a consumer with a prefetch of one.
            let requeued = try FaultRun.total("requeued", of: worker)
            #expect((1...settings.prefetch + 1).contains(requeued))
            try stage.removeQueues()
        }
    }
}

import AMQP
import Core
import Glibc
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// With two seconds of hold time, and retry queues of one second and two.
    @Suite("Hold time in the broker")
    struct HoldTests {
        private static let count = 100

        private static func settings() -> Stage.Settings {
            var settings = Stage.Settings()
            settings.more = "hold_seconds: 2"
            settings.prefetch = 40
            return settings
        }

        private static func publish(_ stage: Stage, _ range: Range<Int>, topic: String = Requests.topic) throws {
            try stage.client.publish(
                range.map { stage.requests.message($0, to: stage.quorumQueue, body: Requests.body($0, topic: topic)) })
        }

        /// The outcomes of all results, once each request has one.
        private static func outcomes(_ stage: Stage, count: Int = count) throws -> [String: Int] {
            var conservation = Conservation(stage.requests, count: count)
            try stage.client.consume([stage.resultQueue]) { delivery in
                try conservation.addResult(delivery)
                return conservation.responded == count
            }
            #expect(conservation.duplicateResults == 0)
            return conservation.outcomes
        }

        private static func end(_ worker: ChildProcess) throws {
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit(within: .seconds(60)) == .exited(0), "\(worker.report)")
        }

        @Test("While APNs is unreachable the queue has no consumer and all messages, and afterwards all are sent")
        func unreachable() throws {
            let stage = try Stage(script: "")
            let relay = try FaultRelay(to: stage.simulator.port)
            var settings = Self.settings()
            settings.apnsPort = relay.port
            let worker = try stage.start(settings)
            relay.refuse()
            relay.reset()
            // Both are complete once the thread has ended.
            relay.stop()
            try Self.publish(stage, 0..<Self.count)
            try stage.client.waitUntilLeft(stage.quorumQueue, by: worker, messages: Self.count)
            let back = try FaultRelay(to: stage.simulator.port, listen: relay.port)
            #expect(try Self.outcomes(stage) == ["accepted": Self.count])
            try Self.end(worker)
            back.stop()
            #expect(stage.simulator.ledger.statistics.accepted == Self.count)
            // The first message was delivered to a consumer with a prefetch of one.
            let requeued = try FaultRun.total("requeued", of: worker)
            #expect((1...settings.prefetch + 1).contains(requeued))
            try stage.removeQueues()
        }

        @Test("While every app is refused only probes are taken, and with a fixed key all is sent")
        func refused() throws {
            let stage = try Stage(script: "")
            var settings = Self.settings()
            settings.keyFile = stage.otherKeyFile
            let worker = try stage.start(settings)
            try Self.publish(stage, 0..<Self.count)
            try worker.waitForLine(.errors, within: .seconds(30)) { $0.contains("no app can send") }
            #expect(stage.simulator.ledger.statistics.accepted == 0)
            try stage.write(Self.settings())
            worker.signal(SIGHUP)
            #expect(try Self.outcomes(stage) == ["accepted": Self.count])
            try Self.end(worker)
            #expect(try stage.client.takeAll(stage.deadLetterQueue).isEmpty)
            try stage.removeQueues()
        }

        @Test("Requests of one refused app are parked without an attempt, and the other app's requests pass them")
        func oneRefused() throws {
            let stage = try Stage(script: "topic com.example.refused: 403 TopicMismatch")
            var settings = Self.settings()
            settings.moreApps = stage.app("com.example.refused")
            let worker = try stage.start(settings)
            // More than the prefetch.
            try Self.publish(stage, Self.count..<(Self.count + 60), topic: "com.example.refused")
            try Self.publish(stage, 0..<Self.count)
            #expect(try Self.outcomes(stage) == ["accepted": Self.count])
            #expect(!worker.text(.errors).contains("no app can send"))
            try Self.end(worker)
            // Parked messages return within seconds, and stay in the queue without a consumer.
            try eventually("60 messages in the queue", within: .seconds(60)) {
                let response = try stage.client.ask(.inspectQueue(stage.quorumQueue))
                return if case .declared(_, 60, _) = response { true } else { nil as Bool? }
            }
            let left = try stage.client.takeAll(stage.quorumQueue)
            #expect(left.count == 60)
            #expect(left.allSatisfy { [nil, .integer(0)].contains($0.header("harebell-attempts")) })
            #expect(try stage.client.takeAll(stage.deadLetterQueue).isEmpty)
            try stage.removeQueues()
        }
    }
}

import AMQP
import Core
import Glibc
import Simulator
import System
import TestSupport
import Testing

extension ProcessTests {
    /// With a rate limit of 50 a second for the quorum queue, and none for the classic one.
    @Suite("The rate limit of a queue in the broker")
    struct QueuePaceTests {
        private static let flood = 200

        @Test("200 requests take 3.8 seconds, and the latency of another queue does not change")
        func pace() throws {
            let stage = try Stage(script: "")
            var settings = Stage.Settings()
            settings.pace = "{ per_second: 50, burst: 10 }"
            let worker = try stage.start(settings)
            // The first use of connections and code is slow.
            _ = try Self.latencies(stage, 1000..<1010)
            let alone = try Self.latencies(stage, 1010..<1040)
            try stage.client.publish((0..<Self.flood).map { stage.requests.message($0, to: stage.quorumQueue) })
            let beside = try Self.latencies(stage, 2000..<2030)
            let times = try eventually("the flood", within: .seconds(30)) {
                let times = Self.times(stage, 0..<Self.flood)
                return times.count == Self.flood ? times : nil
            }
            let took = (times[Self.flood - 1] - times[0]).inSeconds
            print("pace: \(took) s; median latency of the other queue \(alone) ms alone, \(beside) ms beside it")
            #expect((3.42...4.18).contains(took), "\(took) s")
            #expect(beside < alone + 20, "\(alone) ms alone, \(beside) ms beside the flood")
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit(within: .seconds(20)) == .exited(0), "\(worker.report)")
            try stage.removeQueues()
        }

        /// When APNs received the requests with these numbers, in order of arrival.
        private static func times(_ stage: Stage, _ numbers: Range<Int>) -> [Instant] {
            stage.simulator.ledger.records.filter { record in
                Requests.index(ofDeviceToken: record.deviceToken).map(numbers.contains) ?? false
            }.map(\.receivedAt).sorted()
        }

        /// The median time from just before a request for the classic queue is published until APNs receives it, in
        /// milliseconds. Requests are sent one after the other.
        private static func latencies(_ stage: Stage, _ numbers: Range<Int>) throws -> Double {
            let all = try numbers.map { number in
                let start = SystemClock.now().instant
                try stage.client.publish([stage.requests.message(number, to: stage.classicQueue)])
                let end = try eventually("request \(number)", within: .seconds(30)) {
                    times(stage, number..<number + 1).first
                }
                return (end - start).inSeconds * 1000
            }
            return all.sorted()[all.count / 2]
        }
    }
}

import AMQP
import Core
import Glibc
import Simulator
import System
import TestSupport
import Testing

extension ProcessTests {
    /// With retry queues of one second and two.
    @Suite("not-before in the broker")
    struct NotBeforeTests {
        private static let count = 20

        @Test("Requests of both queue types wait through a restart of the worker, and no attempt is counted")
        func waits() throws {
            let stage = try Stage(script: "")
            let worker = try stage.start()
            // Later than the restart below, which takes about a second.
            let due = SystemClock.now().wall.seconds + 6
            let body = { (index: Int) in #"{"not-before":\#(due),"# + Requests.body(index).dropFirst() }
            for queue in [stage.quorumQueue, stage.classicQueue] {
                let numbers = queue == stage.quorumQueue ? 0..<Self.count / 2 : Self.count / 2..<Self.count
                try stage.client.publish(numbers.map { stage.requests.message($0, to: queue, body: body($0)) })
            }
            try eventually("requests in the retry queues", within: .seconds(5)) {
                try stage.retryQueues(of: stage.quorumQueue).contains { try stage.client.count($0) > 0 } ? true : nil
            }
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit(within: .seconds(20)) == .exited(0), "\(worker.report)")
            #expect(stage.simulator.ledger.statistics.accepted == 0)
            let next = try stage.start()
            // On a slow machine the worker may start after the requests are due.
            let earliest = max(due * 1000, SystemClock.now().wall.milliseconds)
            var conservation = Conservation(stage.requests, count: Self.count)
            var attempts: Set<Int> = []
            try stage.client.consume([stage.resultQueue]) { delivery in
                try conservation.addResult(delivery)
                attempts.insert(try Conservation.Result(delivery).attempts)
                return conservation.responded == Self.count
            }
            let late = SystemClock.now().wall.milliseconds - earliest
            // Waits in the worker are exact; a retry queue of RabbitMQ may end some milliseconds late.
            #expect((0..<1500).contains(late), "\(late) ms after their time")
            #expect(conservation.outcomes == ["accepted": Self.count])
            #expect(attempts == [1])
            #expect(conservation.duplicateResults == 0, "\(conservation.results)\n\(worker.report)\n\(next.report)")
            next.signal(SIGTERM)
            #expect(try next.waitForExit(within: .seconds(20)) == .exited(0), "\(next.report)")
            try stage.removeQueues()
        }
    }
}

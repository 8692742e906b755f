import Core
import Foundation
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// 6,000 requests at 2,000 a second, half of them through a quorum queue and half through a classic one, and a fault
    /// in the middle. Afterwards each of them is a result, a dead letter, or still queued.
    @Suite("Faults under load")
    struct FaultTests {
        /// What one worker holds at most, of both queues.
        private static let held = 2 * Stage.prefetch

        @Test("without a fault each request is sent and answered exactly once")
        func none() throws {
            let run = try FaultRun(Stage())
            let end = try run.finish()
            run.check(end, "no fault")
            #expect(end.outcomes == ["accepted": FaultRun.count])
            try run.stage.removeQueues()
        }

        /// Nobody but the dead worker knew what it had sent: that is what it held.
        @Test("a killed worker loses nothing, and repeats at most what it held")
        func killedWorker() throws {
            let run = try FaultRun(Stage())
            for share in [0.2, 0.5] {
                try run.waitUntilAccepted(share)
                try run.killWorker()
            }
            let end = try run.finish()
            run.check(
                end, "SIGKILL of the worker, twice",
                .init(duplicatePushes: 2 * Self.held, duplicateResults: 2 * Self.held))
            try run.stage.removeQueues()
        }

        /// The worker knows what it has sent, and recognises what the broker delivers again.
        @Test("a restarted broker loses nothing, and nothing is sent twice")
        func restartedBroker() throws {
            let broker = try PrivateBroker()
            let run = try FaultRun(Stage(broker: broker.url))
            try run.waitUntilAccepted(0.3)
            try broker.stop()
            try broker.start()
            let end = try run.finish()
            run.check(end, "restart of the broker", .init(duplicateResults: Self.held))
        }

        @Test("a killed broker loses nothing, and nothing is sent twice")
        func killedBroker() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url)
            for queue in stage.quorumQueues { try broker.waitUntilOnDisk(quorumQueue: queue) }
            let run = try FaultRun(stage)
            try run.waitUntilAccepted(0.3)
            try broker.kill()
            try broker.start()
            let end = try run.finish()
            run.check(end, "SIGKILL of the broker", .init(duplicateResults: Self.held))
        }

        /// Whether a request that was open on a cut connection was worked on is unknown: it is sent again.
        @Test("cut connections to APNs lose nothing, and repeat at most what was open on them")
        func cutConnections() throws {
            let run = try FaultRun(Stage())
            for share in [0.1, 0.3, 0.5, 0.7] {
                try run.waitUntilAccepted(share)
                run.stage.simulator.disturb([.cut])
            }
            let end = try run.finish()
            #expect(run.stage.simulator.ledger.statistics.cuts >= 4)
            run.check(
                end, "all APNs connections cut, four times", .init(duplicatePushes: try run.total("uncertain")))
            try run.stage.removeQueues()
        }

        /// Streams above the last-stream-id were certainly not worked on.
        @Test("GOAWAY with last-stream-id 0 or in two steps repeats nothing")
        func goaway() throws {
            // The script's own leave at least the request out that brings them.
            let run = try FaultRun(
                Stage(script: "token *: delay 2ms..20ms\nevery 1500 requests: goaway Shutdown last=before"))
            var none = ScriptGoaway(reason: "Shutdown")
            none.last = .none
            var twoSteps = ScriptGoaway()
            twoSteps.announcedBy = .milliseconds(50)
            for (share, goaway) in [(0.1, none), (0.3, twoSteps), (0.5, none), (0.7, twoSteps)] {
                try run.waitUntilAccepted(share)
                run.stage.simulator.disturb([.goaway(goaway)])
            }
            let end = try run.finish()
            // A connection that drains after the first step need not live to see the second one.
            let notices = run.worker.text(.errors).split(separator: "\n").count { $0.contains("APNs sent GOAWAY") }
            #expect(notices >= 4, "\(run.worker.report)")
            #expect(run.stage.simulator.ledger.statistics.ceded > 0)
            run.check(end, "GOAWAY, four times")
            #expect(try run.total("uncertain") == 0)
            #expect(end.outcomes == ["accepted": FaultRun.count])
            try run.stage.removeQueues()
        }

        @Test("a memory alarm of the broker holds results back, and nothing is lost or repeated")
        func memoryAlarm() throws {
            let broker = try PrivateBroker()
            let run = try FaultRun(Stage(broker: broker.url))
            try run.waitUntilAccepted(0.2)
            try Self.alarm(broker, run)
            let end = try run.finish()
            run.check(end, "memory alarm for two seconds")
            #expect(end.outcomes == ["accepted": FaultRun.count])
        }

        @Test("all of them in a row")
        func everything() throws {
            let broker = try PrivateBroker()
            let run = try FaultRun(Stage(broker: broker.url))
            var goaway = ScriptGoaway(reason: "Shutdown")
            goaway.last = .none
            try run.waitUntilAccepted(0.1)
            run.stage.simulator.disturb([.cut])
            try run.waitUntilAccepted(0.2)
            try broker.stop()
            try broker.start()
            try run.waitUntilAccepted(0.35)
            try run.killWorker()
            try run.waitUntilAccepted(0.5)
            run.stage.simulator.disturb([.goaway(goaway)])
            try Self.alarm(broker, run)
            try run.waitUntilAccepted(0.65)
            try broker.kill()
            try broker.start()
            let end = try run.finish()
            // One cut and one dead worker, which may have held all it can: its results waited for the broker, too. The
            // rest costs no push, and each broken connection the results that were on it.
            run.check(
                end, "all faults in a row", .init(duplicatePushes: 2 * Self.held, duplicateResults: 3 * Self.held))
        }

        /// Two seconds without publishes, counted from when the worker felt it.
        ///
        /// The worker is frozen while the alarm is raised, which may take longer than the load: then it has results to
        /// publish afterwards for certain.
        private static func alarm(_ broker: PrivateBroker, _ run: FaultRun) throws {
            run.worker.signal(SIGSTOP)
            try broker.control("set_vm_memory_high_watermark", "0.00001")
            run.worker.signal(SIGCONT)
            try run.worker.waitForLine(.errors, within: .seconds(60)) { $0.contains("the broker blocks publishing") }
            Thread.sleep(forTimeInterval: 2)
            try broker.control("set_vm_memory_high_watermark", "0.3")
        }
    }
}

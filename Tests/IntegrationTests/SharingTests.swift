import Simulator
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Sharing")
    struct SharingTests {
        @Test("two processes with two workers each share the queues: all take part, and nothing comes twice")
        func twoByTwo() throws {
            var settings = Stage.Settings()
            settings.workers = 2
            settings.prefetch = 50
            let run = try FaultRun(Stage(), settings, processes: 2)
            let end = try run.finish()
            run.check(end, "two processes with two workers", duplicatePushes: 0, duplicateResults: 0)
            #expect(end.outcomes == ["accepted": FaultRun.count])
            // One connection to APNs for each worker.
            #expect(run.stage.simulator.ledger.statistics.connections >= 4)
            let deliveries = try run.totals("deliveries")
            #expect(deliveries.reduce(0, +) == FaultRun.count)
            #expect(deliveries.allSatisfy { $0 > 0 }, "\(deliveries)")
            try run.stage.removeQueues()
        }

        @Test("when one of two processes is killed, the other one takes over what it held")
        func oneDies() throws {
            let run = try FaultRun(Stage(), processes: 2)
            try run.waitUntilAccepted(0.3)
            try run.killWorker()
            let end = try run.finish()
            run.check(
                end, "SIGKILL of one of two workers", duplicatePushes: 2 * Stage.prefetch,
                duplicateResults: 2 * Stage.prefetch)
            try run.stage.removeQueues()
        }
    }
}

import Glibc
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
            let tokens = Set(run.stage.simulator.ledger.records.map(\.fields.authorization))
            #expect(tokens.count == 2, "the workers of a process share one provider token")
            try run.stage.removeQueues()
        }

        @Test("each worker has two connections that bear its name, with a channel per queue and one to publish")
        func brokerConnections() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url)
            var settings = Stage.Settings()
            settings.workers = 2
            let queues = [stage.quorumQueue, stage.classicQueue]
            settings.queues = queues
            let worker = try stage.start(settings)
            let lines = try broker.control("-q", "list_connections", "channels", "client_properties")
                .split(separator: "\n").filter { $0.contains("harebell consume ") || $0.contains("harebell publish ") }
            #expect(lines.count == 4, "\(lines)")
            for index in 0..<settings.workers {
                for (role, channels) in [("consume", queues.count), ("publish", 1)] {
                    let own = lines.filter {
                        $0.contains("harebell \(role) ") && $0.contains("/\(worker.processID)-\(index)/")
                    }
                    #expect(own.count == 1 && own[0].hasPrefix("\(channels)\t"), "\(role) \(index): \(lines)")
                }
            }
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit() == .exited(0), "\(worker.report)")
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

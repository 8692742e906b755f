import Core
import Glibc
import Simulator
import System
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Sharing")
    struct SharingTests {
        @Test("two processes with two workers each share the queues: all take part, and nothing is sent twice")
        func twoByTwo() throws {
            var settings = Stage.Settings()
            settings.workers = 2
            settings.prefetch = 50
            let run = try FaultRun(Stage(), [settings, settings])
            let end = try run.finish()
            run.check(end, "two processes with two workers")
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

        @Test("each worker has two named connections, with a channel per queue, one to count, and one to publish")
        func brokerConnections() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url)
            var settings = Stage.Settings()
            settings.workers = 2
            let queues = [stage.quorumQueue, stage.classicQueue]
            settings.queues = queues
            let worker = try stage.start(settings)
            let lines = try broker.control("-q", "list_connections", "channels", "client_properties")
                .split(separator: "\n")
                .filter { $0.contains("harebell consuming ") || $0.contains("harebell publishing ") }
            #expect(lines.count == 4, "\(lines)")
            for index in 0..<settings.workers {
                // The channel that counts messages opens with the first count.
                for (role, channels) in [("consuming", queues.count...queues.count + 1), ("publishing", 1...1)] {
                    let own = lines.filter {
                        $0.contains("harebell \(role) ") && $0.contains("/\(worker.processID)-\(index)/")
                    }
                    let opened = own.first?.prefix { $0 != "\t" }
                    #expect(
                        own.count == 1 && channels.contains(opened.flatMap { Int($0) } ?? 0),
                        "\(role) \(index): \(lines)")
                }
            }
            try worker.end()
        }

        /// Three processes, of which the last one has two worker threads. Each worker has one connection to APNs, which
        /// identifies it, and only its prefetch limits it: 20 of each queue for 100 ms each are 400 a second.
        private static func fourWorkers(_ stage: Stage, rate: Int, count: Int) throws -> FaultRun {
            var settings = Stage.Settings()
            settings.prefetch = 20
            settings.more = "apns: { connections: { max: 1 } }"
            var twice = settings
            twice.workers = 2
            return try FaultRun(stage, [settings, settings, twice], FaultRun.Load(count: count, rate: rate))
        }

        @Test(
            "workers with the same prefetch share their queues within 20 %, with and without a backlog",
            arguments: [800, 4000])
        func evenShares(rate: Int) throws {
            let run = try Self.fourWorkers(Stage(script: "token *: delay 100ms"), rate: rate, count: 4000)
            let end = try run.finish()
            run.check(end, "four workers at \(rate) requests a second")
            var shares: [Int: Int] = [:]
            for record in run.stage.simulator.ledger.records { shares[record.connection, default: 0] += 1 }
            let deliveries = try run.totals("deliveries")
            print("sharing: \(rate) a second: workers \(shares.values.sorted()), processes \(deliveries)")
            #expect(shares.count == 4)
            let (least, most) = (try #require(shares.values.min()), try #require(shares.values.max()))
            #expect(most * 5 <= least * 6, "\(shares)")
            // The process with two workers has two shares.
            let ratio = Double(deliveries[2]) / Double(deliveries[0] + deliveries[1])
            #expect((0.8...1.2).contains(ratio), "\(deliveries)")
            try run.stage.removeQueues()
        }

        @Test("when one of several is killed, the others get its unsettled requests within seconds")
        func oneDies() throws {
            let run = try Self.fourWorkers(Stage(script: "token *: delay 100ms"), rate: 1000, count: 4000)
            try run.waitUntilAccepted(0.3)
            let killed = SystemClock.now().instant
            try run.killWorker(isReplaced: false)
            let end = try run.finish()
            // At most the prefetch of two queues.
            run.check(end, "SIGKILL of one of four workers", .init(duplicatePushes: 40, duplicateResults: 40))
            let records = run.stage.simulator.ledger.records
            // Only the killed worker's requests ended without a response.
            let orphans = Set(records.filter { $0.ending == .lost }.map(\.apnsID))
            #expect(!orphans.isEmpty)
            let again = records.filter { orphans.contains($0.apnsID) && $0.ending != .lost }.map(\.receivedAt)
            #expect(again.count == orphans.count)
            let longest = try #require(again.max()) - killed
            print("sharing: the \(orphans.count) requests of a dead worker were sent again within \(longest)")
            #expect(longest < .seconds(5))
            try run.stage.removeQueues()
        }

        @Test("a rolling restart under load loses nothing and repeats nothing")
        func rollingRestart() throws {
            let run = try Self.fourWorkers(Stage(script: "token *: delay 100ms"), rate: 400, count: 4000)
            for (place, share) in [0.1, 0.35, 0.6].enumerated() {
                try run.waitUntilAccepted(share)
                try run.replaceWorker(place)
            }
            let end = try run.finish()
            run.check(end, "rolling restart of three processes")
            #expect(end.outcomes == ["accepted": 4000])
            // The new processes take part.
            #expect(try run.totals("deliveries").allSatisfy { $0 > 0 })
            try run.stage.removeQueues()
        }
    }
}

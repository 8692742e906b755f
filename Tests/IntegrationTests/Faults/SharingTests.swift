import Simulator
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Sharing")
    struct SharingTests {
        @Test("two processes with two workers each share the queues within 20 %, and nothing is sent twice")
        func twoByTwo() throws {
            let settings = Stage.Settings(workers: 2, prefetch: 50)
            let run = try FaultRun(Stage(), [settings, settings])
            let end = try run.finish()
            run.check(end, "two processes with two workers")
            #expect(end.outcomes == ["accepted": FaultRun.count])
            // One connection to APNs for each worker.
            #expect(run.stage.simulator.ledger.statistics.connections >= 4)
            let deliveries = try run.totals("deliveries")
            #expect(deliveries.reduce(0, +) == FaultRun.count)
            let (least, most) = (try #require(deliveries.min()), try #require(deliveries.max()))
            #expect(most * 5 <= least * 6, "\(deliveries)")
            let tokens = Set(run.stage.simulator.ledger.records.map(\.fields.authorization))
            #expect(tokens.count == 2, "the workers of a process share one provider token")
        }

        @Test("each worker has two named connections, with a channel per queue, one to count, and one to publish")
        func brokerConnections() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url)
            let queues = [stage.quorumQueue, stage.classicQueue]
            let settings = Stage.Settings(queues: queues, workers: 2)
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
    }
}

import Glibc
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Drain")
    struct DrainTests {
        /// Sent to a device token that gets no response.
        private static let silent = 10

        @Test("a second SIGTERM stops at once, and open requests are requeued")
        func secondSignal() throws {
            let stage = try Stage(script: "")
            let worker = try stage.start(Stage.Settings(drainDeadline: 600))
            // Until APNs has accepted the provider token there is one stream, which the first silence would block.
            try stage.exchange(Self.silent)
            try stage.client.publish(
                (0..<Self.silent).map {
                    stage.requests.message($0, to: stage.quorumQueue, body: Requests.body($0, beginning: "deaf"))
                })
            try eventually("the requests at APNs; \(worker.report)", within: .seconds(30)) {
                stage.simulator.ledger.statistics.silences == Self.silent ? true : nil
            }
            worker.signal(SIGTERM)
            try worker.waitForLine(.errors) { $0.contains(" notice draining ") }
            #expect(kill(worker.processID, 0) == 0)
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit(within: .seconds(10)) == .exited(70), "\(worker.report)")
            #expect(worker.text(.errors).contains("stopping at once"))
            try eventually("the requests in their queue", within: .seconds(20)) {
                try stage.client.count(stage.quorumQueue) == Self.silent ? true : nil
            }
        }

        @Test("an idle worker ends at once, also by SIGINT")
        func idle() throws {
            let stage = try Stage(script: "")
            for signal in [SIGTERM, SIGINT] {
                let worker = try stage.start()
                worker.signal(signal)
                #expect(try worker.waitForExit(within: .seconds(10)) == .exited(0), "\(worker.report)")
            }
        }
    }
}

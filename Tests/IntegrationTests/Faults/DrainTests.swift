import Core
import Glibc
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Drain")
    struct DrainTests {
        /// Sent to a device token that gets no response.
        private static let silent = 10

        /// A worker that holds requests which APNs does not answer.
        private static func silentWorker(_ stage: Stage) throws -> ChildProcess {
            var settings = Stage.Settings()
            settings.drainDeadline = 600
            let worker = try stage.start(settings)
            // Until APNs has accepted the provider token there is one stream, which the first silence would block.
            try stage.client.publish([stage.requests.message(silent, to: stage.quorumQueue)])
            try stage.client.consume([stage.resultQueue]) { try Conservation.Result($0).outcome == "accepted" }
            try stage.client.publish(
                (0..<silent).map {
                    stage.requests.message($0, to: stage.quorumQueue, body: Requests.body($0, beginning: "deaf"))
                })
            try eventually("the requests at APNs; \(worker.report)", within: .seconds(30)) {
                stage.simulator.ledger.statistics.silences == silent ? true : nil
            }
            return worker
        }

        @Test("a second SIGTERM stops at once, and open requests are requeued")
        func secondSignal() throws {
            let stage = try Stage(script: "")
            let worker = try Self.silentWorker(stage)
            worker.signal(SIGTERM)
            try worker.waitForLine(.errors) { $0.contains(" notice draining ") }
            #expect(kill(worker.processID, 0) == 0)
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit(within: .seconds(10)) == .exited(70), "\(worker.report)")
            #expect(worker.text(.errors).contains("stopping at once"))
            let returned = try eventually("the requests in their queue", within: .seconds(20)) {
                let count = try stage.client.count(stage.quorumQueue)
                return count == Self.silent ? count : nil
            }
            #expect(returned == Self.silent)
            try stage.removeQueues()
        }

        @Test("an idle worker ends at once, also by SIGINT")
        func idle() throws {
            let stage = try Stage(script: "")
            for signal in [SIGTERM, SIGINT] {
                let worker = try stage.start()
                worker.signal(signal)
                #expect(try worker.waitForExit(within: .seconds(10)) == .exited(0), "\(worker.report)")
            }
            try stage.removeQueues()
        }
    }
}

import Core
import Simulator
import System
import TestSupport
import Testing

extension ProcessTests {
    @Suite("A broker that returns")
    struct BrokerRestartTests {
        /// Polls a queue on a separate thread.
        private final class Probe: Sendable {
            private final class Answer: Sendable {
                let result = Guarded<Result<Instant, TestSupportError>?>(nil)
            }

            private let response = Answer()
            private let thread: Thread

            init(_ url: String, _ queue: String) throws {
                let response = response
                thread = try Thread.start(name: "probe", stackSize: 1 << 20) {
                    let result: Result<Instant, TestSupportError>
                    do {
                        let backoff = Backoff(base: .milliseconds(10), limit: .milliseconds(10))
                        result = .success(try BrokerClient(url, backoff: backoff).waitUntilUsable(queue))
                    } catch {
                        result = .failure(TestSupportError("\(error)"))
                    }
                    response.result.withLock { $0 = result }
                }
            }

            /// The time of the queue's first reply. Call exactly once.
            func finish() throws -> Instant {
                thread.join()
                guard let result = response.result.withLock({ $0 }) else {
                    throw TestSupportError("the probe said nothing")
                }
                return try result.get()
            }
        }

        @Test("under load, new requests are sent less than five seconds after their queue replies")
        func underLoad() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url, script: "token *: delay 100ms")
            for queue in stage.quorumQueues { try broker.waitUntilOnDisk(quorumQueue: queue) }
            // Half as fast as the publisher, so that requests are queued when the broker stops.
            var settings = Stage.Settings()
            settings.prefetch = 50
            let run = try FaultRun(stage, [settings])
            for (share, isKilled) in [(0.1, false), (0.3, true), (0.5, false)] {
                try run.waitUntilAccepted(share)
                if isKilled { try broker.kill() } else { try broker.stop() }
                let probe = try Probe(broker.url, stage.quorumQueue)
                try broker.start()
                let responded = try probe.finish()
                let first = try eventually("a new request; \(run.worker.report)", within: .seconds(60)) {
                    stage.simulator.ledger.records.lazy.map(\.receivedAt).filter { $0 > responded }.min()
                }
                let pause = first - responded
                print("restart: \(isKilled ? "killed" : "stopped") broker: new requests \(pause) after it answered")
                #expect(pause < .seconds(5))
            }
            let end = try run.finish()
            // A killed broker redelivers the messages whose settlement it had not written, as if they were new.
            run.check(
                end, "three restarts of the broker",
                FaultRun.Limits(duplicatePushes: run.load.count, duplicateResults: run.load.count))
        }
    }
}

import TestSupport
import Testing

extension ProcessTests {
    /// Requests that wait for a paused app, on a node with a short `consumer_timeout`. Source:
    /// rabbitmq.com/docs/consumers (delivery acknowledgement timeout).
    @Suite("Consumer timeout")
    struct ConsumerTimeoutTests {
        private static let refused = "com.example.refused"

        /// The node checks the delivery timeout every second instead of every minute.
        private static func broker(timeout: Duration) throws -> PrivateBroker {
            let milliseconds = timeout.components.seconds * 1000
            return try PrivateBroker([
                "advanced.config": """
                [{rabbit, [{consumer_timeout, \(milliseconds)}, {channel_tick_interval, 1000}]}].
                """
            ])
        }

        private static func start(_ stage: Stage, hold: Int) throws -> ChildProcess {
            let worker = try stage.start(
                Stage.Settings(
                    queues: [stage.quorumQueue], moreApps: stage.app(refused), more: "hold_seconds: \(hold)"))
            // The first request shows that an app can send, so the second waits for its own app alone.
            try stage.exchange(0)
            try stage.client.publish([
                stage.requests.message(1, to: stage.quorumQueue, body: Requests.body(1, topic: refused))
            ])
            return worker
        }

        private static func waitUntilParked(_ stage: Stage, _ worker: ChildProcess, within limit: Duration) throws {
            try eventually("a parked request; \(worker.report)", within: limit) {
                for queue in stage.retryQueues(of: stage.quorumQueue) {
                    if try stage.client.count(queue) == 1 { return true }
                }
                return nil as Bool?
            }
        }

        private static func end(_ worker: ChildProcess, _ stage: Stage) throws {
            try worker.end()
            try eventually("the request in its queue", within: .seconds(30)) {
                try stage.client.count(stage.quorumQueue) == 1 ? true : nil
            }
            #expect(try stage.client.count(stage.deadLetterQueue) == 0)
            #expect(try stage.client.count(stage.resultQueue) == 0)
        }

        @Test("With a timeout of a minute and a shorter hold time, a held request is parked before the timeout")
        func parked() throws {
            let broker = try Self.broker(timeout: .seconds(60))
            let stage = try Stage(broker: broker.url, script: "topic \(Self.refused): 403 TopicMismatch")
            let worker = try Self.start(stage, hold: 20)
            try Self.waitUntilParked(stage, worker, within: .seconds(45))
            #expect(worker.errorLines(with: "timed out") == 0, "\(worker.report)")
            try Self.end(worker, stage)
        }

        @Test("Thirty requests that are held beyond the broker's timeout are sent once each")
        func once() throws {
            let broker = try Self.broker(timeout: .seconds(15))
            // Probes follow after 15 and 45 s.
            let script = "topic \(Self.refused), first 2 requests: 403 TopicMismatch"
            let stage = try Stage(broker: broker.url, script: script)
            let worker = try stage.start(Stage.Settings(queues: [stage.quorumQueue], moreApps: stage.app(Self.refused)))
            // The last one follows what is answered while its channel is closed, which is redelivered and settled.
            for numbers in [0..<30, 30..<31] {
                try stage.client.publish(
                    numbers.map { number in
                        stage.requests.message(
                            number, to: stage.quorumQueue, body: Requests.body(number, topic: Self.refused))
                    })
                try stage.collect(numbers, within: .seconds(300), worker: worker)
            }
            try worker.end()
            #expect(stage.simulator.ledger.records.count == 33, "each once, and two refused probes")
            let left = try [stage.quorumQueue, stage.deadLetterQueue].map(stage.client.count)
            #expect(left == [0, 0], "\(worker.report)")
        }

        /// RabbitMQ 4.3 follows the timeout that a consumer sets.
        @Test(
            "A timeout shorter than the hold time closes a channel once, then requests are parked in time",
            .enabled(if: !TestEnvironment.followsConsumerTimeouts))
        func learned() throws {
            let broker = try Self.broker(timeout: .seconds(15))
            let stage = try Stage(broker: broker.url, script: "topic \(Self.refused): 403 TopicMismatch")
            let worker = try Self.start(stage, hold: 300)
            try worker.waitForLine(.errors, within: .seconds(60)) {
                $0.contains("the hold time is reduced")
            }
            // Twice: redelivered from the request queue, and again from the retry queue.
            for _ in 0..<2 {
                try Self.waitUntilParked(stage, worker, within: .seconds(30))
                try eventually("the request back", within: .seconds(30)) {
                    try stage.retryQueues(of: stage.quorumQueue).allSatisfy { try stage.client.count($0) == 0 }
                        ? true : nil
                }
            }
            #expect(worker.errorLines(with: "timed out") == 1, "\(worker.report)")
            try Self.end(worker, stage)
        }
    }
}

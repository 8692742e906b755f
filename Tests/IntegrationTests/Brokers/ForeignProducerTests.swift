import Core
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// Requests that clients of other languages publish, with the snippets of docs/produce.
    @Suite(
        "Requests of foreign clients",
        .enabled(if: TestEnvironment.foreignClientsPython != nil, "\(TestEnvironment.hint): clients from PyPI"))
    struct ForeignProducerTests {
        private static let celery = """
            decoders:
              - name: tasks
                celery: { tasks: [{ name: app.tasks.push, pointer: /kwargs/request, decoder: apns-json }] }
            """

        /// What the test of deploy/test installs, and what the broker's release has.
        private static var clients: [String] {
            ["pika", "aio-pika", "kombu", "php"] + (TestEnvironment.hasNativeAMQP1 ? ["proton"] : [])
        }

        private func publish(_ clients: [String], _ settings: Stage.Settings, to stage: Stage) throws {
            let worker = try stage.start(settings)
            let output = try ForeignClient.run(
                "producers.py", [stage.url, stage.quorumQueue, stage.resultQueue, Requests.topic] + clients)
            let expected = output.split(separator: "\n")
            var results: [String: Conservation.Result] = [:]
            try stage.client.consume([stage.resultQueue]) { delivery in
                let id = try #require(string(delivery.correlationID))
                #expect(results.updateValue(try Conservation.Result(delivery), forKey: id) == nil, "one result each")
                return results.count == expected.count
            }
            for (id, result) in results { #expect(result.outcome == "accepted", "\(id): \(result)") }
            #expect(expected.count { results[String($0)] == nil } == expected.count { $0.contains(" ") }, "\(results)")
            try worker.end()
            #expect(stage.simulator.ledger.statistics.accepted == expected.count)
            #expect(try stage.client.count(stage.deadLetterQueue) == 0)
        }

        @Test("Each client's request is sent, and its result comes to the queue that reply_to names")
        func clients() throws {
            let stage = try Stage()
            try publish(Self.clients, Stage.Settings(queues: [stage.quorumQueue]), to: stage)
        }

        @Test("Celery's tasks are sent, with a delay or an expiration in each of its forms")
        func tasks() throws {
            let stage = try Stage()
            let more = "results: { routing_key: \(stage.resultQueue) }\n\(Self.celery)"
            try publish(
                ["celery"], Stage.Settings(queues: [stage.quorumQueue], decoder: "tasks", more: more), to: stage)
        }
    }
}

import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// Producers that receive their results as direct replies. Source: rabbitmq.com/docs/direct-reply-to.
    @Suite(
        "Requesters of direct replies",
        .enabled(if: TestEnvironment.foreignClientsPython != nil, "\(TestEnvironment.hint): pika"))
    struct DirectRequesterTests {
        private static let count = 50

        private func settings(_ stage: Stage) -> Stage.Settings {
            Stage.Settings(queues: [stage.quorumQueue], more: "results: { routing_key: null }")
        }

        /// Sends requests with an independent client.
        ///
        /// - Returns: its replies, if it waits for them.
        private func request(_ stage: Stage, _ mode: String) throws -> [Substring] {
            let folder = try TemporaryDirectory()
            let bodies = (0..<Self.count).map { Requests.body($0) }.joined(separator: "\n")
            let arguments = [
                try #require(TestEnvironment.broker), stage.quorumQueue, try folder.write(bodies, to: "bodies"), mode,
            ]
            return try ForeignClient.run("pika_requester.py", arguments).split(separator: "\n")
        }

        @Test("Each requester gets exactly one reply to each request")
        func connected() throws {
            let stage = try Stage()
            let worker = try stage.start(settings(stage))
            let replies = try request(stage, "wait")
            #expect(replies.count == Self.count)
            #expect(replies.allSatisfy { $0.contains("\"outcome\":\"accepted\"") })
            try worker.end()
            #expect(try stage.client.count(stage.deadLetterQueue) == 0)
            #expect(try stage.client.count(stage.quorumQueue) == 0)
            #expect(stage.simulator.ledger.statistics.accepted == Self.count)
        }

        @Test("The broker drops the results of a closed requester, and their requests are finished")
        func gone() throws {
            let stage = try Stage()
            #expect(try request(stage, "leave").isEmpty)
            let worker = try stage.start(settings(stage))
            try eventually("every request is sent; \(worker.report)", within: .seconds(30)) {
                stage.simulator.ledger.statistics.accepted == Self.count ? true : nil
            }
            try worker.end()
            #expect(try stage.client.count(stage.deadLetterQueue) == 0)
            #expect(try stage.client.count(stage.quorumQueue) == 0)
            #expect(stage.simulator.ledger.statistics.accepted == Self.count, "nothing is sent twice")
        }
    }
}

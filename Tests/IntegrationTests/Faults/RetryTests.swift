import AMQP
import Core
import Glibc
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// With retry queues of one second and two.
    @Suite("Retries through the broker")
    struct RetryTests {
        private static let count = 20

        private static func publish(_ stage: Stage, to queue: String, beginning: String = "7") throws {
            try stage.client.publish(
                (0..<count).map { stage.requests.message($0, to: queue, body: Requests.body($0, beginning: beginning)) }
            )
        }

        private static func results(_ stage: Stage) throws -> [Conservation.Result] {
            var results: [Conservation.Result] = []
            try stage.client.consume([stage.resultQueue]) { delivery in
                results.append(try Conservation.Result(delivery))
                return results.count == count
            }
            return results
        }

        @Test("A request for which APNs is busy returns from the retry queue and is accepted, under one apns-id")
        func comesBack() throws {
            let stage = try Stage(script: "attempt 1: 503 ServiceUnavailable")
            let worker = try stage.start()
            for queue in [stage.quorumQueue, stage.classicQueue] {
                try Self.publish(stage, to: queue)
                let results = try Self.results(stage)
                #expect(results.allSatisfy { $0.outcome == "accepted" && $0.attempts == 2 })
                #expect(Set(results.map(\.messageID)).count == Self.count)
            }
            try worker.end()
            #expect(Set(stage.simulator.ledger.records.map(\.apnsID)).count == 2 * Self.count)
            #expect(stage.simulator.ledger.records.count == 4 * Self.count)
            #expect(try FaultRun.total("parked", of: worker) == 2 * Self.count)
            try stage.removeQueues()
        }

        @Test(
            "Fan-outs with mixed outcomes survive SIGKILL between rounds: each device token has its result"
        )
        func fanOut() throws {
            let stage = try Stage(
                script: "token aa*, attempt 1: 503 ServiceUnavailable\ntoken e4e40*: 400 BadCollapseId\n"
                    + "token 7*: delay 2ms..20ms")
            var settings = Stage.Settings()
            settings.prefetch = 20
            var worker = try stage.start(settings)
            let beginnings = ["7", "aa", "dead", "7", "aa", "e4e40", "no"]
            let requests = 100
            try stage.client.publish(
                (0..<requests).map { request in
                    let tokens = beginnings.indices.map { position in
                        let number = request * beginnings.count + position
                        return "\"\(Requests.deviceToken(number, beginning: beginnings[position]))\""
                    }
                    let body = """
                        {"device-tokens":[\(tokens.joined(separator: ","))],"apns-topic":"\(Requests.topic)",\
                        "payload":{"aps":{"badge":1}}}
                        """
                    return stage.requests.message(request, to: stage.quorumQueue, body: body)
                })
            for share in [100, 250] {
                try eventually("\(share) accepted; \(worker.report)", within: .seconds(60)) {
                    stage.simulator.ledger.statistics.accepted >= share ? true : nil
                }
                worker.signal(SIGKILL)
                try worker.waitForExit()
                worker = try stage.start(settings)
            }
            var outcomes: [String: Set<String>] = [:]
            try stage.client.consume([stage.resultQueue], within: .seconds(120)) { delivery in
                let id = String(decoding: delivery.messageID ?? [], as: UTF8.self)
                outcomes[id, default: []].insert(try Conservation.Result(delivery).outcome)
                return outcomes.count == requests * beginnings.count
            }
            // A killed worker's finished requests are redelivered, perhaps after the last result arrived.
            try eventually("every request taken; \(worker.report)", within: .seconds(60)) {
                let waiting = try ([stage.quorumQueue] + stage.retryQueues(of: stage.quorumQueue)).map {
                    try stage.client.count($0)
                }
                return waiting.allSatisfy { $0 == 0 } ? true : nil
            }
            try worker.end()
            for outcomes in outcomes.values { #expect(outcomes.count == 1) }
            for (outcome, share) in [("accepted", 4), ("unregistered", 1), ("rejected", 1), ("invalid", 1)] {
                #expect(outcomes.values.count { $0 == [outcome] } == share * requests, "\(outcome)")
            }
            for queue in [stage.quorumQueue] + stage.retryQueues(of: stage.quorumQueue) {
                #expect(try stage.client.takeAll(queue).isEmpty, "\(queue)")
            }
            // Every request has two failures, and a dead letter with these alone.
            let letters = try stage.client.takeAll(stage.deadLetterQueue)
            #expect(Set(letters.compactMap { $0.messageID.map(Array.init) }).count == requests)
            #expect(letters.allSatisfy { $0.header("harebell-done") == .text(ArraySlice("1f".utf8)) })
            try stage.removeQueues()
        }
    }
}

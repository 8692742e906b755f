import AMQP
import Core
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// Requests whose result or retry copy the broker refuses, among many that it accepts.
    @Suite("Publishes that the broker refuses")
    struct SuspectTests {
        private static let count = 300
        private static let noQueue = "harebell-test-missing"
        /// Well formed, but from a node that the broker does not know.
        private static let badReply = DirectReplies.name(node: "reply@1")

        /// Every tenth request is one of these.
        private enum Kind: Int, CaseIterable {
            case unroutable, garbage, foreignCopies
        }

        private static func kind(_ index: Int) -> Kind? {
            index % 10 == 5 ? Kind(rawValue: index / 10 % Kind.allCases.count) : nil
        }

        private func message(_ index: Int, on stage: Stage) throws -> Publication {
            var message = stage.requests.message(index, to: index % 2 == 0 ? stage.quorumQueue : stage.classicQueue)
            switch Self.kind(index) {
            case .unroutable: message.properties.replyTo = Array(Self.noQueue.utf8)
            case .garbage where TestEnvironment.closesOverDirectReplies:
                message.properties.replyTo = Array(Self.badReply.utf8)
            case .foreignCopies:
                // Its dead letter would be routed to more queues, expire, and close the channel.
                message.properties.headers = FieldTable([
                    .init(name: Array("CC".utf8), value: .array([.string(stage.resultQueue)])),
                    .init(name: Array("BCC".utf8), value: .array([.string(stage.resultQueue)])),
                ])
                message.properties.userID = Array("guest".utf8)
                message.properties.expiration = Array("3600000".utf8)
                message.body = Array("no request".utf8)[...]
            case .garbage, nil: break
            }
            return message
        }

        @Test("affect only their own requests: these have a result elsewhere or a dead letter, the others theirs")
        func refused() throws {
            let stage = try Stage()
            let worker = try stage.start(
                Stage.Settings(more: "results: { exchange: \"\", routing_key: \(stage.resultQueue) }"))
            try stage.client.publish(try (0..<Self.count).map { try message($0, on: stage) })
            var conservation = Conservation(stage.requests, count: Self.count)
            var copies = 0
            try stage.client.consume([stage.resultQueue]) { delivery in
                // The broker built these from the request itself.
                if delivery.header("harebell-outcome") == nil {
                    copies += 1
                } else {
                    try conservation.addResult(delivery)
                }
                return conservation.responded == Self.count
            }
            try worker.end()
            for delivery in try stage.client.takeAll(stage.deadLetterQueue) {
                conservation.addDeadLetter(delivery)
                let properties = try MessageProperties(decoding: delivery.rawProperties)
                #expect(properties.expiration == nil && properties.userID == nil)
                #expect(properties.headers?["harebell-orig-user-id"] == .string("guest"))
            }
            let bad = (0..<Self.count).filter { Self.kind($0) == .foreignCopies }
            #expect(conservation.lost.isEmpty)
            #expect(conservation.strangers == 0)
            #expect(conservation.outcomes["invalid"] ?? 0 >= bad.count)
            #expect(Set(conservation.deadLetters.keys) == Set(bad))
            #expect(copies == bad.count, "copies of the requests, none of the dead letters")
            #expect(stage.simulator.ledger.statistics.accepted == Self.count - bad.count, "nothing is sent twice")
            #expect(
                worker.text(.errors).contains("one publish makes the broker close the connection")
                    == TestEnvironment.closesOverDirectReplies, "\(worker.report)")
            print(
                "ledger: refused publishes: \(Self.count) published, lost 0, duplicate results "
                    + "\(conservation.duplicateResults)")
            try stage.removeQueues()
        }
    }
}

import AMQP
import Core
import Foundation
import Glibc
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// Dead letters that a replay must not send to their origin, or that the broker refuses.
    @Suite("harebell dead-letters replay, and what it skips")
    struct ReplayLimitsTests {
        private struct End {
            let exit: ChildProcess.Exit
            let object: [String: Any]
            let report: String

            func number(_ name: String) -> Int? { object[name] as? Int }
            var complaints: [String] { object["complaints"] as? [String] ?? [] }
        }

        private func replay(_ stage: Stage, _ arguments: String..., left: Int) throws -> End {
            let process = try ChildProcess(
                stage.binary,
                ["dead-letters", "replay", "--config", stage.directory.file("harebell.yaml"), "--yes", "--json"]
                    + arguments)
            let exit = try process.waitForExit(within: .seconds(60))
            try stage.client.waitUntilLeft(stage.deadLetterQueue, by: process, messages: left)
            let object = try JSONSerialization.jsonObject(with: Data(process.text().utf8)) as? [String: Any]
            return End(exit: exit, object: try #require(object, "\(process.report)"), report: process.report)
        }

        /// A dead letter, numbered in its message id.
        private func letter(
            _ number: Int, from queue: String?, in stage: Stage, body: [UInt8] = Array("{}".utf8),
            _ headers: FieldTable = [:]
        ) throws -> Publication {
            var properties = MessageProperties()
            properties.messageID = Array("\(number)".utf8)
            var headers = headers
            headers["harebell-queue"] = queue.map { .string($0) }
            headers["harebell-outcome"] = queue.map { _ in .string("rejected") }
            properties.headers = headers
            return Publication(
                routingKey: ArraySlice(stage.deadLetterQueue.utf8),
                properties: properties, body: body[...])
        }

        private func numbers(_ queue: String, of stage: Stage) throws -> [Int] {
            try stage.client.takeAll(queue).map { Int(String(decoding: $0.messageID ?? [], as: UTF8.self)) ?? -1 }
        }

        @Test("a message that makes the broker close the channel is left and named, and the others are sent")
        func notTaken() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url, script: "")
            try stage.write()
            let large = [UInt8](repeating: 0x20, count: 100_000)
            try stage.client.publish(
                try (0..<60).map { number in
                    try letter(
                        number, from: stage.classicQueue, in: stage,
                        body: number % 20 == 7 ? large : Array("{}".utf8))
                })
            // As after an upgrade to a broker with a lower limit.
            try broker.control(
                "eval",
                "application:set_env(rabbit, max_message_size, 50000), persistent_term:put(max_message_size, 50000).")
            let end = try replay(stage, left: 3)
            #expect(end.exit == .exited(65), "\(end)")
            #expect(end.number("replayed") == 57, "\(end)")
            #expect(end.number("refused") == 3)
            #expect(end.number("left") == 3)
            for number in [7, 27, 47] {
                let named = end.complaints.contains {
                    $0.contains("message id \(number) to queue \"\(stage.classicQueue)\"")
                        && $0.contains("406 PRECONDITION_FAILED")
                }
                #expect(named, "\(end)")
            }
            let sent = try numbers(stage.classicQueue, of: stage)
            #expect(Set(sent) == Set((0..<60).filter { $0 % 20 != 7 }))
            #expect(sent.count - 57 <= end.number("uncertain") ?? 0, "\(end)")
            #expect(try numbers(stage.deadLetterQueue, of: stage) == [7, 27, 47])
        }

        @Test("without --to, a queue outside the configuration gets nothing, run after run")
        func foreign() throws {
            let stage = try Stage(script: "")
            try stage.write()
            let victim = "\(stage.name).payments"
            try stage.client.declare(victim)
            let death = FieldValue.table([
                "count": .int64(1), "exchange": .string(""), "queue": .string(victim), "reason": .string("rejected"),
                "routing-keys": .array([.string(victim)]), "time": .timestamp(1_795_300_000),
            ])
            let directReply = "amq.rabbitmq.reply-to.abc000.def"
            try stage.client.publish(
                try (0..<9).map { number in
                    switch number {
                    case 3: try letter(number, from: victim, in: stage)
                    case 5: try letter(number, from: directReply, in: stage)
                    case 7: try letter(number, from: nil, in: stage, ["x-death": .array([death])])
                    default: try letter(number, from: stage.classicQueue, in: stage)
                    }
                })
            for round in 0..<3 {
                let end = try replay(stage, left: 3)
                #expect(end.exit == .exited(65), "\(end)")
                #expect(end.number("replayed") == (round == 0 ? 6 : 0), "\(end)")
                #expect(end.number("refused") == 3)
                #expect(end.number("uncertain") == 0)
                for (queue, first) in [(victim, 3), (directReply, 5)] {
                    let complaint = end.complaints.first { $0.contains("\"\(queue)\" is not a request queue") }
                    #expect(complaint?.hasSuffix("(first: message id \(first))") == true, "\(end)")
                }
            }
            #expect(try numbers(victim, of: stage) == [])
            #expect(try numbers(stage.classicQueue, of: stage) == [0, 1, 2, 4, 6, 8])
            let named = try replay(stage, "--to", victim, left: 0)
            #expect(named.exit == .exited(0), "\(named)")
            #expect(try numbers(victim, of: stage) == [3, 5, 7])
            try stage.client.ask(.deleteQueue(victim))
            try stage.removeQueues()
        }

        @Test("a request with forged headers is dead-lettered from its own queue, and replayed to it")
        func forged() throws {
            let stage = try Stage(script: "attempt 1: 503 ServiceUnavailable")
            let victim = "\(stage.name).payments"
            try stage.client.declare(victim)
            var settings = Stage.Settings()
            settings.queues = [stage.classicQueue]
            let worker = try stage.start(settings)
            let forged: FieldTable = [
                "harebell-queue": .string(victim), "harebell-exchange": .string("amq.fanout"),
                "harebell-attempts": .int64(.max), "harebell-parked": .int64(.max),
                "harebell-expires-at": .int64(.min), "harebell-done": .string("ff"),
                "x-death": .array([
                    .table([
                        "count": .int64(1), "exchange": .string(""), "queue": .string("\(stage.classicQueue).retry.1s"),
                        "reason": .string("expired"), "routing-keys": .array([]), "time": .timestamp(1),
                    ])
                ]),
            ]
            try stage.client.publish(
                (0..<2).map { index in
                    var message = stage.requests.message(
                        index, to: stage.classicQueue, body: index == 0 ? "{" : Requests.body(index))
                    message.properties.headers = forged
                    return message
                })
            var results: [Int: Conservation.Result] = [:]
            try stage.client.consume([stage.resultQueue]) { delivery in
                let index = try #require(stage.requests.index(ofMessageID: delivery.correlationID))
                results[index] = try Conservation.Result(delivery)
                return results.count == 2
            }
            #expect(results[0]?.outcome == "invalid")
            // If the forged attempts counted, the first failure would be the last.
            #expect(results[1]?.outcome == "accepted", "\(worker.report)")
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit() == .exited(0), "\(worker.report)")
            let end = try replay(stage, left: 0)
            #expect(end.exit == .exited(0), "\(end)")
            #expect(try stage.client.takeAll(victim).isEmpty)
            let back = try stage.client.takeAll(stage.classicQueue)
            #expect(back.count == 1)
            #expect(back.first?.header("harebell-queue") == .text(ArraySlice(stage.classicQueue.utf8)))
            #expect(back.first?.header("harebell-exchange") == .text([]))
            for name: StaticString in ["harebell-parked", "harebell-expires-at", "harebell-done", "harebell-attempts"] {
                #expect(back.first?.header(name) == nil)
            }
            try stage.client.ask(.deleteQueue(victim))
            try stage.removeQueues()
        }
    }
}

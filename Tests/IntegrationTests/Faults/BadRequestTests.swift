import AMQP
import Core
import Glibc
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Bad requests")
    struct BadRequestTests {
        struct Case {
            let body: String
            /// The text of the result and the dead letter; only its beginning where a list follows.
            let detail: String
        }

        private static func envelope(_ fields: String, payload: String = #"{"aps":{"alert":"x"}}"#) -> String {
            #"{\#(fields),"payload":\#(payload)}"#
        }

        /// A payload of `size` bytes.
        private static func payload(_ size: Int) -> String {
            let frame = #"{"aps":{"alert":"\#("")"}}"#
            return #"{"aps":{"alert":"\#(String(repeating: "x", count: size - frame.utf8.count))"}}"#
        }

        private static let target = #""device-token":"\#(Requests.deviceToken(0))","apns-topic":"\#(Requests.topic)""#

        private static let cases = [
            Case(body: "this is not JSON", detail: "body: not JSON: expected "),
            Case(body: "", detail: "body: not JSON: expected "),
            Case(body: "[]", detail: "body: expected a JSON object, found an array"),
            Case(body: "{\(target)}", detail: "payload: missing, expected a JSON object"),
            Case(
                body: envelope(#""apns-topic":"\#(Requests.topic)""#),
                detail: "device-token: missing, expected it or device-tokens or apns-channel-id"),
            Case(
                body: envelope(#"\#(target),"apns-priority":"high""#), detail: "apns-priority: expected 1, 5 or 10"),
            Case(
                body: envelope(target, payload: #""text""#), detail: "payload: expected a JSON object, found a string"),
            Case(
                body: envelope(#""device-token":"0123xyz9","apns-topic":"\#(Requests.topic)""#),
                detail: "device-token: expected an even number of hexadecimal digits, at most "),
            Case(
                body: envelope(#""device-token":"0123","apns-topic":"com.example.nobody""#),
                detail: #"apns-topic: no app "com.example.nobody" is configured"#),
            Case(
                body: envelope(#"\#(target),"apns-push-type":"telegram""#),
                detail: "apns-push-type: expected one of alert, background, "),
            Case(
                body: envelope(target, payload: payload(4097)),
                detail: "payload: 4097 bytes, expected at most 4096 for alert"),
            Case(
                body: envelope(#"\#(target),"apns-push-type":"voip""#, payload: payload(5121)),
                detail: "payload: 5121 bytes, expected at most 5120 for voip"),
        ]

        /// The largest that APNs accepts.
        private static let largest = [
            envelope(target, payload: payload(4096)),
            envelope(#"\#(target),"apns-push-type":"voip""#, payload: payload(5120)),
        ]

        @Test("each bad message gets an invalid result and a dead letter, and the message behind it is sent")
        func bad() throws {
            let stage = try Stage(script: "")
            let worker = try stage.start()
            // Each bad message is followed by a good one.
            let bodies = Self.cases.enumerated().flatMap { [$1.body, Requests.body(2 * $0 + 1)] } + Self.largest
            try stage.client.publish(
                bodies.enumerated().map { stage.requests.message($0, to: stage.quorumQueue, body: $1) })
            var results: [Int: Conservation.Result] = [:]
            try stage.client.consume([stage.resultQueue]) { delivery in
                let index = try #require(stage.requests.index(ofMessageID: delivery.correlationID))
                let result = try Conservation.Result(delivery)
                #expect(results.updateValue(result, forKey: index) == nil, "one result each")
                #expect(delivery.messageID.map { String(decoding: $0, as: UTF8.self) } == result.apnsID)
                return results.count == bodies.count
            }
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit() == .exited(0), "\(worker.report)")
            let letters = try stage.client.takeAll(stage.deadLetterQueue)
            #expect(letters.count == Self.cases.count)

            for (number, bad) in Self.cases.enumerated() {
                let result = try #require(results[2 * number])
                Self.check(result, bad, messageID: stage.requests.messageID(2 * number))
                let letter = try #require(
                    letters.first { stage.requests.index(ofMessageID: $0.messageID) == 2 * number })
                #expect(String(decoding: letter.body, as: UTF8.self) == bad.body)
                try Self.check(letter, of: result, from: stage)
            }
            for index in bodies.indices where index % 2 == 1 || index >= 2 * Self.cases.count {
                #expect(results[index]?.outcome == "accepted", "message \(index)")
            }
            #expect(worker.text(.errors).split(separator: "\n").allSatisfy { !$0.contains(" error ") })
            try stage.removeQueues()
        }

        private static func check(_ result: Conservation.Result, _ bad: Case, messageID: String) {
            #expect(result.outcome == "invalid")
            #expect(
                result.detail?.hasPrefix(bad.detail) == true, "\(result.detail ?? "nothing"): \(bad.body.prefix(80))")
            #expect(result.action == "fix-request")
            #expect(result.status == nil)
            #expect(result.reason == nil)
            #expect(result.attempts == 0)
            #expect(result.processed == "no")
            #expect(result.messageID == messageID)
            #expect(result.apnsID.flatMap { NotificationID($0) } != nil)
        }

        private static func check(
            _ letter: Delivery, of result: Conservation.Result, from stage: Stage
        ) throws {
            let headers = try #require(try MessageProperties(decoding: letter.rawProperties).headers)
            func text(_ name: String) -> String? {
                guard case .text(let text) = headers[name] else { return nil }
                return String(decoding: text, as: UTF8.self)
            }
            #expect(text("harebell-outcome") == "invalid")
            #expect(text("harebell-detail") == result.detail)
            #expect(text("harebell-apns-id") == result.apnsID)
            #expect(text("harebell-queue") == stage.quorumQueue)
            #expect(text("harebell-exchange") == "")
            #expect(text("harebell-routing-key") == stage.quorumQueue)
            #expect(text("harebell-decoder") == "auto")
            #expect(text("harebell-worker")?.isEmpty == false)
            #expect(headers["harebell-attempts"] == .int32(0))
            #expect(headers["harebell-replays"] == .int32(0))
            #expect(headers["harebell-status"] == nil)
            #expect(headers["harebell-reason"] == nil)
            for name in ["harebell-first-seen", "harebell-failed-at"] {
                // RFC 3339.
                #expect(
                    text(name)?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/) != nil, "\(text(name) ?? "")")
            }
            #expect(letter.contentType.map { String(decoding: $0, as: UTF8.self) } == "application/json")
            #expect(letter.replyTo.map { String(decoding: $0, as: UTF8.self) } == stage.resultQueue)
        }
    }
}

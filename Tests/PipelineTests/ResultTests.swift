import AMQP
import Core
import Foundation
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline

private func delivery(
    _ properties: MessageProperties = MessageProperties(), raw: [UInt8]? = nil, exchange: String = "",
    routingKey: String = "push.requests", body: String = "{}"
) throws -> Delivery {
    try DeadLetterSamples.delivery(
        properties, raw: raw, body: Array(body.utf8), exchange: exchange, routingKey: routingKey)
}

private func properties(
    messageID: String? = nil, correlationID: String? = nil, headers: FieldTable? = nil
) -> MessageProperties {
    var properties = MessageProperties()
    properties.messageID = messageID.map { Array($0.utf8) }
    properties.correlationID = correlationID.map { Array($0.utf8) }
    properties.headers = headers
    return properties
}

/// The copy of a request of the queue `q` for a retry queue.
private func parked(
    _ delivery: Delivery, _ note: RetryEncoder.Note = RetryEncoder.Note(attempts: 1), for delay: Duration = .seconds(5)
) -> Publication? {
    RetryEncoder.encode(delivery, note, queue: "q", firstSeen: WallTime(milliseconds: 0), delay: delay)
}

private func headers(_ properties: MessageProperties) -> FieldTable {
    properties.headers ?? FieldTable()
}

private let id = NotificationID(high: 0x123e_4567_e89b_12d3, low: 0xa456_4266_5544_0000)

private func notification(
    id: NotificationID? = nil, topic: String = "com.example.app", environment: Environment = .production
) throws -> Core.Notification {
    Core.Notification(
        target: .device(try #require(DeviceToken("00fc"))),
        Core.Notification.Content(
            topic: ArraySlice(topic.utf8), pushType: .alert, id: id, environment: environment,
            payload: ArraySlice("{}".utf8)))
}

@Suite("Results")
struct ResultTests {
    @Suite("Result JSON")
    struct JSON {
        @Test("An accepted notification has all fields in order")
        func accepted() throws {
            let result = ResultEncoder.encode(
                Report(outcome: .accepted, status: 200, attempts: 1, processed: .yes), id: id,
                notification: try notification(),
                delivery: try delivery(properties(messageID: "m-1", correlationID: "c-1")))
            #expect(
                string(result.body)
                    == "{\"apns-id\":\"123e4567-e89b-12d3-a456-426655440000\",\"device-token\":\"00fc\","
                    + "\"apns-topic\":\"com.example.app\",\"environment\":\"production\",\"outcome\":\"accepted\","
                    + "\"status\":200,\"reason\":null,\"action\":\"none\",\"timestamp\":null,\"apns-unique-id\":null,"
                    + "\"attempts\":1,\"processed\":\"yes\",\"message-id\":\"m-1\",\"detail\":null}")
            #expect(result.mandatory && result.properties.deliveryMode == 2)
            #expect(result.exchange.isEmpty && string(result.routingKey) == "replies")
            #expect(string(result.properties.contentType) == "application/json")
            #expect(string(result.properties.type) == "harebell.result")
            #expect(string(result.properties.correlationID) == "c-1")
            #expect(string(result.properties.messageID) == "123e4567-e89b-12d3-a456-426655440000")
            #expect(
                headers(result.properties)
                    == ["harebell-outcome": .string("accepted"), "harebell-status": .int32(200)])
        }

        @Test("An unregistered token has APNs' reason and timestamp")
        func unregistered() throws {
            let result = ResultEncoder.encode(
                Report(
                    outcome: .unregistered, status: 410, reason: RejectionReason(rawValue: "Unregistered"),
                    timestamp: 1_795_300_000_123, uniqueID: Array("u-1".utf8), attempts: 2, processed: .yes),
                id: id, notification: try notification(topic: "com.example.app.voip", environment: .development),
                delivery: try delivery())
            #expect(
                string(result.body)
                    == "{\"apns-id\":\"123e4567-e89b-12d3-a456-426655440000\",\"device-token\":\"00fc\","
                    + "\"apns-topic\":\"com.example.app.voip\",\"environment\":\"development\","
                    + "\"outcome\":\"unregistered\",\"status\":410,\"reason\":\"Unregistered\","
                    + "\"action\":\"forget-token\",\"timestamp\":1795300000123,\"apns-unique-id\":\"u-1\","
                    + "\"attempts\":2,\"processed\":\"yes\",\"message-id\":null,\"detail\":null}")
            #expect(
                headers(result.properties) == [
                    "harebell-outcome": .string("unregistered"), "harebell-status": .int32(410),
                    "harebell-reason": .string("Unregistered"),
                ])
            #expect(result.properties.correlationID == nil)
        }

        @Test("An undecodable request has nulls, and no status among its headers")
        func invalid() throws {
            let result = ResultEncoder.encode(
                Report(outcome: .invalid, detail: "body: not JSON"), id: nil, notification: nil,
                delivery: try delivery(properties(messageID: "m-1")))
            #expect(
                string(result.body)
                    == "{\"apns-id\":null,\"device-token\":null,\"apns-topic\":null,\"environment\":null,"
                    + "\"outcome\":\"invalid\",\"status\":null,\"reason\":null,\"action\":\"fix-request\","
                    + "\"timestamp\":null,\"apns-unique-id\":null,\"attempts\":0,\"processed\":\"no\","
                    + "\"message-id\":\"m-1\",\"detail\":\"body: not JSON\"}")
            #expect(headers(result.properties) == ["harebell-outcome": .string("invalid")])
            #expect(string(result.properties.correlationID) == "m-1" && result.properties.messageID == nil)
        }

        @Test("An empty message id or correlation id counts as missing")
        func emptyIDs() throws {
            func result(messageID: String, correlationID: String) throws -> Publication {
                ResultEncoder.encode(
                    Report(outcome: .invalid), id: nil, notification: nil,
                    delivery: try delivery(properties(messageID: messageID, correlationID: correlationID)))
            }
            #expect(string(try result(messageID: "m-1", correlationID: "").properties.correlationID) == "m-1")
            let unnamed = try result(messageID: "", correlationID: "")
            #expect(unnamed.properties.correlationID == nil)
            #expect(string(unnamed.body)?.contains("\"message-id\":null") == true)
        }

        @Test("Trace headers are copied, others are not")
        func trace() throws {
            let request: FieldTable = [
                "traceparent": .string("00-1-2-01"), "x": .string("y"), "tracestate": .string(""),
                "baggage": .string("a=b"),
            ]
            let rejected = Report(outcome: .rejected, status: 400, reason: RejectionReason(rawValue: "BadTopic"))
            for report in [Report(outcome: .accepted, status: 200), rejected] {
                let result = ResultEncoder.encode(
                    report, id: id, notification: nil, delivery: try delivery(properties(headers: request)))
                var expected: FieldTable = [
                    "harebell-outcome": .string(report.outcome.name.description),
                    "harebell-status": .int32(Int32(report.status ?? 0)),
                ]
                if let reason = report.reason { expected["harebell-reason"] = .string(reason.rawValue) }
                for name in ["traceparent", "tracestate", "baggage"] { expected[name] = request[name] }
                #expect(headers(result.properties) == expected)
            }
        }

        @Test("A trace header above the required length is left out, so that the result fits a frame")
        func longTrace() throws {
            for (length, isCopied) in [(8192, true), (8193, false), (100_000, false)] {
                let baggage = String(repeating: "b", count: length)
                let result = ResultEncoder.encode(
                    Report(outcome: .accepted, status: 200), id: id, notification: nil,
                    delivery: try delivery(properties(headers: ["baggage": .string(baggage)])))
                #expect((headers(result.properties)["baggage"] == .string(baggage)) == isCopied)
            }
        }

        @Test("For any text, the result is JSON with the same text")
        func escapes() throws {
            let strange = "\"\\/\u{0}\u{1}\u{8}\u{c}\u{1f}\n\r\t é😀\u{7f}\u{2028}"
            let result = ResultEncoder.encode(
                Report(outcome: .invalid, detail: strange), delivery: try delivery(properties(messageID: "\"x")))
            let json = try #require(JSONSerialization.jsonObject(with: Data(result.body)) as? [String: Any])
            #expect(json["detail"] as? String == strange)
            #expect(json["message-id"] as? String == "\"x")
            #expect(string(result.body)?.contains("\\u0000\\u0001\\u0008\\u000c\\u001f\\n\\r\\t é😀") == true)

            var broken = MessageProperties()
            broken.messageID = [0x61, 0xFF, 0x62]
            let repaired = ResultEncoder.encode(Report(outcome: .invalid), delivery: try delivery(broken))
            #expect(string(repaired.body)?.contains("\"message-id\":\"a\u{FFFD}b\"") == true)
        }
    }

    @Suite("Request keys")
    struct Keys {
        private func key(
            _ properties: MessageProperties, exchange: String = "", routingKey: String = "push.requests",
            body: String = "{}", queue: String = "push.requests", position: Int? = nil,
            notification: Core.Notification? = nil
        ) throws -> String {
            RequestKey.notificationID(
                own: notification?.id, position: position,
                of: try delivery(properties, exchange: exchange, routingKey: routingKey, body: body), queue: queue
            ).description
        }

        @Test("One message id in one queue is one apns-id, and it is a UUID of version 5")
        func messageID() throws {
            let one = try key(properties(messageID: "m-1"))
            #expect(one == "38ca482d-ba28-576b-ac09-0f2071724c47")
            #expect(try key(properties(messageID: "m-1"), routingKey: "other", body: "other") == one)
            #expect(try key(properties(messageID: "m-2")) != one)
            #expect(try key(properties(messageID: "m-1"), queue: "other") != one)
            #expect(one.dropFirst(14).first == "5")
        }

        @Test("Without a message id, origin, correlation id, timestamp, headers with the target and body make the key")
        func digest() throws {
            let plain = try key(properties())
            // Every version has to derive the same one, for the copies that an older one has put into a queue.
            #expect(plain == "b8f31339-8469-56ac-908a-455ddb960e38")
            #expect(try key(properties(messageID: "")) == plain)
            var timed = properties()
            timed.timestamp = 1
            let all = [
                plain, try key(properties(), exchange: "x"), try key(properties(), routingKey: "x"),
                try key(properties(correlationID: "c")), try key(timed), try key(properties(), body: "{ }"),
                try key(properties(), exchange: "push", routingKey: ".requests"),
                try key(properties(headers: ["Device-Token": .string("7a")])),
                try key(properties(headers: ["device-token": .string("7b")])),
                try key(properties(headers: ["apns-topic": .string("x"), "device-token": .string("7b")])),
                try key(properties(headers: ["device-tokens": .array([.string("7a"), .string("7b")])])),
            ]
            #expect(Set(all).count == all.count)
        }

        @Test("An empty id of a format is no key")
        func emptyKey() throws {
            let ids = try ["[1]", "[2]"].map { body in
                RequestKey.notificationID(
                    own: nil, position: nil, of: try delivery(properties(), body: body), queue: "q", key: [])
            }
            #expect(ids[0] != ids[1])
        }

        @Test("A fan-out's notifications have different ids, even under a given one")
        func fanOut() throws {
            let derived = try (0..<3).map { try key(properties(messageID: "m"), position: $0) }
            #expect(Set(derived + [try key(properties(messageID: "m"))]).count == 4)
            let named = try notification(id: id)
            #expect(try key(properties(), notification: named) == id.description)
            let given = try (0..<3).map { try key(properties(), position: $0, notification: named) }
            #expect(Set(given + [id.description]).count == 4)
            #expect(try key(properties(messageID: "x"), body: "y", position: 1, notification: named) == given[1])
        }

        @Test("A copy from the dead letters or a retry queue has the original's apns-id")
        func copies() throws {
            for original in [
                properties(headers: ["device-token": .string("7a"), "apns-topic": .string("x")]),
                properties(messageID: "m", headers: ["harebell-x": .boolean(true)]),
            ] {
                let first = try delivery(original, exchange: "work", routingKey: "push.a", body: "[1]")
                let expected = RequestKey.notificationID(own: nil, position: nil, of: first, queue: "q")
                let route = PublishRoute(exchange: [], routingKey: ArraySlice("dead".utf8))
                let deadLetter = DeadLetterEncoder(route: route, worker: "w").encode(
                    first, report: Report(outcome: .rejected), id: nil, queue: "q", decoder: "auto",
                    firstSeen: WallTime(milliseconds: 0), now: WallTime(milliseconds: 0))
                for copy in [deadLetter, try #require(parked(first))] {
                    var returned = original
                    // Some brokers sort headers.
                    let entries = headers(copy.properties).entries
                    returned.headers = FieldTable(entries.sorted { $0.name.lexicographicallyPrecedes($1.name) })
                    let replay = try delivery(returned, exchange: "", routingKey: "q", body: "[1]")
                    // Also if it returns to a different queue.
                    for queue in ["q", "other"] {
                        let found = RequestKey.notificationID(own: nil, position: nil, of: replay, queue: queue)
                        #expect(found == expected)
                    }
                }
            }
        }
    }

    @Suite("Dead letters")
    struct DeadLetters {
        private let encoder = DeadLetterEncoder(
            route: PublishRoute(exchange: ArraySlice("dlx".utf8), routingKey: ArraySlice("push.dead".utf8)),
            worker: "host/17/1.0")
        private let firstSeen = WallTime(milliseconds: 1_795_300_000_999)
        private let now = WallTime(milliseconds: 1_795_300_060_000)

        private func encode(_ request: Delivery, _ report: Report, _ results: [ArraySlice<UInt8>] = []) -> Publication {
            encoder.encode(
                request, report: report, results: results, id: id, queue: "push.requests", decoder: "apns-json",
                firstSeen: firstSeen, now: now)
        }

        private let rejected = Report(
            outcome: .rejected, status: 400, reason: RejectionReason(rawValue: "BadTopic"), attempts: 1,
            processed: .yes, detail: "d")

        @Test("Body and properties are unchanged, and the headers have the outcome")
        func copy() throws {
            var original = MessageProperties()
            original.contentType = Array("application/json".utf8)
            original.contentEncoding = Array("utf-8".utf8)
            original.correlationID = Array("c".utf8)
            original.replyTo = Array("replies".utf8)
            original.messageID = Array("m".utf8)
            original.timestamp = 1_795_300_000
            original.type = Array("t".utf8)
            original.appID = Array("a".utf8)
            original.priority = 3
            original.deliveryMode = 1
            original.headers = ["traceparent": .string("00-1"), "nested": .table(["n": .array([.int64(-1), .void])])]
            let found = encode(
                try delivery(original, exchange: "work", routingKey: "push.a", body: "{\"a\" : 1}"), rejected)
            #expect(string(found.exchange) == "dlx" && string(found.routingKey) == "push.dead" && found.mandatory)
            #expect(string(found.body) == "{\"a\" : 1}")
            var expected = original
            // It survives a restart of the broker, whatever the request was.
            expected.deliveryMode = 2
            expected.headers = found.properties.headers
            #expect(found.properties == expected)
            #expect(
                headers(found.properties) == [
                    "traceparent": .string("00-1"), "nested": .table(["n": .array([.int64(-1), .void])]),
                    "harebell-queue": .string("push.requests"), "harebell-exchange": .string("work"),
                    "harebell-routing-key": .string("push.a"), "harebell-first-seen": .string("2026-11-21T22:26:40Z"),
                    "harebell-outcome": .string("rejected"), "harebell-status": .int32(400),
                    "harebell-reason": .string("BadTopic"), "harebell-detail": .string("d"),
                    "harebell-attempts": .int32(1), "harebell-apns-id": .string(id.description),
                    "harebell-failed-at": .string("2026-11-21T22:27:40Z"), "harebell-worker": .string("host/17/1.0"),
                    "harebell-decoder": .string("apns-json"), "harebell-replays": .int32(0),
                ])
        }

        @Test("Properties that make the broker refuse, drop or duplicate the copy move into our headers or are removed")
        func stripped() throws {
            var original = MessageProperties()
            original.expiration = Array("60000".utf8)
            original.userID = Array("guest".utf8)
            original.clusterID = Array("old".utf8)
            original.replyTo = Array("amq.rabbitmq.reply-to".utf8)
            original.headers = [
                "CC": .array([.string("other")]), "BCC": .array([.string("hidden")]), "x-death": .array([]),
                "x-first-death-queue": .string("q"), "x-last-death-reason": .string("expired"),
                "x-delivery-count": .int64(2), "x-acquired-count": .int64(2), "x-delay": .int32(5),
                "x-mine": .string("kept"),
            ]
            let found = encode(try delivery(original), rejected)
            #expect(found.properties.expiration == nil && found.properties.userID == nil)
            #expect(found.properties.clusterID == nil)
            #expect(found.properties.replyTo == Array("amq.rabbitmq.reply-to.".utf8))
            let table = headers(found.properties)
            #expect(table["harebell-orig-expiration"] == .string("60000"))
            #expect(table["harebell-orig-user-id"] == .string("guest"))
            #expect(table["harebell-orig-cc"] == .array([.string("other")]))
            #expect(table["x-mine"] == .string("kept"))
            for name in [
                "CC", "BCC", "x-death", "x-first-death-queue", "x-last-death-reason", "x-delivery-count",
                "x-acquired-count", "x-delay",
            ] {
                #expect(table[name] == nil, "\(name) is stripped")
            }
        }

        @Test("After a replay the origin stays, the outcome is the new one, and the replays are counted")
        func replayed() throws {
            let before: FieldTable = [
                "harebell-outcome": .string("rejected"), "harebell-status": .int32(400),
                "harebell-reason": .string("BadTopic"), "harebell-detail": .string("old"),
                "harebell-queue": .string("first"), "harebell-exchange": .string("work"),
                "harebell-routing-key": .string("push.a"), "harebell-first-seen": .string("2026-01-01T00:00:00Z"),
                "harebell-failed-at": .string("2026-01-01T00:00:01Z"), "harebell-replays": .int32(2),
            ]
            let table = headers(
                encode(try delivery(properties(headers: before)), Report(outcome: .undelivered, attempts: 6)).properties
            )
            #expect(table["harebell-outcome"] == .string("undelivered"))
            for name in ["harebell-status", "harebell-reason", "harebell-detail"] { #expect(table[name] == nil) }
            #expect(table["harebell-attempts"] == .int32(6) && table["harebell-replays"] == .int32(2))
            for name in ["harebell-queue", "harebell-exchange", "harebell-routing-key", "harebell-first-seen"] {
                #expect(table[name] == before[name], "\(name)")
            }
            #expect(table["harebell-failed-at"] == .string("2026-11-21T22:27:40Z"))
        }

        @Test("A long detail is cut between two characters")
        func longDetail() throws {
            var report = rejected
            report.detail = "x" + String(repeating: "é", count: 600)
            let table = headers(encode(try delivery(), report).properties)
            #expect(table["harebell-detail"] == .string("x" + String(repeating: "é", count: 511)))
        }

        @Test("Several results have 64 KiB, and what exceeds them is left out", arguments: [(32_766, 2), (32_767, 1)])
        func joined(last: Int, count: Int) throws {
            let results = [32_767, last].map { [UInt8](repeating: 0x31, count: $0)[...] }
            let text = Array("[".utf8) + results.prefix(count).joined(separator: Array(",".utf8)) + Array("]".utf8)
            let table = headers(encode(try delivery(), rejected, results).properties)
            #expect(table["harebell-result"] == .text(text))
        }

        @Test(
            "Headers beyond a frame are removed: the detail first, then all foreign ones",
            arguments: [(110_000, true, true), (110_500, true, false), (131_000, false, false)])
        func tooLarge(size: Int, keepsForeign: Bool, keepsDetail: Bool) throws {
            var report = rejected
            report.detail = String(repeating: "d", count: 600)
            for name in ["x-large", "harebell-queue", "harebell-large"] {
                let foreign: FieldTable = [name: .text([UInt8](repeating: 0x61, count: size))]
                let found = encode(try delivery(properties(headers: foreign)), report)
                let table = headers(found.properties)
                #expect(try found.properties.headers?.encoded().count ?? 0 <= DeadLetterEncoder.maximumHeaders)
                #expect(table["harebell-outcome"] == .string("rejected"))
                #expect(string(found.body) == "{}")
                if name == "harebell-queue" {
                    #expect(table["harebell-queue"] == .string("push.requests"))
                } else {
                    #expect((table[name] != nil) == keepsForeign)
                    #expect((table["harebell-detail"] != nil) == keepsDetail)
                }
            }
        }

        @Test("The largest request headers are left out, and named as far as they fit")
        func omitted() throws {
            func large(_ size: Int) -> FieldValue { .text([UInt8](repeating: 0x61, count: size)) }
            var foreign: FieldTable = ["x-a": large(50_000), "x-b": large(70_000), "harebell-queue": .string("x")]
            let table = headers(encode(try delivery(properties(headers: foreign)), rejected).properties)
            #expect(table["x-b"] == nil && table["x-a"] == large(50_000))
            #expect(table["harebell-omitted"] == .string("x-b"))
            for number in 0..<1000 { foreign["x-\(number)"] = large(500) }
            let found = encode(try delivery(properties(headers: foreign)), rejected)
            #expect(try found.properties.headers?.encoded().count ?? 0 <= DeadLetterEncoder.maximumHeaders)
            let many = headers(found.properties)
            #expect(many["harebell-queue"] != nil && many["x-0"] != nil && many["x-a"] == nil && many["x-b"] == nil)
            guard case .text(let names)? = many["harebell-omitted"] else {
                Issue.record("\(String(describing: many["harebell-omitted"]))")
                return
            }
            #expect(names.count == HeaderFit.maximumNames)
            // The full list of names has its place, whatever the limit.
            var named = FieldTable()
            for number in 0..<20 { named["\(number)" + String(repeating: "x", count: 200)] = large(500) }
            #expect((5000..<6000).allSatisfy { HeaderFit.fit(named, limit: $0)["harebell-omitted"] != .string("*") })
            let size = try named.encoded().count
            named["harebell-result"] = .string("r")
            let exact = try named.encoded().count
            #expect(HeaderFit.fit(named, limit: exact) == named)
            #expect(try HeaderFit.fit(named, limit: exact - 1).encoded().count == size)
            let long = String(repeating: "i", count: 255)
            let ids = properties(messageID: long, correlationID: long, headers: named)
            let fitting = Publication(routingKey: [], properties: ids, body: []).fitting(4096)
            #expect(fitting.map { $0.propertiesSize <= 3072 } == true)
        }

        @Test("If even our own headers do not fit, the dead letter has its body and its origin")
        func bare() throws {
            var report = rejected
            report.reason = RejectionReason(rawValue: String(repeating: "r", count: 200_000))
            let original = properties(messageID: "m", correlationID: "c", headers: ["a": .string("b")])
            let found = encode(try delivery(original, body: "{\"a\" : 1}"), report)
            #expect(string(found.body) == "{\"a\" : 1}")
            #expect(string(found.properties.messageID) == "m" && string(found.properties.correlationID) == "c")
            #expect(
                headers(found.properties) == [
                    "harebell-outcome": .string("rejected"), "harebell-queue": .string("push.requests"),
                    "harebell-omitted": .string("*"),
                ])
        }

        @Test("Unreadable properties are replaced by those known of the delivery")
        func unreadable() throws {
            var original = properties(messageID: "m", correlationID: "c", headers: ["a": .string("b"), "n": .int32(7)])
            (original.contentType, original.expiration) = (Array("application/json".utf8), Array("60000".utf8))
            original.contentEncoding = Array("gzip".utf8)
            let found = encode(try delivery(original, raw: [0x20, 0x00, 0xFF]), rejected)
            #expect(string(found.properties.messageID) == "m" && string(found.properties.correlationID) == "c")
            #expect(string(found.properties.contentType) == "application/json")
            #expect(string(found.properties.contentEncoding) == "gzip")
            let table = headers(found.properties)
            #expect(table["a"] == .string("b") && table["n"] == .int64(7))
            #expect(table["harebell-orig-expiration"] == .string("60000"))
            #expect(table["harebell-outcome"] == .string("rejected"))
        }
    }

    @Suite("Retry copies")
    struct Retries {
        @Test("A copy goes to the retry queue of its delay and counts its attempts")
        func copy() throws {
            var original = properties(
                messageID: "m", headers: ["harebell-attempts": .int32(2), "harebell-parked": .int32(1)])
            original.expiration = Array("1".utf8)
            let first = try delivery(original, exchange: "work", routingKey: "push.a", body: "[]")
            #expect(RequestHistory(first).attempts == 2)
            var note = RetryEncoder.Note(attempts: 3)
            note.processed = .unknown
            note.expiresAt = WallTime(milliseconds: 5)
            note.done = DoneBitmap(notifications: 9, leaving: [0])
            let found = try #require(parked(first, note, for: .seconds(900)))
            #expect(found.exchange.isEmpty && string(found.routingKey) == "q.retry.900s" && string(found.body) == "[]")
            #expect(found.properties.expiration == nil)
            #expect(found.properties.deliveryMode == 2, "it survives a restart of the broker, whatever the request was")
            #expect(
                headers(found.properties) == [
                    "harebell-attempts": .int32(3), "harebell-parked": .int32(2),
                    "harebell-orig-expiration": .string("1"), "harebell-queue": .string("q"),
                    "harebell-exchange": .string("work"), "harebell-routing-key": .string("push.a"),
                    "harebell-first-seen": .string("1970-01-01T00:00:00Z"), "harebell-processed": .string("unknown"),
                    "harebell-expires-at": .int64(5), "harebell-done": .string("fe01"),
                ])
            let history = RequestHistory(try delivery(properties(headers: headers(found.properties))))
            #expect(history.parkings == 2 && history.attempts == 3 && history.processed == .unknown)
            #expect(history.expiresAt == WallTime(milliseconds: 5) && string(history.done) == "fe01")
        }

        @Test("A dead letter's attempts do not count in its replay, nor does an invalid count")
        func notParked() throws {
            for headers: FieldTable in [
                [
                    "harebell-attempts": .int32(6), "harebell-expires-at": .int64(1),
                    "harebell-processed": .string("unknown"),
                ],
                ["harebell-attempts": .string("6"), "harebell-parked": .string("1")],
                ["harebell-attempts": .int32(6), "harebell-parked": .int32(-1)], [:],
            ] {
                let history = RequestHistory(try delivery(properties(headers: headers)))
                #expect(history.attempts == 0 && history.parkings == 0)
                #expect(history.processed == .no && history.expiresAt == nil)
            }
            let large = properties(headers: ["harebell-attempts": .int64(.max), "harebell-parked": .int64(.max)])
            #expect(RequestHistory(try delivery(large)).attempts == Int(Int32.max))
            let replay = properties(headers: ["harebell-replays": .int32(1)])
            #expect(try RedeliveryKey(delivery(replay)) != RedeliveryKey(delivery()), "it is no redelivery")
        }

        @Test("A request whose headers fill a frame cannot be parked")
        func tooLarge() throws {
            let large: FieldTable = ["x": .text([UInt8](repeating: 0x61, count: 111_000))]
            #expect(parked(try delivery(properties(headers: large))) == nil)
        }
    }
}

extension ResultEncoder {
    /// The result of a notification that shares nothing with others, by a new encoder.
    static func encode(
        _ report: Report, id: NotificationID? = nil, position: Int? = nil, notification: Core.Notification? = nil,
        delivery: Delivery
    ) -> Publication {
        let now = Moment(instant: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 0))
        let end = Conclusion(
            request: InFlightRequest(delivery: delivery, arrived: now), notification: notification, position: position,
            id: id, report: report)
        var encoder = ResultEncoder()
        return encoder.encode(end, to: PublishRoute(exchange: [], routingKey: ArraySlice("replies".utf8)))
    }
}

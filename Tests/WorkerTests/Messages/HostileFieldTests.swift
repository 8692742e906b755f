import AMQP
import Core
import Pipeline
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration

/// Each field of a message with the worst values that a producer can write into it.
@Suite("Fields with hostile values")
struct HostileFieldTests {
    struct Hostile: CustomTestStringConvertible {
        let testDescription: String
        let body: String
        let edit: (inout MessageProperties) -> Void

        init(_ name: String, body: String? = nil, _ edit: @escaping (inout MessageProperties) -> Void = { _ in }) {
            testDescription = name
            self.body = body ?? HostileFieldTests.body(1)
            self.edit = edit
        }

        static func header(_ name: String, _ value: FieldValue) -> Hostile {
            Hostile("header \(name): \("\(value)".prefix(60))") { $0.headers = [name: value] }
        }
    }

    fileprivate static func body(_ number: Int, _ more: String = "") -> String {
        String(World.body(number).dropLast()) + more + "}"
    }

    private static let longest = Array(repeating: UInt8(ascii: "x"), count: 255)
    /// Characters that break out of text, tables and terminals.
    private static let odd = Array("\u{0}\r\n\t\u{1B}[2J\"\\'\u{202E}\u{2066}\u{FEFF}\u{85}".utf8) + [0xFF, 0xC0, 0x80]

    private static var properties: [Hostile] {
        let texts: [(String, WritableKeyPath<MessageProperties, [UInt8]?>)] = [
            ("content-type", \.contentType), ("content-encoding", \.contentEncoding),
            ("correlation-id", \.correlationID), ("reply-to", \.replyTo), ("expiration", \.expiration),
            ("message-id", \.messageID), ("type", \.type), ("user-id", \.userID), ("app-id", \.appID),
            ("cluster-id", \.clusterID),
        ]
        let values: [(String, [UInt8])] = [("nothing", []), ("255 bytes", longest), ("odd bytes", odd)]
        var all = texts.flatMap { name, property in
            values.map { value in Hostile("\(name): \(value.0)") { $0[keyPath: property] = value.1 } }
        }
        for expiration in ["-1", "0", "soon", "99999999999999999999", "9223372036854775807"] {
            all.append(Hostile("expiration \(expiration)") { $0.expiration = Array(expiration.utf8) })
        }
        for timestamp: UInt64 in [0, 1 << 62, .max] {
            all.append(Hostile("timestamp \(timestamp)") { $0.timestamp = timestamp })
        }
        all.append(Hostile("priority 255") { $0.priority = 255 })
        all.append(Hostile("delivery mode 255") { $0.deliveryMode = 255 })
        // A queue without a consumer, the worker's own queues, and one with a delay of 15 minutes.
        for queue in ["nobody", "push.requests", "push.dead", "push.requests.retry.900s", "amq.gen-x"] {
            all.append(Hostile("reply-to \(queue)") { $0.replyTo = Array(queue.utf8) })
        }
        return all
    }

    private static var numbers: [FieldValue] {
        [
            .int64(.max), .int64(.min), .int64(-1), .uint64(.max), .double(.nan), .double(.infinity),
            .decimal(scale: 255, value: .max), .timestamp(.max), .boolean(true), .void, .text(odd), .text([]),
            .array([.int64(.max), .table(["x": .void])]), .table(["a": .array([])]), .bytes(longest),
        ]
    }

    private static var headers: [Hostile] {
        let names = [
            "harebell-attempts", "harebell-parked", "harebell-deferred", "harebell-replays", "harebell-expires-at",
            "harebell-done", "harebell-processed", "harebell-queue", "harebell-first-seen", "harebell-result",
            "x-death", "x-delivery-count", "x-first-death-queue", "CC", "BCC", "x-delay", "traceparent", "tracestate",
            "baggage", "apns-priority", "apns-expiration", "device-token",
        ]
        var all = names.flatMap { name in numbers.map { Hostile.header(name, $0) } }
        all.append(.header("baggage", .text(Array(repeating: 0x41, count: 60_000))))
        all.append(
            Hostile("1,000 headers") { properties in
                properties.headers = FieldTable(
                    (0..<1000).map { FieldTable.Entry(name: Array("h\($0)".utf8), value: .int32(1)) })
            })
        all.append(
            Hostile("one name a hundred times") { properties in
                let entry = FieldTable.Entry(name: Array("harebell-attempts".utf8), value: .int64(.max))
                properties.headers = FieldTable(Array(repeating: entry, count: 100))
            })
        return all
    }

    private static func tokens(_ count: Int) -> String {
        #"{"apns-topic":"com.example.app","payload":{"aps":{"badge":1}},"device-tokens":["#
            + Array(repeating: #""00ff""#, count: count).joined(separator: ",") + "]}"
    }

    private static var bodies: [Hostile] {
        [
            ("nothing", ""), ("a byte", "\u{0}"), ("brackets", String(repeating: "[", count: 16_000)),
            ("a number", String(repeating: "9", count: 16_000)), ("two objects", "{}{}"),
            ("attempts", body(1, #","apns-priority":99999999999999999999"#)),
            ("an expiration", body(1, #","apns-expiration":-9223372036854775808"#)),
            ("the latest expiration", body(1, #","apns-expiration":99999999999"#)),
            ("the largest number", body(1, #","apns-expiration":9223372036854775807"#)),
            ("an id twice", body(1, #","apns-id":"x","apns-id":"y""#)),
            ("a collapse id", body(1, #","apns-collapse-id":"\#(String(repeating: "\u{1F600}", count: 40))""#)),
            ("a line feed in a header", body(1, #","apns-collapse-id":"a\r\nauthorization: b""#)),
            ("another's topic", body(1, #","apns-topic":"com.example.app.voip.complication""#)),
            ("another's environment", body(1, #","environment":"staging""#)),
            ("a push type", body(1, #","apns-push-type":"\#(String(repeating: "x", count: 4000))""#)),
            ("500 equal tokens", tokens(500)), ("501 tokens", tokens(501)),
        ].map { Hostile("body: \($0)", body: $1) }
    }

    private static let replyTo = "replies"

    @Test("With any message, the next producer's request is answered and no connection is lost")
    func harmless() throws {
        let world = try World.started(prefetch: 50)
        // A pool may open more connections to APNs at any time.
        func brokerConnects() -> Int { world.network.attempts - world.outlooks.reduce(0) { $0 + $1.connects.count } }
        let connects = brokerConnects()
        var number = 0
        for hostile in Self.properties + Self.headers + Self.bodies {
            try world.request(hostile.body, id: "h\(number)", hostile.edit)
            number += 1
            try world.request(Self.body(2), id: "good\(number)", replyTo: Self.replyTo)
            let isAnswered = world.pass(atMost: .milliseconds(500)) {
                world.published(in: Self.replyTo).count == number
            }
            try #require(isAnswered, "\(hostile.testDescription)")
        }
        #expect(world.published(in: Self.replyTo).allSatisfy { $0.outcome == "accepted" })
        #expect(brokerConnects() == connects, "no connection to the broker is lost")
        #expect(world.broker.violations.isEmpty)
        // Requests in a retry queue return, and then nothing is unsettled.
        #expect(world.pass(atMost: .seconds(1000)) { world.isQuiet })
        #expect(world.worker?.counters.unsettled == 0)
    }
}

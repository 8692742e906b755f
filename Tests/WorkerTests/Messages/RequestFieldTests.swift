import AMQP
import Core
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration

/// What producers write into properties and fields, through a whole worker: what APNs receives, and the result.
@Suite("Fields of requests through the worker")
struct RequestFieldTests {
    private static let body = #"{"device-token":"7abc","apns-topic":"com.example.app","payload":{"aps":{"badge":1}}}"#

    /// What APNs received of a request, and its result.
    private static func run(
        _ body: String = body, replyTo: String? = nil, _ edit: (inout MessageProperties) -> Void = { _ in }
    ) throws -> (record: SimulatorLedger.Record?, result: World.Published) {
        let world = try World.started()
        try world.request(body, id: "m1", replyTo: replyTo, edit)
        #expect(world.pass(atMost: .seconds(3)) { world.isQuiet })
        #expect(world.ledger.records.count <= 1)
        return (world.ledger.records.first, try #require(world.published(in: "push.results").first))
    }

    @Test("reply_to may be an address of RabbitMQ")
    func addresses() throws {
        #expect(try Self.run(replyTo: "/queues/push.results").result.outcome == "accepted")
        #expect(try Self.run(replyTo: "/queues/push%2Eresults").result.outcome == "accepted")
    }

    @Test(
        "An address that names no queue is named in the detail",
        arguments: ["/exchanges/e/k", "/queues/a%2", "/queues/", "/queues/a/b", "/topic/x"])
    func otherAddresses(address: String) throws {
        let result = try Self.run(replyTo: address).result
        #expect(result.outcome == "accepted" && result.body.contains("\"detail\":\"reply-to: an address that"))
    }

    @Test(
        "Without a queue for results, such an address makes the request a dead letter with its result",
        arguments: ["/exchanges/e/k", "/queues/"])
    func lostAddress(address: String) throws {
        let world = try World.started { $0.results.route = nil }
        for round in 1...2 {
            try world.request(Self.body, id: "m\(round)", replyTo: address)
            #expect(world.pass(atMost: .seconds(3)) { world.isQuiet })
            let letters = world.published(in: "push.dead")
            #expect(letters.map(\.outcome) == Array(repeating: "accepted", count: round))
            #expect(letters.last?.headers["harebell-detail"]?.hasPrefix("reply-to: an address that") == true)
        }
        try world.request(World.fanOut(["1", "zz"]), id: "list", replyTo: address)
        #expect(world.pass(atMost: .seconds(3)) { world.isQuiet })
        #expect(world.published(in: "push.dead").last?.headers["harebell-done"] == "01")
    }

    @Test(
        "A timestamp may be in milliseconds, and one that is impossible counts for nothing",
        arguments: [(-10_000, true), (-10, false), (-3600, false), (90_000, false)])
    func timestamps(age: Int64, isMilliseconds: Bool) throws {
        let start = World.start.wall
        let (_, result) = try Self.run {
            $0.timestamp = UInt64((isMilliseconds ? start.milliseconds : start.seconds) + age)
            $0.expiration = Array("60000".utf8)
        }
        #expect(result.outcome == "accepted")
    }

    @Test("An invalid result carries what could be read", arguments: ["7", "[]", "\"x\""])
    func invalid(priority: String) throws {
        let body = Self.body.dropLast() + #","environment":"production","apns-priority":\#(priority)}"#
        let result = try Self.run(String(body)).result
        #expect(result.outcome == "invalid")
        for part in [
            #""device-token":"7abc","apns-topic":"com.example.app","environment":"production""#, "apns-priority: ",
        ] { #expect(result.body.contains(part), "\(result.body)") }
    }

    @Test(
        "A missing or unknown topic is named with the other mistakes, but not for a body that is not JSON",
        arguments: [
            ("{}", "apns-topic: missing, and more than one app is configured; payload: missing"),
            (
                body.replacing("app\"", with: "ap\",\"apns-priority\":7"),
                #"apns-topic: no app \"com.example.ap\" is configured; did you mean \"com.example.app\"?; apns-p"#
            ),
            (
                body.replacing("app\"", with: "ap\"").replacing("token\":\"7abc\"", with: "tokens\":[\"z\"]"),
                #"apns-topic: no app \"com.example.ap\" is configured; did you mean \"com.example.app\"?; device-tok"#
            ), ("{", "body: not JSON: expected a key at byte 1\""),
        ])
    func topicBesideOthers(body: String, detail: String) throws {
        let result = try Self.run(body).result
        #expect(result.outcome == "invalid" && result.body.contains(#""detail":"\#(detail)"#), "\(result.body)")
    }

    @Test("A near miss is named in an accepted result")
    func nearMiss() throws {
        let body = Self.body.dropLast() + #","apns-colapse-id":"x"}"#
        let result = try Self.run(String(body)).result
        #expect(result.outcome == "accepted" && result.body.contains(#"did you mean \"apns-collapse-id\"?"#))
    }

    @Test("Device tokens in a header may be an array")
    func tokenArray() throws {
        let tokens = FieldValue.array([.string("7abc")])
        let (record, _) = try Self.run(#"{"aps":{"badge":1}}"#) {
            $0.headers = ["Device-Tokens": tokens, "apns-topic": .string("com.example.app")]
        }
        #expect(string(record.map { Array($0.deviceToken) }) == "7abc")
        let (none, refused) = try Self.run(#"{"aps":{"badge":1}}"#) {
            $0.headers = ["device-tokens": .array([.string("7abc"), .int32(5)])]
        }
        #expect(none == nil && refused.body.contains("device-tokens: expected an array of texts, or a text"))
        let deep = (0..<20).reduce(FieldValue.array([])) { inner, _ in .array([inner]) }
        let headers: FieldTable = ["Device-Tokens": tokens, "apns-topic": .string("com.example.app"), "deep": deep]
        let world = try World.started(script: "token *: 503 ServiceUnavailable")
        try world.request(#"{"aps":{"badge":1}}"#) { ($0.priority, $0.headers) = (3, headers) }
        let copy = world.parked.first?.decodedProperties
        #expect(copy?.priority == 3 && copy?.headers?["device-tokens"] == tokens)
    }

    @Test("A body that is too large still has the target of its headers in the result")
    func oversize() throws {
        let (_, result) = try Self.run(String(repeating: "x", count: 20_000)) {
            $0.headers = ["device-token": .string("7abc"), "apns-topic": .string("com.example.app")]
        }
        #expect(result.outcome == "invalid")
        #expect(result.body.contains(#""device-token":"7abc","apns-topic":"com.example.app""#), "\(result.body)")
    }

    // MARK: Members

    @Test("A notification expires after its last second, and 0 never does")
    func expiration() throws {
        let now = World.start.wall.seconds
        let past = try Self.run(World.body(extra: "\"apns-expiration\":\(now - 1),"))
        #expect(past.record == nil)
        #expect(past.result.outcome == "expired")
        for value in [0, now, now + 1] {
            let (record, result) = try Self.run(World.body(extra: "\"apns-expiration\":\(value),"))
            #expect(string(record?.fields.expiration) == "\(value)")
            #expect(result.outcome == "accepted")
        }
    }

    @Test("A collapse id may have 64 bytes in UTF-8")
    func collapseID() throws {
        let longest = String(repeating: "é", count: 32)
        let (record, result) = try Self.run(World.body(extra: "\"apns-collapse-id\":\"\(longest)\","))
        #expect(string(record?.fields.collapseID) == longest)
        #expect(result.outcome == "accepted")
    }

    @Test("A collapse id in a broadcast has no meaning for APNs, and is invalid instead of being dropped")
    func collapseIDInBroadcast() throws {
        let (record, result) = try Self.run(
            #"{"apns-channel-id":"dHN0LXNyY2gtY2hubA==","apns-topic":"com.example.app","apns-collapse-id":"x","#
                + #""payload":{"aps":{"event":"end","timestamp":1}}}"#)
        #expect(record == nil)
        #expect(result.outcome == "invalid")
        #expect(result.body.contains("\"detail\":\"apns-collapse-id: expected none beside apns-channel-id\""))
    }

    @Test("Device tokens of any even length are sent in lower case", arguments: [2, 64, 128, 200, 1024])
    func deviceToken(length: Int) throws {
        let token = String(repeating: "7A", count: length / 2)
        let (record, result) = try Self.run(
            "{\"device-token\":\"\(token)\",\"apns-topic\":\"com.example.app\",\"payload\":{\"aps\":{\"badge\":1}}}")
        #expect(string(record.map { Array($0.deviceToken) }) == token.lowercased())
        #expect(result.outcome == "accepted")
    }
}

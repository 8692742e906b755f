import AMQP
import Core
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration

/// The headers of a request through a whole worker: those that APNs receives, or the result's detail instead.
@Suite("Headers through the worker")
struct HeaderRulesTests {
    private static func body(_ members: [(String, String)]) -> String {
        var all = [
            ("device-token", "\"7abc\""), ("apns-topic", "\"com.example.app\""), ("payload", "{\"aps\":{\"badge\":1}}"),
        ]
        for (key, value) in members {
            all.removeAll {
                $0.0 == key || (key == "device-tokens" || key == "apns-channel-id") && $0.0 == "device-token"
            }
            all.append((key, value))
        }
        return "{" + all.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    private func run(
        _ members: [(String, String)], id: String? = "m1", at seconds: Int64 = 0
    ) throws -> (record: SimulatorLedger.Record?, result: World.Published) {
        let world = try World.started()
        try world.request(Self.body(members), id: id)
        #expect(world.pass(atMost: .seconds(2)) { world.isQuiet })
        #expect(world.ledger.records.count <= 1)
        return (world.ledger.records.first, try #require(world.published(in: "push.results").first))
    }

    private func text(_ bytes: [UInt8]?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: apns-id

    @Test("An apns-id in upper case is sent and reported in its canonical form")
    func canonicalID() throws {
        let (record, result) = try run([("apns-id", "\"123E4567-E89B-12D3-A456-4266554400A0\"")])
        #expect(text(record?.fields.id) == "123e4567-e89b-12d3-a456-4266554400a0")
        #expect(result.messageID == "123e4567-e89b-12d3-a456-4266554400a0")
    }

    @Test("Without an apns-id it is the UUID version 5 of the request's key, the same in every process")
    func derivedID() throws {
        let first = try run([]).record
        let second = try run([]).record
        let other = try run([], id: "m2").record
        let id = try #require(text(first?.fields.id))
        #expect(id == id.lowercased())
        #expect(id.count == 36 && Array(id)[14] == "5" && "89ab".contains(Array(id)[19]))
        #expect(text(second?.fields.id) == id)
        #expect(text(other?.fields.id) != id)
    }

    // MARK: apns-expiration

    @Test("A notification expires after its last second, and 0 never does")
    func expiration() throws {
        let now = World.start.wall.seconds
        let past = try run([("apns-expiration", "\(now - 1)")])
        #expect(past.record == nil)
        #expect(past.result.outcome == "expired")
        for value in [0, now, now + 1] {
            let (record, result) = try run([("apns-expiration", "\(value)")])
            #expect(text(record?.fields.expiration) == "\(value)")
            #expect(result.outcome == "accepted")
        }
    }

    // MARK: apns-priority

    @Test(
        "Each priority is sent unchanged; without one none is sent, except 5 for background",
        arguments: PushType.allCases.filter { $0 != .mdm })
    func priority(type: PushType) throws {
        let name = ("apns-push-type", "\"\(type)\"")
        let payload = ("payload", Self.payload(type))
        for value in ["10", "5", "1"] {
            let (record, result) = try run([name, payload, ("apns-priority", value)])
            if type == .background, value != "5" {
                #expect(record == nil)
                #expect(result.outcome == "invalid")
                #expect(result.body.contains("\"detail\":\"apns-priority: expected 5 for background, found \(value)\""))
            } else {
                #expect(text(record?.fields.priority) == value)
                #expect(result.outcome == "accepted")
            }
        }
        #expect(text(try run([name, payload]).record?.fields.priority) == (type == .background ? "5" : nil))
    }

    private static func payload(_ type: PushType) -> String {
        switch type {
        case .background: "{\"aps\":{\"content-available\":1}}"
        case .liveactivity: "{\"aps\":{\"event\":\"end\",\"timestamp\":1}}"
        case .controls, .widgets: "{\"aps\":{\"content-changed\":true}}"
        default: "{\"aps\":{\"badge\":1}}"
        }
    }

    // MARK: apns-topic

    @Test(
        "The full topic is sent, whether the request has the bundle ID or the full one",
        arguments: PushType.allCases.filter { $0 != .mdm })
    func topic(type: PushType) throws {
        let full = "com.example.app\(type.topicSuffix)"
        for topic in ["com.example.app", full] {
            let (record, result) = try run([
                ("apns-push-type", "\"\(type)\""), ("payload", Self.payload(type)), ("apns-topic", "\"\(topic)\""),
            ])
            #expect(text(record?.fields.topic) == full)
            #expect(text(record?.fields.pushType) == "\(type)")
            #expect(result.outcome == "accepted")
        }
    }

    // MARK: apns-collapse-id

    @Test("A collapse id may have 64 bytes in UTF-8")
    func collapseID() throws {
        let longest = String(repeating: "é", count: 32)
        let (record, result) = try run([("apns-collapse-id", "\"\(longest)\"")])
        #expect(text(record?.fields.collapseID) == longest)
        #expect(result.outcome == "accepted")
    }

    @Test("A collapse id in a broadcast has no meaning for APNs, and is invalid instead of being dropped")
    func collapseIDInBroadcast() throws {
        let world = try World.started()
        try world.request(
            Self.body([
                ("apns-channel-id", "\"dHN0LXNyY2gtY2hubA==\""), ("apns-push-type", "\"liveactivity\""),
                ("payload", Self.payload(.liveactivity)), ("apns-collapse-id", "\"x\""),
            ]), id: "m1")
        #expect(world.pass(atMost: .seconds(2)) { world.isQuiet })
        #expect(world.sent == 0)
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "invalid")
        #expect(result.body.contains("\"detail\":\"apns-collapse-id: expected none beside apns-channel-id\""))
    }

    // MARK: Device tokens and channels

    @Test("Device tokens of any even length are sent in lower case", arguments: [2, 64, 128, 200, 1024])
    func deviceToken(length: Int) throws {
        let token = String(repeating: "7A", count: length / 2)
        let (record, result) = try run([("device-token", "\"\(token)\"")])
        #expect(text(record.map { Array($0.deviceToken) }) == token.lowercased())
        #expect(result.outcome == "accepted")
    }
}

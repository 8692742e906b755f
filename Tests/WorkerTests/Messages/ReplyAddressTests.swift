import AMQP
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration

/// What producers write into properties, through a whole worker.
@Suite("Properties of requests through the worker")
struct ReplyAddressTests {
    private static let body =
        #"{"device-token":"7abc","apns-topic":"com.example.app","payload":{"aps":{"badge":1}}}"#

    private static func result(
        _ body: String = body, in queue: String = "push.results", replyTo: String? = nil,
        _ edit: (inout MessageProperties) -> Void = { _ in }
    ) throws -> World.Published {
        let world = try World.started()
        try world.request(body, id: "m1", replyTo: replyTo, edit)
        #expect(world.pass(atMost: .seconds(3)) { world.isQuiet })
        return try #require(world.published(in: queue).first)
    }

    @Test("reply_to may be an address of RabbitMQ")
    func addresses() throws {
        #expect(try Self.result(replyTo: "/queues/push.results").outcome == "accepted")
        #expect(try Self.result(replyTo: "/queues/push%2Eresults").outcome == "accepted")
    }

    @Test(
        "An address that names no queue is named in the detail",
        arguments: ["/exchanges/e/k", "/queues/a%2", "/queues/", "/queues/a/b", "/topic/x"])
    func otherAddresses(address: String) throws {
        let result = try Self.result(replyTo: address)
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
    }

    @Test(
        "A timestamp may be in milliseconds, and one that is impossible counts for nothing",
        arguments: [
            (-10_000, true, 60_000, "accepted"), (-10, false, 60_000, "accepted"), (-3600, false, 60_000, "accepted"),
            (90_000, false, 60_000, "accepted"),
        ])
    func timestamps(age: Int64, isMilliseconds: Bool, lifetime: Int, outcome: String) throws {
        let start = World.start.wall
        let result = try Self.result {
            let time = isMilliseconds ? start.milliseconds + age : start.seconds + age
            $0.timestamp = UInt64(time)
            $0.expiration = Array("\(lifetime)".utf8)
        }
        #expect(result.outcome == outcome)
    }

    @Test(
        "A request in a delay counts its expiration from the time of publishing, in either unit", arguments: [1, 1000])
    func delayed(unit: Int64) throws {
        let start = World.start.wall.seconds
        let later = Self.body.dropLast() + #","not-before":\#(start + 10)}"#
        for (lifetime, outcome) in [("12000", "expired"), ("16000", "accepted")] {
            let world = try World.started()
            try world.request(String(later), id: "m1") {
                $0.timestamp = UInt64((start - 5) * unit)
                $0.expiration = Array(lifetime.utf8)
            }
            world.pass(.seconds(20))
            #expect(world.published(in: "push.results").map(\.outcome) == [outcome])
        }
    }

    @Test("An invalid result carries what could be read", arguments: ["7", "[]", "\"x\""])
    func invalid(priority: String) throws {
        let body = Self.body.dropLast() + #","environment":"production","apns-priority":\#(priority)}"#
        let result = try Self.result(String(body))
        #expect(result.outcome == "invalid")
        for part in [
            #""device-token":"7abc","apns-topic":"com.example.app","environment":"production""#, "apns-priority: ",
        ] { #expect(result.body.contains(part), "\(result.body)") }
    }

    @Test("A near miss is named in an accepted result")
    func nearMiss() throws {
        let body = Self.body.dropLast() + #","apns-colapse-id":"x"}"#
        let result = try Self.result(String(body))
        #expect(result.outcome == "accepted" && result.body.contains(#"did you mean \"apns-collapse-id\"?"#))
    }

    @Test("A body that is too large still has the target of its headers in the result")
    func oversize() throws {
        let result = try Self.result(String(repeating: "x", count: 20_000)) {
            $0.headers = ["device-token": .string("7abc"), "apns-topic": .string("com.example.app")]
        }
        #expect(result.outcome == "invalid")
        #expect(result.body.contains(#""device-token":"7abc","apns-topic":"com.example.app""#), "\(result.body)")
    }
}

import AMQP
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration

/// `results.per: request`: `docs/produce/results.md`, "Results per request".
@Suite("Results of a request in one message")
struct ResultsPerRequestTests {
    private static func world(
        script: String = "", configure: (inout Configuration) -> Void = { _ in }
    ) throws -> World {
        try World.started(script: script) {
            $0.results.per = .request
            configure(&$0)
        }
    }

    /// The outcomes in an array of results, in order.
    private static func outcomes(_ body: String) -> [String] {
        body.split(separator: "\"outcome\":\"").dropFirst().map { String($0.prefix { $0 != "\"" }) }
    }

    @Test("The results are one array, in the order of the device tokens, whichever ends first")
    func order() throws {
        let world = try Self.world(script: "token 71*: delay 300ms")
        try world.request(World.fanOut(["71", "dead", "zz", "72"]), id: "m1", replyTo: "replies")
        #expect(world.published(in: "replies").isEmpty)
        #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
        let replies = world.published(in: "replies")
        try #require(replies.count == 1)
        #expect(Self.outcomes(replies[0].body) == ["accepted", "unregistered", "invalid", "accepted"])
        #expect(replies[0].body.hasPrefix("[{") && replies[0].body.hasSuffix("}]"))
        #expect(replies[0].outcome == "mixed" && replies[0].messageID?.hasSuffix("-0") == true)
        #expect(world.published(in: "push.feedback").map(\.outcome) == ["unregistered"])
        #expect(world.published(in: "push.dead").count == 1)
        let properties = try #require(world.broker.messages(in: "replies").first?.decodedProperties)
        #expect(properties.headers?["harebell-results"] == .int32(4) && properties.headers?["harebell-status"] == nil)
        #expect(properties.type == Array("harebell.result".utf8) && properties.correlationID == Array("m1".utf8))
    }

    @Test("A request with one notification, or none, has an array of one")
    func single() throws {
        let world = try Self.world()
        try world.request(World.body(), id: "m1")
        try world.request("no JSON", id: "m2")
        let results = world.published(in: "push.results")
        #expect(results.map { Self.outcomes($0.body) } == [["accepted"], ["invalid"]])
        #expect(results.map(\.outcome) == ["accepted", "invalid"])
        #expect(results.allSatisfy { $0.body.hasPrefix("[{\"apns-id\":\"\($0.messageID ?? "")") })
    }

    @Test("The array is confirmed before the request is acknowledged")
    func confirmedFirst() throws {
        let world = try Self.world()
        world.broker.holdsConfirms = true
        try world.request(World.fanOut(["71", "72"]), id: "m1")
        let statuses = world.broker.messages(in: "push.results").map { $0.header("harebell-status") }
        #expect(statuses == [.int32(200)] && world.broker.unsettledCount == 1)
        world.cut(consuming: false)
        world.broker.holdsConfirms = false
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.sent == 2)
    }

    @Test("A retry publishes only new results")
    func retry() throws {
        let world = try Self.world(script: "token 72*, attempt 1: 503 ServiceUnavailable")
        try world.request(World.fanOut(["71", "72", "73"]), id: "m1")
        #expect(world.published(in: "push.results").map { Self.outcomes($0.body) } == [["accepted", "accepted"]])
        #expect(world.broker.unsettledCount == 0 && world.parked.count == 1)
        #expect(world.pass(atMost: .seconds(901)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.map { Self.outcomes($0.body) } == [["accepted", "accepted"], ["accepted"]])
        #expect(results[1].body.contains(World.token("72")) && results[1].messageID?.hasSuffix("-1") == true)
        #expect(world.sent == 4)
    }

    @Test("An unroutable array becomes a part of the dead letter, which counts its results once")
    func unroutable() throws {
        let script = "token e4e4*: 400 BadCollapseId\ntoken 73*, attempt 1: 503 ServiceUnavailable"
        let world = try Self.world(script: script) { $0.results.route = nil }
        try world.request(World.fanOut(["71", "e4e4"]), id: "m1", replyTo: "nowhere")
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        let letters = world.published(in: "push.dead")
        try #require(letters.count == 1)
        #expect(letters[0].headers["harebell-result"].map(Self.outcomes) == ["accepted", "rejected"])
        #expect(letters[0].headers["harebell-detail"]?.hasPrefix("2 of 2 notifications failed") == true)
        try world.request(World.fanOut(["dead", "71", "73"]), id: "m3", replyTo: "nowhere")
        #expect(world.pass(atMost: .seconds(10)) { world.published(in: "push.dead").count == 2 })
        let waits = try #require(world.published(in: "push.dead").last)
        #expect(waits.outcome == "accepted" && waits.headers["harebell-done"] == "04")
        let large = try Self.world { ($0.results.route, $0.broker.maximumMessage) = (nil, 65_536) }
        try large.request(World.fanOut((100..<500).map { "7\($0)" }), id: "m2", replyTo: "nowhere")
        #expect(large.pass(atMost: .seconds(60)) { large.isQuiet })
        let results = large.published(in: "push.dead").first?.headers["harebell-result"] ?? ""
        #expect(Self.outcomes(results).count > 100 && results.utf8.count <= 65_536 && results.hasSuffix("}]"))
    }

    @Test("Without reply_to, the array has the published results of the request")
    func failuresOnly() throws {
        let world = try Self.world { $0.results.publish = .failures }
        try world.request(World.fanOut(["71", "dead"]), id: "m1")
        try world.request(World.fanOut(["71", "72"]), id: "m2")
        #expect(world.published(in: "push.results").map { Self.outcomes($0.body) } == [["unregistered"]])
        #expect(world.published(in: "push.results").map { $0.headers["harebell-reason"] } == ["Unregistered"])
        #expect(world.isQuiet)
    }

    @Test("A reload that removes the route of results settles requests with gathered results")
    func reloaded() throws {
        let world = try Self.world(script: "token 72*: delay 300ms")
        try world.request(World.fanOut(["71", "72"]), id: "m1")
        try world.reload { $0.results.route = nil }
        #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
        #expect(world.published(in: "push.results").isEmpty && world.sent == 2)
    }
}

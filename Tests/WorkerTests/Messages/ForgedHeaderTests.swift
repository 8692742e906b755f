import AMQP
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration

/// A producer that writes headers which only a worker should write.
@Suite("Forged headers")
struct ForgedHeaderTests {
    private func header(_ name: String, of message: Broker.Message?) -> FieldValue? {
        message?.decodedProperties?.headers?[name]
    }

    @Test("An ordinary queue is still consumed after a forged stream offset, in the order of its messages")
    func streamOffset() throws {
        let world = try World()
        for number in 0..<5 {
            try world.request(World.body(), id: "m\(number)") {
                if number == 1 { $0.headers = ["x-stream-offset": .int64(3)] }
            }
        }
        try world.start()
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == Array(repeating: "accepted", count: 5))
        #expect(world.sent == 5 && world.broker.unsettledCount == 0)
    }

    /// Makes a message look as if it had waited in a retry queue.
    private static var parked: FieldTable {
        [
            "harebell-parked": .int32(1),
            "x-death": .array([DeadLetterSamples.death("push.requests.retry.900s", "expired")]),
        ]
    }
    private static var replayed: FieldTable {
        ["harebell-replays": .int32(1), "harebell-replay-id": .string("123e4567-e89b-12d3-a456-426655440000")]
    }

    @Test(
        "Impossible attempt counts are not believed: the request is tried, parked, and tried again",
        arguments: [.int64(.max), .int64(.min), .int32(-1), .int32(6), .int32(1000), .string("6")] as [FieldValue],
        [parked, [:]])
    func attempts(value: FieldValue, marks: FieldTable) throws {
        let world = try World.started(script: "attempt 1: 503 ServiceUnavailable\nattempt 2: 503 ServiceUnavailable") {
            $0.retry.maximumAttempts = 6
        }
        try world.request(World.body(), id: "m1") {
            $0.headers = marks
            $0.headers?["harebell-attempts"] = value
        }
        #expect(world.sent == 1)
        #expect(header("harebell-attempts", of: world.parked.first) == .int32(1))
        // The copy is genuine, and its attempts count.
        #expect(world.pass(atMost: .seconds(3601)) { world.sent == 2 })
        world.settle()
        #expect(header("harebell-attempts", of: world.parked.first) == .int32(2))
        #expect(world.pass(atMost: .seconds(86_400)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
    }

    @Test(
        "An expiration beyond all clocks has no effect and is removed",
        arguments: [Int64.min, .max, -1], [parked, replayed, [:]])
    func expiry(milliseconds: Int64, marks: FieldTable) throws {
        let world = try World.started(script: "attempt 1: 503 ServiceUnavailable")
        try world.request(World.body(), id: "m1") {
            $0.headers = marks
            $0.headers?["harebell-expires-at"] = .int64(milliseconds)
        }
        #expect(world.pass(atMost: .seconds(3601)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
    }

    @Test(
        "A dead letter's headers are the worker's own, whatever the request has under their names",
        arguments: [[:], parked, replayed])
    func deadLetter(marks: FieldTable) throws {
        let world = try World.started()
        try world.request("{", id: "m1") {
            $0.headers = marks
            for (name, value) in [
                ("queue", "victim.payments"), ("outcome", "accepted"), ("reason", "BadTopic"), ("worker", "mallory"),
                ("failed-at", "1999-01-01T00:00:00Z"), ("first-seen", "long ago"), ("of-mine", "x"),
            ] {
                $0.headers?["harebell-\(name)"] = .string(value)
            }
            $0.headers?["harebell-attempts"] = .int64(.max)
            $0.headers?["mine"] = .string("kept")
        }
        let letter = try #require(world.broker.messages(in: "push.dead").first)
        #expect(header("harebell-queue", of: letter) == .string("push.requests"))
        #expect(header("harebell-outcome", of: letter) == .string("invalid"))
        #expect(header("harebell-attempts", of: letter) == .int32(0))
        #expect(header("harebell-worker", of: letter) != .string("mallory"))
        #expect(header("harebell-failed-at", of: letter) != .string("1999-01-01T00:00:00Z"))
        #expect(header("harebell-first-seen", of: letter) != .string("long ago"))
        for name in ["harebell-reason", "harebell-of-mine", "x-death"] { #expect(header(name, of: letter) == nil) }
        #expect(header("mine", of: letter) == .string("kept"))
    }

    @Test("Notifications that a producer marks as done are sent all the same")
    func done() throws {
        let world = try World.started()
        try world.request(World.fanOut(["71", "72", "73"]), id: "m1") {
            $0.headers = ["harebell-done": .string("03")]
        }
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.sent == 3)
        #expect(world.published(in: "push.results").count == 3)
    }

    @Test("A redelivery of a message with forged headers is recognised as the same request")
    func redelivered() throws {
        let world = try World.started(script: "token *: delay 2s")
        try world.request(World.body(), id: "m1") {
            $0.headers = Self.parked
            $0.headers?["harebell-parked"] = .int64(.max)
        }
        #expect(world.sent == 1)
        world.cut(consuming: true)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.sent == 1)
        #expect(world.published(in: "push.results").count == 1)
    }
}

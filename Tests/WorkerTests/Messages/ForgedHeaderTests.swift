import AMQP
import SimulatedWorld
import TestSupport
import Testing

/// A producer that writes headers which only a worker should write.
@Suite("Forged headers")
struct ForgedHeaderTests {
    @Test("An ordinary queue is still consumed after a forged stream offset, in the order of its messages")
    func streamOffset() throws {
        let world = try World()
        // More than the prefetch, so that the inquiry gets one.
        for number in 0..<15 {
            try world.request(World.body(), id: "m\(number)") {
                if number == 1 { $0.headers = ["x-stream-offset": .int64(3)] }
            }
        }
        try world.start()
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == Array(repeating: "accepted", count: 15))
        #expect(world.sent == 15 && world.broker.unsettledCount == 0)
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
        #expect(letter.header("harebell-queue") == .string("push.requests"))
        #expect(letter.header("harebell-outcome") == .string("invalid"))
        #expect(letter.header("harebell-attempts") == .int32(0))
        #expect(letter.header("harebell-worker") != .string("mallory"))
        #expect(letter.header("harebell-failed-at") != .string("1999-01-01T00:00:00Z"))
        #expect(letter.header("harebell-first-seen") != .string("long ago"))
        for name in ["harebell-reason", "harebell-of-mine", "x-death"] { #expect(letter.header(name) == nil) }
        #expect(letter.header("mine") == .string("kept"))
        let history: FieldTable = ["harebell-attempts": .int32(2), "harebell-processed": .string("unknown")]
        try world.request("{", id: "m2") { $0.headers = FieldTable(Self.parked.entries + history.entries) }
        let result = world.published(in: "push.results").last
        #expect(result?.body.contains(#""attempts":2,"processed":"unknown""#) == true)
        #expect(result?.outcome == "undelivered")
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

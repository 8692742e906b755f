import AMQP
import SimulatedWorld
import TestSupport
import Testing

@Suite("A broker with small frames")
struct SmallFrameTests {
    private static func text(_ count: Int) -> FieldValue { .text(Array(repeating: 0x61, count: count)) }

    /// A world whose broker has frames of this size.
    private static func world(frameMax: UInt32 = 8192) throws -> World {
        try World.started(before: { $0.broker.frameMax = frameMax })
    }

    @Test(
        "A dead letter loses its detail, then the request's largest headers, and names them; its body is complete",
        arguments: [4096, 8192] as [UInt32])
    func deadLetter(frameMax: UInt32) throws {
        let world = try Self.world(frameMax: frameMax)
        let size = Int(frameMax) * 7700 / 8192
        try world.request("no request", id: "bad") {
            $0.headers = ["small": .string("x"), "large": Self.text(size), "medium": Self.text(50)]
        }
        #expect(world.isQuiet)
        let letter = try #require(world.published(in: "push.dead").first)
        #expect(letter.body == "no request")
        #expect(letter.outcome == "invalid")
        #expect(letter.headers["small"] == "x" && letter.headers["medium"]?.count == 50)
        #expect(letter.headers["large"] == nil)
        #expect(letter.headers["harebell-omitted"] == "large")
        #expect(letter.headers["harebell-queue"] == "push.requests")
        #expect(world.published(in: "push.results").map(\.outcome) == ["invalid"])
        #expect(try !world.drain(within: .seconds(5)).wasCutShort)
    }

    @Test("A result loses the request's trace headers, and still goes to its reply queue")
    func result() throws {
        let world = try Self.world()
        try world.request(World.body(), id: "m", replyTo: "replies") {
            $0.headers = ["baggage": Self.text(7950), "tracestate": Self.text(80)]
        }
        #expect(world.isQuiet)
        let result = try #require(world.published(in: "replies").first)
        #expect(result.outcome == "accepted")
        #expect(result.headers["baggage"] == nil && result.headers["tracestate"]?.count == 80)
        #expect(result.headers["harebell-omitted"] == "baggage")
    }

    @Test(
        "A request whose copy does not fit into a retry queue's frame becomes a dead letter and is settled",
        arguments: [false, true])
    func retry(isFull: Bool) throws {
        let world = try Self.world()
        let queue = "push.requests.retry.900s"
        world.broker.queues[queue]?.rejectsPublishes = isFull
        if isFull { try world.request(World.body(), id: "waits", replyTo: queue) }
        try world.restartAPNs("token *: 503 ServiceUnavailable")
        try world.request(World.body(), id: "m", replyTo: "replies") { $0.headers = ["large": Self.text(8000)] }
        #expect(world.pass(atMost: .seconds(15)) { !world.published(in: "push.dead").isEmpty })
        world.broker.queues[queue]?.rejectsPublishes = false
        #expect(world.pass(atMost: .seconds(9)) { isFull ? !world.parked.isEmpty : world.isQuiet })
        #expect(world.published(in: "push.dead").map(\.body) == [World.body()])
        #expect(world.published(in: "replies").map(\.outcome) == ["undelivered"])
    }
}

import APNs
import Core
import HTTP2
import TestSupport
import Testing

/// GOAWAY in every phase of a connection, with every reason.
@Suite("APNsPool and GOAWAY")
struct PoolGoawayTests {
    private static let shutdown = #"{"reason":"Shutdown"}"#

    /// The indices of the requests that a server has received.
    private func numbers(_ server: TestServer) -> [Int] {
        server.received.compactMap { $0.header("apns-id")?.last?.hexDigitValue }
    }

    // MARK: Reason × phase

    /// All of Apple's reasons, an unknown one, and none.
    static let reasons = Set(ResponseRule.all.map(\.reason.description)).sorted() + ["SomethingNew", ""]

    @Test(
        "GOAWAY loses nothing for any reason: idle, before the first response, or with streams on either side",
        arguments: reasons)
    func everyPhase(reason: String) throws {
        let world = try World(tokens: Fixture.tokens()) { $0.connections = 1...5 }
        world.onRequest = { _, _ in }
        let body = reason.isEmpty ? "" : "{\"reason\":\"\(reason)\"}"
        world.pass(.seconds(1))
        world.servers[0].goaway(last: 0, body)
        world.pass(.seconds(1))
        #expect(world.servers.count == 2 && world.servers[0].isTransportClosed)
        // The first request awaits its response and is above the last-stream-id.
        world.submit(0..<3)
        world.pass(.seconds(1))
        #expect(numbers(world.servers[1]) == [0])
        world.servers[1].goaway(last: 0, body)
        world.pass(.seconds(1))
        #expect(world.servers.count == 3 && numbers(world.servers[2]) == [0])
        // The same, but within the last-stream-id.
        world.servers[2].goaway(last: 1, body)
        world.pass(.seconds(1))
        #expect(world.servers.count == 4 && numbers(world.servers[3]) == [1])
        world.servers[2].respond(1)
        world.servers[3].respond(1)
        world.pass(.seconds(1))
        #expect(world.responses.keys.sorted() == [0, 1] && world.servers[2].isTransportClosed)
        // Streams on either side of the last-stream-id.
        world.submit(3..<8)
        world.pass(.seconds(1))
        #expect(numbers(world.servers[3]) == [1, 2, 3, 4, 5, 6, 7])
        world.onRequest = { $0.respond($1.stream) }
        world.servers[3].goaway(last: 7, body)
        world.pass(.seconds(1))
        #expect(world.servers.count == 5 && numbers(world.servers[4]).sorted() == [5, 6, 7])
        for stream in [Int32(3), 5, 7] { world.servers[3].respond(stream) }
        world.pass(.seconds(1))
        #expect(world.responses.count == 8 && world.losses.isEmpty && world.endings == 8)
        #expect(world.statistics.ready == 1 && world.statistics.draining == 0)
        #expect(world.counters.goaways == [reason.isEmpty ? "NO_ERROR" : reason: 4])
        #expect(world.counters[.resends] == 4)
    }

    // MARK: The replacement

    @Test("The old connection gets a two-step GOAWAY while its replacement is still in the TLS handshake")
    func replacementHandshaking() throws {
        let world = try World()
        world.network.latency = .milliseconds(100)
        world.onRequest = { _, _ in }
        world.submit(0..<4)
        world.pass(.seconds(2))
        let old = world.servers[0]
        old.goaway(last: .max)
        world.pass(.milliseconds(250))
        #expect(world.statistics.connecting == 1 && world.statistics.draining == 1)
        world.onRequest = { $0.respond($1.stream) }
        old.goaway(last: 3, Self.shutdown)
        old.hangsUp = true
        world.pass(.milliseconds(110))
        #expect(world.statistics.connecting == 1 && world.statistics.draining == 0)
        world.pass(.seconds(2))
        #expect(world.responses.keys.sorted() == [2, 3] && world.losses.keys.sorted() == [0, 1])
        #expect(world.losses.values.allSatisfy { $0.processed == .unknown && $0.detail.contains("NO_ERROR Shutdown") })
        #expect(world.servers.count == 2)
    }

    @Test("Replacements that start with GOAWAY are followed by others, with growing backoff")
    func replacementsLeave() throws {
        let world = try World.holding(0..<3)
        world.onRequest = { $0.respond($1.stream) }
        world.onDial = { [unowned world] in if world.servers.count <= 6 { $0.goaway(last: 0, Self.shutdown) } }
        world.servers[0].goaway(last: 1, Self.shutdown)
        world.pass(.milliseconds(100))
        #expect(world.servers.count <= 3 && world.responses.isEmpty)
        world.pass(.seconds(60))
        world.servers[0].respond(1)
        world.pass(.seconds(1))
        #expect(world.servers.count == 7 && world.counters[.earlyEnds] == 5 && world.alarms.isEmpty, "each counts once")
        #expect(
            world.responses.keys.sorted() == [1, 2] && world.losses.keys.sorted() == [0], "0 met the drain deadline")
        #expect(world.counters.goaways == ["Shutdown": 6] && world.counters[.failures] == 6)
    }

    @Test(
        "Streams that GOAWAY excludes and RST_STREAM ends as well are resent once, in either order",
        arguments: [true, false], [HTTP2ErrorCode.refusedStream, .cancel])
    func reset(goawayFirst: Bool, code: HTTP2ErrorCode) throws {
        let world = try World.holding(0..<4)
        let old = world.servers[0]
        world.onRequest = { $0.respond($1.stream) }
        if goawayFirst { old.goaway(last: 3, Self.shutdown) }
        for stream in [Int32(5), 7] { old.reset(stream, code) }
        if !goawayFirst { old.goaway(last: 3, Self.shutdown) }
        for stream in [Int32(1), 3] { old.respond(stream) }
        world.pass(.seconds(1))
        // A reset that comes first leaves open whether APNs processed the request.
        let isUnknown = !goawayFirst && code == .cancel
        #expect(world.responses.count == (isUnknown ? 2 : 4) && world.endings == 4)
        #expect(
            world.losses.values.allSatisfy { $0.processed == .unknown } && world.losses.count == (isUnknown ? 2 : 0))
        #expect(world.counters[.resends] == (isUnknown ? 0 : 2))
    }

    @Test("A draining pool dials nothing for a GOAWAY, and returns the excluded requests")
    func draining() throws {
        let world = try World.holding(0..<3)
        world.pool.drain(at: world.now.instant)
        world.servers[0].goaway(last: 1, Self.shutdown)
        world.servers[0].respond(1)
        world.pass(.seconds(1))
        #expect(world.servers.count == 1 && world.isDrained)
        #expect(world.responses.keys.sorted() == [0] && world.losses.values.allSatisfy { $0.processed == .no })
        #expect(world.losses.values.allSatisfy { $0.detail.contains("GOAWAY said NO_ERROR Shutdown") })
    }
}

import APNs
import Core
import HTTP2
import TestSupport
import Testing

/// The cost of long queues and GOAWAYs, with only the protocol and the permits as limits.
@Suite("The throughput of a pool")
struct PoolThroughputTests {
    /// The time that a warm pool of four connections takes for `count` requests.
    private func time(
        for count: Int = 4000, permits: Int = 400, burst: Int = 20, latency: Duration, goawayEvery: Int = .max
    ) throws -> Duration {
        let world = try World(tokens: Fixture.tokens()) {
            $0.connections = 4...4
            ($0.permitsPerSecond, $0.burst) = (permits, burst)
        }
        world.network.latency = latency
        world.onRequest = { server, received in
            server.respond(received.stream)
            if server.received.count == goawayEvery { server.goaway(last: received.stream, #"{"reason":"Shutdown"}"#) }
        }
        world.submit(100_000..<100_100)
        world.pass(.seconds(3))
        #expect(world.responses.count == 100)
        let start = world.now.instant
        world.submit(0..<Handle(count))
        let all = count + 100
        while world.endings < all, world.now.instant < start + .seconds(60) { world.pass(.milliseconds(10)) }
        #expect(world.responses.count == all && world.losses.isEmpty && world.endings == all)
        let seen = world.servers.flatMap { $0.received.compactMap { $0.header("apns-id") } }
        #expect(seen.count == all && Set(seen).count == all, "each came once")
        if goawayEvery < .max { #expect(world.servers.count >= 10) }
        return world.now.instant - start
    }

    @Test("Four connections with the default permits carry the average rate of a billion a day, 100 ms from APNs")
    func billion() throws {
        let second = 1_000_000_000 / 86_400
        let time = try time(for: second, permits: 4000, burst: 500, latency: .milliseconds(50))
        #expect(time <= .milliseconds(1100), "the last of them need a round trip more")
    }

    @Test("A GOAWAY every 500 requests on each of four connections costs less than a tenth and loses nothing")
    func goaways() throws {
        let calm = try time(latency: .milliseconds(5))
        let stormy = try time(latency: .milliseconds(5), goawayEvery: 500)
        #expect(calm.nanoseconds * 10 >= stormy.nanoseconds * 9)
    }
}

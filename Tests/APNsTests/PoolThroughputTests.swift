import APNs
import Core
import HTTP2
import Testing

/// What long lines and GOAWAYs cost, where nothing but the protocol and the permits sets the pace.
@Suite("The throughput of a pool")
struct PoolThroughputTests {
    /// How long a warm pool of four connections with 400 permits a second each takes for 4000 requests.
    private func time(latency: Duration, goawayEvery: Int = .max) throws -> Duration {
        let world = try World(tokens: Fixture.tokens()) {
            $0.connections = 4...4
            $0.permitsPerSecond = 400
            $0.burst = 20
        }
        world.latency = latency
        world.onRequest = { server, received in
            server.reply(received.stream)
            if server.received.count == goawayEvery {
                server.goaway(last: received.stream, #"{"reason":"Shutdown"}"#)
            }
        }
        world.submit(10_000..<10_100)
        world.pass(.seconds(3))
        #expect(world.replies.count == 100)
        let start = world.now.instant
        world.submit(0..<4000)
        while world.endings < 4100, world.now.instant < start + .seconds(60) { world.pass(.milliseconds(10)) }
        #expect(world.replies.count == 4100 && world.losses.isEmpty && world.endings == 4100)
        let seen = world.servers.flatMap { $0.received.compactMap { $0.header("apns-id") } }
        #expect(seen.count == 4100 && Set(seen).count == 4100, "each came once")
        if goawayEvery < .max { #expect(world.servers.count >= 10) }
        return world.now.instant - start
    }

    @Test("60 ms of round trip cost four connections less than a tenth")
    func longLine() throws {
        let near = try time(latency: .zero)
        let far = try time(latency: .milliseconds(30))
        #expect(near.nanoseconds * 10 >= far.nanoseconds * 9)
    }

    @Test(
        "A GOAWAY on each of four connections every 500 requests costs less than a tenth, and nothing is lost or sent twice"
    )
    func goaways() throws {
        let calm = try time(latency: .milliseconds(5))
        let stormy = try time(latency: .milliseconds(5), goawayEvery: 500)
        #expect(calm.nanoseconds * 10 >= stormy.nanoseconds * 9)
    }
}

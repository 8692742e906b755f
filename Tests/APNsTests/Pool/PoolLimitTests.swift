import Core
import HTTP2
import TestSupport
import Testing

@testable import APNs

/// Every limit has a name and a counter of how often it was reached.
@Suite("The limits of a pool")
struct PoolLimitTests {
    private func counters(_ world: World) -> PoolCounters {
        world.pool.statistics(at: world.now.instant).counters
    }

    // MARK: Counters

    @Test("The causes of queueing are counted: connections, streams, permits, windows, and their number")
    func shortages() throws {
        let none = try World()
        none.refusesConnects = true
        none.submit(0..<1)
        none.pass(.seconds(60))
        #expect(counters(none)[.turnsWithoutConnection] > 0 && counters(none)[.turnsWithoutStream] == 0)
        let streams = try World()
        streams.settings.initial.maxConcurrentStreams = 1
        streams.onRequest = { _, _ in }
        streams.submit(0..<2)
        streams.pass(.seconds(1))
        #expect(counters(streams)[.turnsWithoutStream] > 0 && counters(streams)[.turnsWithoutPermit] == 0)
        #expect(counters(streams)[.turnsAtMaximumConnections] > 0)
        let permits = try World {
            $0.burst = 1
            $0.permitsPerSecond = 10
        }
        permits.pass(.seconds(1))
        permits.submit(0..<5)
        permits.pass(.seconds(1))
        #expect(counters(permits)[.turnsWithoutPermit] > 0 && counters(permits)[.turnsWithoutStream] == 0)
        let windows = try World()
        windows.onRequest = { _, _ in }
        windows.pass(.seconds(1))
        windows.submit(0..<40, payload: 4096)
        windows.pool.step(at: windows.now)
        #expect(counters(windows)[.turnsWithoutWindow] > 0 && counters(windows)[.turnsWithoutPermit] == 0)
    }

    @Test("A host that is down reaches the connect cap and the circuit breaker")
    func connects() throws {
        let world = try World {
            $0.maximumConnectsPerMinute = 4
            $0.backoff = Backoff(base: .milliseconds(1), limit: .milliseconds(2))
        }
        world.refusesConnects = true
        world.pass(.seconds(601))
        let found = counters(world)
        #expect(found[.connects] >= 40 && (found[.connects] - 4...found[.connects]).contains(found[.connectCapHits]))
        #expect(found[.breakerOpenings] == 1 && found.disconnects["transport"] == found[.connects])
    }

    @Test("Deadlines, silences and slow responses are counted")
    func deadlines() throws {
        let world = try World()
        world.onRequest = { server, received in
            if received.stream == 3 { server.respond(3, 400, String(repeating: "x", count: 5000)) }
        }
        world.submit(0..<2)
        world.pass(.seconds(31))
        #expect(counters(world)[.requestTimeouts] == 1 && counters(world)[.responseBodyLimitHits] == 1)
        #expect(counters(world)[.stallPings] >= 1 && counters(world)[.idlePings] == 0)
        world.pass(.seconds(3601))
        #expect(counters(world)[.idlePings] == 1)
        world.servers[0].ignoresInput = true
        world.pass(.seconds(3606))
        // The counters of a closed connection are kept.
        #expect(counters(world).disconnects == ["stalled": 1] && counters(world)[.idlePings] >= 2)
        #expect(counters(world)[.requestTimeouts] == 1)
    }

    @Test("Requests that are always refused, and permanent refusals, are counted")
    func givenUp() throws {
        let world = try World(tokens: Fixture.tokens()) { $0.maximumResends = 2 }
        world.onRequest = { $0.reset($1.stream, .refusedStream) }
        world.submit(0..<1)
        world.pass(.seconds(5))
        #expect(counters(world)[.resendLimitHits] == 1 && counters(world)[.recoveryLimitHits] == 0)
        world.onRequest = { $0.respond($1.stream, 403, #"{"reason":"InvalidProviderToken"}"#) }
        for server in world.servers { server.onRequest = world.onRequest }
        world.submit(1..<2)
        world.pass(.seconds(20))
        #expect(counters(world)[.resendLimitHits] == 1 && counters(world)[.recoveryLimitHits] == 1)
    }

    @Test("Slow starts, early ends and sick connections are counted")
    func others() throws {
        let slow = try World(tokens: Fixture.tokens()) { $0.connections = 1...2 }
        slow.onRequest = { _, _ in }
        slow.submit(0..<3)
        slow.pass(.seconds(3))
        #expect(counters(slow)[.warmUpTimeouts] == 1 && counters(slow)[.connects] == 2)
        let storm = try World { $0.connections = 1...2 }
        storm.onDial = { $0.goaway(last: 0, #"{"reason":"Shutdown"}"#) }
        storm.pass(.seconds(60))
        #expect(counters(storm)[.earlyEnds] >= 1 && counters(storm).goaways.keys.sorted() == ["Shutdown"])
        let sick = try World()
        sick.onRequest = { $0.respond($1.stream, 500, #"{"reason":"InternalServerError"}"#) }
        sick.submit(0..<5)
        sick.pass(.seconds(5))
        #expect(counters(sick)[.serverErrorLimitHits] == 1)
    }

    // MARK: Reasons

    @Test(
        "The rules for provider-token refusals renew, keep, reconnect or blame the key, and no other rules do")
    func tokenRefusals() {
        for rule in ResponseRule.all {
            let reason = rule.reason.description
            let expected =
                switch rule.action {
                case .renewToken, .keepToken, .reconnect: true
                case .pauseApp: !reason.contains("Certificate")
                default: false
                }
            #expect((rule.tokenRefusal != nil) == expected, "\(reason)")
        }
    }
}

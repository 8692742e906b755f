import Core
import HTTP2
import TestSupport
import Testing

@testable import APNs

/// Every limit has a name and a counter of how often it was reached.
@Suite("The limits of a pool")
struct PoolLimitTests {
    // MARK: Counters

    @Test("The causes of queueing are counted: connections, streams, permits, windows, and their number")
    func shortages() throws {
        let none = try World()
        none.submit(0..<1)
        none.pool.step(at: none.now)
        #expect(none.counters[.turnsWithoutConnection] == 1 && none.counters[.turnsWithoutStream] == 0)
        let streams = try World.holding(0..<1, streams: 1)
        streams.submit(1..<2)
        streams.pool.step(at: streams.now)
        #expect(streams.counters[.turnsWithoutStream] == 1 && streams.counters[.turnsWithoutPermit] == 0)
        #expect(streams.counters[.turnsAtMaximumConnections] == 1)
        let permits = try World(burst: 1, permitsPerSecond: 10)
        permits.pass(.seconds(1))
        permits.submit(0..<5)
        permits.pool.step(at: permits.now)
        #expect(permits.counters[.turnsWithoutPermit] == 1 && permits.counters[.turnsWithoutStream] == 0)
        // One permit more than the window has room for.
        let windows = try World(burst: 17, permitsPerSecond: 10)
        windows.onRequest = { _, _ in }
        windows.pass(.seconds(1))
        windows.submit(0..<40, payload: 4096)
        windows.pool.step(at: windows.now)
        #expect(windows.counters[.turnsWithoutWindow] == 1 && windows.counters[.turnsWithoutPermit] == 0)
    }

    @Test("A host that is down reaches the connect cap and the circuit breaker")
    func connects() throws {
        let world = try World {
            $0.maximumConnectsPerMinute = 4
            $0.backoff = Backoff(base: .milliseconds(1), limit: .milliseconds(2))
        }
        world.refusesConnects = true
        world.pass(.seconds(601))
        let found = world.counters
        #expect(found[.connects] >= 40 && (found[.connects] - 4...found[.connects]).contains(found[.connectCapHits]))
        #expect(found[.breakerOpenings] == 1 && found.disconnects["transport"] == found[.connects])
    }

    @Test("Deadlines, silences and slow responses are counted")
    func deadlines() throws {
        let world = try World()
        world.onRequest = { server, received in
            let body = String(repeating: "x", count: 4095 + Int(received.stream) / 2)
            if received.stream > 1 { server.respond(received.stream, 400, body) }
        }
        world.submit(0..<3)
        world.pass(.seconds(31))
        #expect(world.counters[.requestTimeouts] == 1 && world.counters[.responseBodyLimitHits] == 1)
        #expect(world.counters[.stallPings] >= 1 && world.counters[.idlePings] == 0)
        world.pass(.milliseconds(3_589_500))
        #expect(world.counters[.idlePings] == 1)
        world.servers[0].ignoresInput = true
        world.pass(.seconds(3606))
        // The counters of a closed connection are kept.
        #expect(world.counters.disconnects == ["stalled": 1] && world.counters[.idlePings] >= 2)
        #expect(world.counters[.requestTimeouts] == 1)
    }

    @Test("Requests that are always refused, and permanent refusals, are counted")
    func givenUp() throws {
        let world = try World(tokens: Fixture.tokens())
        world.onRequest = { $0.reset($1.stream, .refusedStream) }
        world.submit(0..<1)
        world.pass(.seconds(5))
        #expect(world.losses[0]?.processed == .no && world.servers.map(\.received.count) == [17])
        #expect(world.counters[.resendLimitHits] == 1 && world.counters[.recoveryLimitHits] == 0)
        world.onRequest = { $0.respond($1.stream, 403, #"{"reason":"InvalidProviderToken"}"#) }
        for server in world.servers { server.onRequest = world.onRequest }
        world.submit(1..<2)
        world.pass(.seconds(20))
        #expect(world.counters[.resendLimitHits] == 1 && world.counters[.recoveryLimitHits] == 1)
    }

    // MARK: Reasons

    @Test("The rules for provider-token refusals renew, keep, reconnect or blame the key, and no other rules do")
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

    @Test("A peer that invents reasons of GOAWAY has forty of them counted, and the others together")
    func goawayReasons() {
        var counters = PoolCounters()
        for number in 0..<42 { counters.count(goaway: "\(number)") }
        #expect(counters.goaways.count == 41 && counters.goaways["other"] == 2)
    }

    @Test("A connection that answers nothing is one failure, also if it drains with a request")
    func silentOnce() throws {
        let world = try World()
        world.onRequest = { [unowned world] in if world.servers.count > 1 { $0.respond($1.stream) } }
        world.submit(0..<1)
        world.pass(.seconds(20))
        world.submit(1..<2)
        world.pass(.seconds(11))
        #expect(world.pool.dialer.failures == 1)
        world.pass(.seconds(15))
        #expect(world.losses.count == 2 && world.pool.dialer.failures == 1)
    }
}

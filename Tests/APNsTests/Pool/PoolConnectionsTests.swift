import APNs
import Core
import HTTP2
import Simulator
import TestSupport
import Testing

/// The number of a pool's connections, and when it changes.
@Suite("APNsPool and its connections")
struct PoolConnectionsTests {
    // MARK: Growing and shrinking

    @Test("Surplus connections are retired one by one, and reopened when the load needs them")
    func surplus() throws {
        let world = try World.holding(0..<30, streams: 10) {
            $0.connections = 1...3
            ($0.permitsPerSecond, $0.burst) = (1, 10)
        }
        #expect(world.statistics.ready == 3)
        for server in world.servers {
            server.onRequest = { $0.respond($1.stream) }
            for received in server.received { server.respond(received.stream) }
        }
        world.submit(1000..<1650, every: .seconds(1))
        #expect(world.statistics.ready == 3, "two connections would not have sent twice as much")
        world.pass(.milliseconds(549_500))
        #expect(world.statistics.ready == 3)
        #expect((world.pool.nextDeadline ?? .distantFuture) <= world.now.instant + .seconds(1), "it needs no event")
        world.pass(.seconds(2))
        #expect(world.statistics.ready == 2)
        world.pass(.seconds(700))
        #expect(world.statistics.ready == 1 && world.counters.disconnects == ["none": 2] && world.dialledAt.count == 3)
        #expect(world.servers.count { $0.hasGoaway && $0.isTransportClosed } == 2)
        world.pass(.seconds(3000))
        #expect(world.statistics.ready == 1 && world.responses.count == 680 && world.losses.isEmpty)
        world.onRequest = { _, _ in }
        for server in world.servers { server.onRequest = { _, _ in } }
        world.submit(100..<120)
        world.pass(.seconds(1))
        #expect(world.statistics.ready == 2)
    }

    @Test(
        "A connection is surplus if the others had capacity for twice the load for a whole period",
        arguments: [
            (2, 0, 100, true), (2, 500, 100, true), (2, 501, 100, false), (2, 0, 501, false),
            (1, 0, 0, false), (4, 1500, 1500, true), (4, 1501, 0, false),
        ])
    func surplusWatch(connections: Int, inFlight: Int, rate: Int, expected: Bool) {
        var watch = PoolShrinkPolicy(period: .seconds(10), at: .seconds(0))
        for _ in 0..<rate * 10 { watch.sent() }
        let isDue = watch.deadline == .seconds(10)
        let found = watch.isSurplus(
            ready: connections, inFlight: inFlight, streams: connections * 1000, permits: 1000, at: .seconds(10))
        #expect(isDue && found == expected && watch.deadline == .seconds(20))
    }

    @Test(
        "A pool grows although another connection's first request with a token is unanswered, for a probe at once",
        arguments: [(false, 2), (true, 2), (true, 1)])
    func warmUp(hasProbe: Bool, maximum: Int) throws {
        let world = try World(tokens: Fixture.tokens()) { $0.connections = 1...maximum }
        world.onRequest = { [unowned world] server, received in
            if world.servers.count > 1 { server.respond(received.stream) }
        }
        world.submit(0..<10)
        world.pass(.milliseconds(1900))
        #expect(world.servers.count == 1)
        if hasProbe { world.pool.submit(Fixture.request(10), handle: 10, isProbe: true, at: world.now.instant) }
        world.pass(.milliseconds(50))
        #expect(world.servers.count == (hasProbe ? 2 : 1))
        world.pass(.seconds(1))
        #expect(world.servers.count == 2 && world.responses.count == (hasProbe ? 10 : 9))
        #expect(world.counters[.warmUpTimeouts] == (hasProbe ? 0 : 1))
    }

    // MARK: A host that is down

    @Test("After ten failures the longest backoff applies, and the owner is notified when it begins and ends")
    func circuitBreaker() throws {
        let world = try World {
            $0.backoff = Backoff(base: .milliseconds(100), limit: .seconds(20))
            $0.maximumConnectsPerMinute = 100
        }
        world.refusesConnects = true
        world.submit(0..<5)
        world.pass(.seconds(600))
        #expect(world.alarms == [.unreachable(failures: 10)])
        let distances = zip(world.dialledAt, world.dialledAt.dropFirst()).map { $1 - $0 }
        #expect(distances.dropFirst(9).allSatisfy { $0 == .seconds(20) } && distances.count > 30)
        world.refusesConnects = false
        world.pass(.seconds(21))
        #expect(world.alarms == [.unreachable(failures: 10), .reachable] && world.responses.count == 5)
    }

    // MARK: GOAWAY

    @Test("A GOAWAY on every new connection is damped: hours of it cost a few hundred connects, and nothing is lost")
    func goawayStorm() throws {
        let world = try World { $0.connections = 2...4 }
        var isStorm = true
        world.onRequest = { server, received in
            server.respond(received.stream)
            if isStorm { server.goaway(last: received.stream, #"{"reason":"Shutdown"}"#) }
        }
        world.submit(0..<2400, each: 10, every: .seconds(60))
        #expect((200...520).contains(world.dialledAt.count), "\(world.dialledAt.count)")
        #expect(world.alarms.contains(.unreachable(failures: 10)))
        #expect(world.counters[.earlyEnds] >= 1 && world.counters.goaways.keys.sorted() == ["Shutdown"])
        isStorm = false
        world.pass(.seconds(900))
        world.submit(2400..<2401)
        world.pass(.seconds(60))
        #expect(world.alarms.last == .reachable && world.statistics.ready >= 2)
        #expect(world.responses.count + world.losses.count == 2401 && world.pool.waitingCount == 0)
        #expect(world.losses.values.allSatisfy { $0.processed == .no })
    }

    @Test("Connections that hang up after one or two responses are damped as well, without a GOAWAY")
    func hangUpStorm() throws {
        let world = try World { $0.connections = 2...4 }
        world.onRequest = { server, received in
            server.respond(received.stream)
            server.hangsUp = true
        }
        world.submit(0..<1200, each: 10, every: .seconds(60))
        #expect((100...300).contains(world.dialledAt.count), "\(world.dialledAt.count)")
        #expect(world.alarms.contains(.unreachable(failures: 10)))
    }

    @Test("A restart with a two-step GOAWAY counts once for each connection")
    func twoStepsCountOnce() throws {
        let world = try World { $0.connections = 3...3 }
        world.submit(0..<3)
        world.pass(.seconds(1))
        #expect(world.statistics.ready == 3)
        for server in world.servers { server.goaway(last: .max, #"{"reason":"Shutdown"}"#) }
        world.pass(.milliseconds(100))
        for server in world.servers.prefix(3) { server.goaway(last: 1, #"{"reason":"Shutdown"}"#) }
        world.pass(.seconds(1))
        #expect(world.statistics.ready == 3 && world.servers.count == 6)
        #expect(world.counters[.earlyEnds] == 0 && world.counters[.failures] == 0)
    }

    @Test("The pool grows up to its maximum while queued requests lack permits")
    func growsForPermits() throws {
        let world = try World {
            $0.connections = 1...3
            $0.burst = 1
            $0.permitsPerSecond = 10
        }
        world.submit(0..<400)
        world.pass(.seconds(5))
        #expect(world.statistics.ready == 3 && world.counters[.turnsWithoutPermit] > 0)
        let before = world.responses.count
        world.pass(.seconds(4))
        #expect((115...125).contains(world.responses.count - before))
    }

    @Test("After an idle outage, a connection that lasts closes the circuit breaker")
    func idleRecovery() throws {
        let world = try World()
        world.refusesConnects = true
        world.pass(.seconds(600))
        #expect(world.alarms == [.unreachable(failures: 10)])
        world.refusesConnects = false
        world.pass(.seconds(40))
        let proof = world.pool.nextDeadline ?? .distantFuture
        #expect(proof <= world.now.instant + .seconds(60), "it needs no event for that")
        world.pass(.seconds(80))
        #expect(world.alarms == [.unreachable(failures: 10), .reachable] && world.statistics.ready == 1)
    }

    // MARK: Falling stream limits

    @Test("A connection whose stream limit fell is replaced before it stops, and the rest is sent at full speed")
    func streamCut() throws {
        let world = try World()
        world.network.latency = .milliseconds(50)
        world.onRequest = { [unowned world] server, received in
            if world.servers.count == 1, server.received.count == 50 {
                server.allow(streams: 1)
                server.reset(received.stream, .refusedStream)
            } else {
                server.respond(received.stream)
            }
        }
        world.submit(0..<50)
        world.pass(.milliseconds(500))
        world.submit(50..<1000)
        world.pass(.milliseconds(500))
        #expect(world.servers.count == 1 && world.statistics.ready == 1)
        world.pass(.seconds(2))
        #expect(world.responses.count == 1000 && world.losses.isEmpty)
        #expect(world.servers.count == 2 && world.servers[0].received.count < 100)
        #expect(world.alarms == [.streamsCut(from: 1000, to: 1)])
        #expect(world.counters.disconnects == ["none": 1] && world.counters[.resends] == 1)
    }

    @Test("At the maximum, a connection whose streams are cut is replaced after one second, without any event")
    func streamCutAtMaximum() throws {
        let world = try World.holding(0..<1, streams: 4)
        world.check = { [unowned world] in #expect(world.statistics.ready > 0, "it waits for the other") }
        let cut = world.now.instant + world.network.latency
        world.servers[0].allow(streams: 1)
        world.pass(.milliseconds(100))
        world.submit(1..<2)
        world.pass(.milliseconds(850))
        #expect(world.dialledAt.count == 1)
        // Before the queue's next sweep, which would look as well.
        world.pass(.milliseconds(100))
        #expect(world.dialledAt.dropFirst() == [cut + .seconds(1)])
    }

    @Test("A connection that starts without streams, until the next SETTINGS, was not cut, nor one with a third left")
    func startsWithoutStreams() throws {
        let world = try World()
        world.settings.initial[.maxConcurrentStreams] = 0
        world.submit(0..<3)
        world.pass(.milliseconds(500))
        world.servers[0].allow(streams: 10)
        world.pass(.seconds(1))
        world.servers[0].allow(streams: 3)
        world.pass(.seconds(1))
        #expect(world.responses.count == 3 && world.servers.count == 1 && world.alarms.isEmpty)
    }

    @Test("Nothing is lost where every connection starts with one stream and falls back to one after a failure")
    func streamCuts() throws {
        let world = try World(script: "every 50 requests on connection: rst REFUSED_STREAM, settings streams=1") {
            $0.connections = 1...2
            $0.permitsPerSecond = 200
        }
        world.submit(0..<2000)
        world.pass(.seconds(60))
        #expect(world.responses.count == 2000 && world.losses.isEmpty)
        #expect(world.responses.values.allSatisfy { $0.status == 200 })
        let cuts = world.alarms.count { if case .streamsCut = $0 { true } else { false } }
        #expect(world.counters[.resends] >= 39 && cuts >= 2)
        #expect(world.dialledAt.count <= 60, "\(world.dialledAt.count)")
    }
}

import APNs
import Core
import HTTP2
import TLS
import TestSupport
import Testing

@Suite("APNsPool")
struct PoolTests {
    @Test("The minimum number of connections is dialled at once, and requests are spread over them")
    func spread() throws {
        let world = try World { $0.connections = 4...4 }
        world.pass(.seconds(1))
        #expect(world.servers.count == 4 && Set(world.dialledAt).count == 1)
        world.submit(0..<100)
        world.pass(.seconds(1))
        #expect(world.servers.map(\.received.count) == [25, 25, 25, 25])
    }

    @Test("Every connection keeps to its token bucket, and queued requests are sent when a permit is due")
    func permits() throws {
        let world = try World(burst: 10, permitsPerSecond: 100)
        world.pass(.seconds(1))
        #expect(world.statistics.permits == 10)
        world.submit(0..<110)
        world.pass(.milliseconds(5))
        #expect(world.servers[0].received.count == 10)
        world.pass(.milliseconds(500))
        #expect(world.servers[0].received.count == 60)
        world.pass(.milliseconds(520))
        #expect(world.responses.count == 110)
    }

    @Test("A request that expires between two scans of the queue is not sent")
    func expirationBetweenSweeps() throws {
        let world = try World(burst: 1, permitsPerSecond: 5)
        // The last one expires after 0.7 s, and could be sent after 0.8 s.
        world.skew = .milliseconds(300)
        let end = world.now.wall.seconds
        for handle in Handle(0)..<5 {
            let request = Fixture.request(handle, expiration: handle == 4 ? end : 0)
            world.pool.submit(request, handle: handle, at: world.now.instant)
        }
        world.pass(.milliseconds(950))
        #expect(world.expired == [4] && world.responses.keys.sorted() == [0, 1, 2, 3])
    }

    @Test("Waiting for the first permit wakes the loop at most once a millisecond, and nothing wakes an idle pool")
    func permitInterval() throws {
        let world = try World { ($0.connections, $0.burst, $0.permitsPerSecond) = (2...2, 1, 100) }
        world.settings.initial[.maxConcurrentStreams] = 2
        world.pass(.seconds(1))
        #expect(world.pool.nextDeadline == nil)
        // The permits of the two connections are then due in 0.5 and in 10 milliseconds.
        world.submit(0..<1, every: .microseconds(9500))
        world.submit(1..<3)
        world.pool.step(at: world.now)
        #expect(world.counters[.turnsWithoutPermit] == 1)
        #expect(world.pool.nextDeadline == world.now.instant + .milliseconds(1))
    }

    @Test("The pool grows while requests wait for streams, up to its maximum, and not for a brief shortage")
    func growth() throws {
        let world = try World.holding(0..<10, streams: 10) { $0.connections = 1...3 }
        #expect(world.servers.count == 1, "everything is in flight")
        world.submit(10..<15)
        world.pass(.seconds(1))
        #expect(world.servers.map(\.received.count) == [10, 5])
        world.submit(15..<60)
        world.pass(.seconds(1))
        #expect(world.servers.map(\.received.count) == [10, 10, 10] && world.pool.waitingCount == 30)
    }

    @Test("The pool grows when the connection's window holds requests back")
    func growthByWindow() throws {
        let world = try World { $0.connections = 1...2 }
        world.onRequest = { _, _ in }
        world.network.latency = .milliseconds(100)
        world.pass(.seconds(1))
        world.pool.submit(Fixture.request(40), handle: 40, isProbe: true, at: world.now.instant)
        world.submit(0..<40, payload: 4096)
        world.pool.step(at: world.now)
        #expect(world.pool.inFlight == 17 && world.pool.waitingCount == 24, "the probe takes little of the window")
        world.pass(.milliseconds(1))
        #expect(world.dialledAt.count == 2)
    }

    // MARK: Processing certainty

    @Test("A refused request is resent without its owner being notified")
    func refusedStream() throws {
        let world = try World()
        var refusals = 0
        world.onRequest = { server, received in
            if refusals < 5 {
                refusals += 1
                server.reset(received.stream, .refusedStream)
            } else {
                server.respond(received.stream)
            }
        }
        world.submit(0..<20)
        world.pass(.seconds(1))
        #expect(world.responses.count == 20 && world.endings == 20 && world.counters[.resends] == 5)
        let attempts = world.resends.values.flatMap(\.self)
        #expect(attempts.count == 5 && world.resends.count == 5)
        let detail = "APNs did not process the request"
        #expect(attempts.allSatisfy { $0.end == .lost(Loss(processed: .no, detail: detail, isRefused: true)) })
        #expect(attempts.allSatisfy { $0.endedAt - $0.sentAt == world.network.latency * 2 })
    }

    @Test("Requests that GOAWAY excluded are resent first on another connection, while the old one ends in order")
    func goaway() throws {
        let world = try World.holding(0..<10, streams: 6)
        let old = world.servers[0]
        world.onRequest = { $0.respond($1.stream) }
        old.goaway(last: 5, #"{"reason":"Shutdown"}"#)
        world.pass(.seconds(1))
        #expect(world.servers.count == 2 && world.statistics.draining == 1 && world.statistics.streams == 3)
        let ids = world.servers[1].received.compactMap { $0.header("apns-id")?.last }
        #expect(Set(ids.prefix(3)) == ["3", "4", "5"] && ids.dropFirst(3) == ["6", "7", "8", "9"])
        for stream in [Int32(1), 3, 5] { old.respond(stream) }
        world.pass(.seconds(1))
        #expect(world.responses.count == 10 && world.losses.isEmpty && world.resends.keys.sorted() == [3, 4, 5])
        for case .lost(let loss) in world.resends.values.flatMap(\.self).map(\.end) {
            #expect(loss.processed == .no && loss.isRefused && loss.goawayReason?.rawValue == "Shutdown")
        }
        let statistics = world.statistics
        #expect(statistics.draining + statistics.connecting + statistics.braked == 0 && statistics.ready == 1)
        #expect(statistics.counters.goaways == ["Shutdown": 1] && statistics.counters[.resends] == 3)
    }

    @Test("Requests written before a connection broke are left to the owner; unwritten ones are resent")
    func cut() throws {
        let world = try World.holding(0..<4)
        world.onRequest = { $0.respond($1.stream) }
        world.submit(4..<6)
        world.pool.step(at: world.now)
        world.cut(world.servers[0])
        world.pass(.seconds(2))
        #expect(world.losses.keys.sorted() == [0, 1, 2, 3])
        #expect(world.losses.values.allSatisfy { $0.processed == .unknown })
        #expect(world.responses.keys.sorted() == [4, 5] && world.resends.keys.sorted() == [4, 5])
        for case .lost(let loss) in world.resends.values.flatMap(\.self).map(\.end) {
            #expect(loss.processed == .no && !loss.isRefused)
        }
    }

    @Test(
        "A request that was answered without being processed is resent at once on another connection",
        arguments: [(503, "Shutdown"), (400, "IdleTimeout")])
    func notProcessedResponse(status: UInt16, reason: String) throws {
        let world = try World()
        world.onRequest = { [unowned world] server, received in
            let isFirst = world.servers.count == 1
            server.respond(received.stream, isFirst ? status : 200, isFirst ? "{\"reason\":\"\(reason)\"}" : "")
        }
        world.submit(0..<1)
        world.pass(.seconds(1))
        #expect(world.responses[0]?.status == 200)
        #expect(world.servers.count == 2 && world.servers[0].isTransportClosed && world.counters[.resends] == 1)
        var turns = 0
        world.onRequest = { server, received in
            turns += 1
            if turns < 3 { return server.goaway(last: 0) }
            server.respond(received.stream, status, "{\"reason\":\"\(reason)\"}")
        }
        world.submit(1..<2)
        world.pass(.seconds(60))
        #expect(world.responses[1]?.status == status && world.counters[.resends] == 5, "three tries besides GOAWAYs")
    }

    // MARK: Draining

    @Test("A waiting request can be cancelled; one in flight cannot")
    func cancel() throws {
        let world = try World.holding(0..<3, streams: 1)
        #expect(!world.cancel(0))
        #expect(world.cancel(1))
        #expect(!world.cancel(1), "taken back already")
        #expect(world.pool.waitingCount == 1 && world.pool.inFlight == 1)
        world.servers[0].respond(1)
        world.pass(.seconds(1))
        #expect(world.servers[0].received.count == 2 && world.pool.inFlight == 1)
    }

    @Test("The failed attempt of a cancelled request has no event: its handle may name another request")
    func cancelAfterResend() throws {
        let world = try World.holding(0..<2)
        world.refusesConnects = true
        world.takesEvents = false
        world.servers[0].goaway(last: 1)
        world.pass(.milliseconds(100))
        #expect(world.pool.waitingCount == 1 && world.cancel(1))
        world.submit(1..<2)
        world.takesEvents = true
        world.pass(.milliseconds(100))
        #expect(world.resends.isEmpty && world.pool.waitingCount == 1)
    }

    @Test("Draining returns the queued requests, lets open streams end, and closes in order")
    func drain() throws {
        let world = try World.holding(0..<6, streams: 2) { $0.connections = 2...2 }
        world.pool.drain(at: world.now.instant)
        #expect(world.pool.nextDeadline == .distantPast, "a drain makes the pool due at once")
        world.pass(.seconds(1))
        #expect(world.losses.keys.sorted() == [4, 5] && world.losses.values.allSatisfy { $0.processed == .no })
        #expect(!world.isDrained)
        for server in world.servers { for received in server.received { server.respond(received.stream) } }
        world.pass(.seconds(1))
        #expect(world.responses.count == 4 && world.isDrained)
        #expect(world.servers.allSatisfy { $0.hasGoaway && $0.isTransportClosed })
        #expect(world.pool.nextDeadline == nil)
    }

    @Test("A pool is not drained before its owner has taken the events of the returned requests")
    func drainWithEvents() throws {
        let world = try World()
        world.refusesConnects = true
        world.takesEvents = false
        world.submit(0..<2)
        world.pool.drain(at: world.now.instant)
        world.pass(.seconds(1))
        #expect(!world.isDrained)
        world.takesEvents = true
        world.pass(.seconds(1))
        #expect(world.losses.count == 2 && world.isDrained)
    }

    @Test("A pool that drains while it connects closes the pending connections")
    func drainWhileConnecting() throws {
        let world = try World { $0.connections = 2...2 }
        world.pool.step(at: world.now)
        world.pool.drain(at: world.now.instant)
        #expect(!world.isDrained && world.statistics.connections.map(\.maximumStreams) == [0, 0])
        #expect(world.network.links.isEmpty)
        world.pass(.seconds(1))
        #expect(world.isDrained)
    }
}

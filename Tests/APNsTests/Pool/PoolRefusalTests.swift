import APNs
import Core
import HTTP2
import TestSupport
import Testing

/// The outcomes of requests whose provider token APNs refuses.
@Suite("APNsPool and refused provider tokens")
struct PoolRefusalTests {
    private static func body(_ reason: String) -> String {
        "{\"reason\":\"\(reason)\"}"
    }

    private static func refuse(_ server: TestServer, _ received: TestServer.Received, _ reason: String) {
        server.respond(received.stream, reason == "TooManyProviderTokenUpdates" ? 429 : 403, body(reason))
    }

    /// A pool whose first request was accepted, after this delay.
    private func usedWorld(
        after: Duration = .seconds(1), _ configure: (inout APNsPool.Configuration) -> Void = { _ in }
    ) throws -> World {
        let world = try World(tokens: Fixture.tokens(), configure: configure)
        world.submit(1000..<1001)
        world.pass(after)
        #expect(world.responses[1000]?.status == 200)
        return world
    }

    // MARK: ExpiredProviderToken

    @Test("An expired token is renewed once for all its requests, which are sent again")
    func expired() throws {
        let world = try usedWorld(after: .seconds(1500))
        var seen: [String] = []
        world.servers[0].onRequest = { server, received in
            let token = received.header("authorization") ?? ""
            if !seen.contains(token) { seen.append(token) }
            if token == seen[0] {
                Self.refuse(server, received, "ExpiredProviderToken")
            } else {
                server.respond(received.stream)
            }
        }
        world.submit(0..<200)
        world.pass(.seconds(1))
        #expect(world.responses.count == 201 && world.responses.values.allSatisfy { $0.status == 200 })
        #expect(seen.count == 2 && world.servers.count == 1 && world.alarms.isEmpty)
        #expect(world.counters[.renewals] == 200)
        let attempts = world.resends.values.flatMap(\.self)
        #expect(attempts.count == 200)
        let response = APNsResponse(status: 403, reason: RejectionReason(rawValue: "ExpiredProviderToken"))
        #expect(attempts.allSatisfy { $0.end == .responded(response) })
    }

    @Test("A probe whose token has expired is resent on its fresh connection, which replaces the others")
    func expiredProbe() throws {
        let world = try usedWorld(after: .seconds(1500)) { $0.connections = 1...2 }
        var refused = false
        var responded: [Int] = []
        world.onRequest = { server, received in
            guard refused else {
                refused = true
                return Self.refuse(server, received, "ExpiredProviderToken")
            }
            responded.append(1)
            server.respond(received.stream, 400, Self.body("BadDeviceToken"))
        }
        world.servers[0].onRequest = { server, received in
            responded.append(0)
            server.respond(received.stream)
        }
        world.pool.submit(Fixture.request(0), handle: 0, isProbe: true, at: world.now.instant)
        world.pass(.seconds(1))
        #expect(refused && world.responses[0]?.status == 400 && world.servers[0].isTransportClosed)
        #expect(responded == [1], "not where it may be bound to what was before")
    }

    @Test("When the fresh token is refused as expired too, one fresh connection is tried, then the owner is notified")
    func freshTokenExpired() throws {
        let world = try usedWorld(after: .seconds(1500))
        var tokens: Set<String> = []
        for server in world.servers { server.onRequest = { Self.refuse($0, $1, "ExpiredProviderToken") } }
        world.onRequest = { server, received in
            tokens.insert(received.header("authorization") ?? "")
            Self.refuse(server, received, "ExpiredProviderToken")
        }
        world.submit(0..<1)
        world.pass(.seconds(1))
        #expect(world.responses[0]?.reason?.rawValue == "ExpiredProviderToken")
        #expect(world.servers[0].received.count == 3 && world.servers[1].received.count == 1 && tokens.count == 1)
        #expect(world.servers[0].isTransportClosed && world.servers[1].isTransportClosed)
        #expect(world.alarms == [.clockSkew, .clockSkew], "one for each connection that refused")
    }

    // MARK: A fresh connection

    @Test(
        "A request refused on one connection is resent on a fresh one, without notice to the owner",
        arguments: [
            ("InvalidProviderToken", []), ("UnrelatedKeyIdInToken", []), ("MissingProviderToken", [.missingToken]),
            ("TooManyProviderTokenUpdates", [.tooManyTokenUpdates(keepsOlder: false)]),
            // A token that is too young to be renewed.
            ("ExpiredProviderToken", [.clockSkew]),
        ] as [(String, [APNsPool.Alarm])])
    func freshConnection(reason: String, alarms: [APNsPool.Alarm]) throws {
        let world = try usedWorld()
        world.servers[0].onRequest = { Self.refuse($0, $1, reason) }
        world.submit(0..<200)
        world.pass(.seconds(1))
        #expect(world.responses.count == 201 && world.responses.values.allSatisfy { $0.status == 200 })
        #expect(world.servers.count == 2 && world.servers[0].isTransportClosed)
        #expect(world.servers[0].received.count == 201 && world.servers[1].received.count == 200)
        #expect(world.alarms == alarms)
        #expect(world.counters[.resends] + world.counters[.renewals] == 0 && world.counters[.rebinds] == 200)
    }

    @Test("If several connections are in use, only the refusing ones are replaced, first by a single fresh one")
    func oneOfSeveral() throws {
        let world = try World(tokens: Fixture.tokens()) { $0.connections = 3...4 }
        world.pass(.seconds(1))
        world.submit(0..<30)
        world.pass(.seconds(1))
        world.servers[0].onRequest = { Self.refuse($0, $1, "InvalidProviderToken") }
        world.submit(100..<160)
        world.pass(.milliseconds(200))
        #expect(world.responses.count == 90 && world.responses.values.allSatisfy { $0.status == 200 })
        #expect(world.servers.count == 4 && world.servers.map(\.isTransportClosed) == [true, false, false, false])
        #expect(world.servers[3].received.count == 20)
    }

    @Test(
        "When the fresh connection refuses as well, the owner is notified once that is certain",
        arguments: [
            "InvalidProviderToken", "UnrelatedKeyIdInToken", "MissingProviderToken", "TooManyProviderTokenUpdates",
            "ExpiredProviderToken",
        ])
    func refusedTwice(reason: String) throws {
        let world = try usedWorld()
        world.servers[0].onRequest = { Self.refuse($0, $1, reason) }
        world.onRequest = { Self.refuse($0, $1, reason) }
        world.submit(0..<1)
        world.pass(.seconds(600))
        #expect(world.responses[0]?.reason?.rawValue == reason)
        #expect(world.servers.map(\.received.count) == [2, 1, 0])
    }

    @Test(
        "Two hundred requests in flight with a bad key cost two connections, however slow the responses",
        arguments: [Duration.zero, .milliseconds(50)])
    func stragglers(pause: Duration) throws {
        let world = try usedWorld { $0.engine.drainTimeout = .seconds(60) }
        world.servers[0].onRequest = { _, _ in }
        world.onRequest = { Self.refuse($0, $1, "InvalidProviderToken") }
        world.submit(0..<200)
        world.pass(.milliseconds(100))
        let old = world.servers[0]
        for received in old.received.dropFirst() {
            Self.refuse(old, received, "InvalidProviderToken")
            if pause > .zero { world.pass(pause) }
        }
        world.pass(.milliseconds(50))
        #expect(world.responses.count == 201)
        #expect(world.servers.map(\.received.count) == [201, 1, 0], "one try for all, and one that waits for a probe")
        #expect(world.dialledAt.count == 3 && world.counters[.recoveryLimitHits] == 200 && world.pool.inFlight == 0)
    }

    @Test("A later refusal is tried on a fresh connection again once a token was accepted in between")
    func verdictEnds() throws {
        let world = try usedWorld()
        world.servers[0].onRequest = { if $1.stream == 3 { Self.refuse($0, $1, "InvalidProviderToken") } }
        world.onRequest = { Self.refuse($0, $1, "InvalidProviderToken") }
        world.submit(0..<1)
        world.submit(9..<10)
        world.pass(.seconds(1))
        #expect(world.responses[0]?.status == 403)
        world.servers[2].onRequest = { $0.respond($1.stream) }
        world.onRequest = { $0.respond($1.stream) }
        world.submit(1..<2)
        world.pass(.seconds(1))
        Self.refuse(world.servers[0], world.servers[0].received[2], "InvalidProviderToken")
        world.pass(.seconds(1))
        #expect(world.responses[9]?.status == 200, "a straggler, too")
        world.servers[2].onRequest = { Self.refuse($0, $1, "InvalidProviderToken") }
        world.submit(2..<3)
        world.pass(.seconds(1))
        #expect(world.responses[1]?.status == 200 && world.responses[2]?.status == 200)
    }

    @Test("A refusal on a leaving connection gets a fresh one, and a fresh token, even where the maximum leaves none")
    func noRoom() throws {
        let world = try usedWorld(after: .seconds(1500))
        world.servers[0].onRequest = { _, _ in }
        world.submit(0..<1)
        world.pass(.milliseconds(100))
        let old = world.servers[0]
        old.goaway(last: .max)
        world.pass(.milliseconds(100))
        world.submit(1..<2)
        world.pass(.milliseconds(100))
        #expect(world.responses[1]?.status == 200 && world.servers.count == 2)
        Self.refuse(old, old.received[1], "InvalidProviderToken")
        world.pass(.seconds(1))
        #expect(world.responses[0]?.status == 200 && world.servers.map(\.received.count) == [2, 1, 1])
        let tokens = world.servers.map { $0.received[0].header("authorization") }
        #expect(world.statistics.ready == 1 && tokens[1] == tokens[0] && tokens[2] != tokens[0])
    }

    @Test("Requests that wait for a fresh connection can be cancelled, expire, and are returned by a drain")
    func waitingForFresh() throws {
        let world = try usedWorld()
        world.servers[0].onRequest = { Self.refuse($0, $1, "InvalidProviderToken") }
        world.onRequest = { $0.respond($1.stream) }
        world.refusesConnects = true
        let soon = world.now.wall.seconds + 20
        for handle in Handle(0)..<3 {
            world.pool.submit(
                Fixture.request(handle, expiration: handle == 1 ? soon : 0), handle: handle, at: world.now.instant)
        }
        world.pass(.seconds(1))
        #expect(world.pool.waitingCount == 3 && world.responses.count == 1)
        #expect(world.cancel(0))
        world.pass(.seconds(30))
        world.pool.drain(at: world.now.instant)
        world.pass(.seconds(1))
        #expect(world.losses[2]?.processed == .no && world.isDrained && world.endings == 3)
    }

    @Test("An unused connection is fresh enough for a probe, a used one is not")
    func unusedConnection() throws {
        let world = try World(tokens: Fixture.tokens()) { $0.maximumConnectsPerMinute = 2 }
        world.pass(.seconds(1))
        #expect(world.servers.count == 1)
        world.pool.submit(Fixture.request(0), handle: 0, isProbe: true, at: world.now.instant)
        // The queue's sweeps, each second from here on, are between the connects.
        world.pass(.milliseconds(500))
        #expect(world.responses[0]?.status == 200)
        world.pool.submit(Fixture.request(1), handle: 1, isProbe: true, at: world.now.instant)
        world.pass(.seconds(1))
        #expect(world.responses[1] == nil && world.pool.waitingCount == 1)
        world.pass(.seconds(60))
        #expect(world.responses[1]?.status == 200 && world.servers.map(\.received.count) == [1, 1])
        let pauses = zip(world.dialledAt, world.dialledAt.dropFirst()).map { $1 - $0 }
        #expect(pauses == [.seconds(30)], "as soon as the limit of connects allows")
    }

    @Test("A drain ends the retries: later refusals are reported as they are")
    func drained() throws {
        let world = try usedWorld()
        world.servers[0].onRequest = { _, _ in }
        world.submit(0..<1)
        world.pass(.milliseconds(100))
        world.pool.drain(at: world.now.instant)
        Self.refuse(world.servers[0], world.servers[0].received[1], "InvalidProviderToken")
        world.pass(.seconds(1))
        #expect(world.responses[0]?.status == 403 && world.isDrained)
    }

    // MARK: Other refusals

    @Test("A new token that comes too soon gives way to the previous one, with one alarm for all")
    func tooManyUpdates() throws {
        let world = try usedWorld(after: .seconds(3001))
        let first = world.servers[0].received[0].header("authorization")
        world.servers[0].onRequest = { server, received in
            if received.header("authorization") == first {
                server.respond(received.stream)
            } else {
                Self.refuse(server, received, "TooManyProviderTokenUpdates")
            }
        }
        world.submit(0..<200)
        world.pass(.seconds(1))
        #expect(world.responses.count == 201 && world.responses.values.allSatisfy { $0.status == 200 })
        #expect(world.servers.count == 1 && world.alarms == [.tooManyTokenUpdates(keepsOlder: true)])
        #expect(world.counters[.renewals] == 200)
        world.servers[0].onRequest = { $0.respond($1.stream) }
        world.pass(.seconds(600))
        world.submit(200..<201)
        world.pass(.seconds(1))
        #expect(world.servers[0].received.last?.header("authorization") != first, "it is as old as APNs takes it")
    }

    @Test(
        "A key for the other environment, or a bad certificate, is reported at once, and its connection is replaced",
        arguments: [
            ("BadEnvironmentKeyIdInToken", true), ("BadEnvironmentKeyInToken", true), ("BadCertificate", false),
        ])
    func uselessConnection(reason: String, usesToken: Bool) throws {
        let world = try World(tokens: usesToken ? Fixture.tokens() : nil)
        world.onRequest = { Self.refuse($0, $1, reason) }
        world.submit(0..<1)
        world.pass(.seconds(1))
        #expect(world.responses[0]?.reason?.rawValue == reason)
        #expect(world.servers.map(\.received.count) == [1, 0] && world.servers[0].isTransportClosed)
        #expect(usesToken || !world.servers[1].isTransportClosed)
    }

    // MARK: InternalServerError

    @Test("A connection with only InternalServerError responses is replaced, after a pause")
    func serverErrors() throws {
        let world = try usedWorld()
        world.servers[0].onRequest = { $0.respond($1.stream, 500, Self.body("InternalServerError")) }
        world.submit(0..<4)
        world.pass(.seconds(1))
        #expect(world.servers.count == 1)
        world.submit(4..<5)
        world.pass(.seconds(60))
        #expect(world.servers.count == 2 && world.servers[0].isTransportClosed)
        #expect(world.alarms == [.serverErrors] && world.counters[.serverErrorLimitHits] == 1)
        #expect(world.responses.values.filter { $0.status == 500 }.count == 5, "they are the owner's")
    }

    @Test("When every connection has errors, the next ones are dialled with growing backoff")
    func serverErrorsEverywhere() throws {
        let world = try World(tokens: Fixture.tokens()) {
            $0.maximumServerErrors = 1
            $0.backoff = Backoff(base: .seconds(1), limit: .seconds(60))
        }
        world.onRequest = { $0.respond($1.stream, 500, Self.body("InternalServerError")) }
        world.submit(0..<1000)
        world.pass(.seconds(600))
        #expect((10...60).contains(world.dialledAt.count), "\(world.dialledAt.count)")
    }

    @Test("Errors among other responses do not end a connection")
    func mixedErrors() throws {
        let world = try World { $0.maximumServerErrors = 3 }
        var count = 0
        world.onRequest = { server, received in
            count += 1
            server.respond(received.stream, count % 3 == 0 ? 410 : 500, Self.body("InternalServerError"))
        }
        world.submit(0..<30, every: .seconds(1))
        #expect(world.servers.count == 1 && world.alarms.isEmpty && world.responses.count == 30)
    }
}

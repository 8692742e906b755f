import APNs
import Core
import HTTP2
import Simulator
import TLS
import TestSupport
import Testing

/// Faults of APNs in streams, frames and responses, and the outcomes of the requests.
@Suite("A pool and its peer's faults")
struct PoolFaultTests {
    // MARK: Responses

    private static let unregistered = "{\"reason\":\"Unregistered\"}"

    @Test(
        "A malformed response's status counts, and its reason if it is readable",
        arguments: [
            ("in small frames", unregistered, "Unregistered"), ("without an ID", unregistered, "Unregistered"),
            ("with another ID", unregistered, "Unregistered"), ("empty", "", nil), ("no JSON", "<html>", nil),
            ("cut off", "{\"reason\":\"", nil),
            ("too large", "{\"reason\":\"\(String(repeating: "x", count: 65_536))\"}", nil),
            ("new", "{\"reason\":\"SomethingNew\"}", "SomethingNew"),
        ])
    func malformedResponse(form: String, body: String, reason: String?) throws {
        let world = try World()
        world.onRequest = { server, received in
            var response = HTTP2ServerResponse(status: 410, body: Array(body.utf8))
            if form == "in small frames" { response.largestFrame = 1 }
            if form == "with another ID" { response.headers = [HTTP2Header("apns-id", "NOT-A-UUID")] }
            do { try server.http2.respond(stream: received.stream, response) } catch { Issue.record(error) }
        }
        world.submit(0..<3)
        world.pass(.seconds(2))
        #expect(world.responses.values.map(\.status) == [410, 410, 410] && world.losses.isEmpty)
        #expect(world.responses.values.allSatisfy { $0.reason?.rawValue == reason })
        #expect(world.dialledAt.count == 1)
    }

    @Test("A response with an upper-case header name is malformed: its stream ends, and no other")
    func upperCaseName() throws {
        let link = try Link()
        link.server.onRequest = { server, received in
            guard received.stream == 1 else { return server.respond(received.stream) }
            // HEADERS with END_STREAM and END_HEADERS: ":status: 200" of the static table, then a literal "Apns-Id: x".
            let block = [0x88, 0, 7] + Array("Apns-Id".utf8) + [1, UInt8(ascii: "x")]
            let frame = [0, 0, UInt8(block.count), 1, 5, 0, 0, 0, 1] + block
            do { try server.tls.write(frame.span) } catch { Issue.record(error) }
        }
        try link.submit(as: 1)
        try link.submit(as: 2)
        link.pump()
        #expect(Set(link.news()) == ["ready", "lost 1: unknown", "responded 2: 200"])
        #expect(link.server.resets == [1: .protocolError])
    }

    @Test("A stream that is refused twice is sent again once")
    func refusedTwice() throws {
        let world = try World()
        var seen: Set<String?> = []
        world.onRequest = { server, received in
            guard seen.insert(received.header("apns-id")).inserted else { return server.respond(received.stream) }
            // RST_STREAM with REFUSED_STREAM; nghttp2 sends it only once.
            let frame: [UInt8] = [0, 0, 4, 3, 0, 0, 0, 0, UInt8(received.stream), 0, 0, 0, 7]
            do { for _ in 0..<3 { try server.tls.write(frame.span) } } catch { Issue.record(error) }
        }
        world.submit(0..<1)
        // Longer than the timeout of a request: a refusal after a pause is no silence.
        world.pass(.seconds(31))
        world.submit(1..<20)
        world.pass(.seconds(2))
        #expect(world.responses.count == 20 && world.losses.isEmpty)
        #expect(world.counters[.resends] == 20 && world.dialledAt.count == 1)
        #expect(world.servers[0].received.count == 40)
    }

    @Test("A pool that cannot make a session tries again by itself, with backoff")
    func noSession() throws {
        let world = try World { $0.engine.firstStreamID = 0 }
        world.pass(.seconds(30))
        let count = world.disconnects.count
        #expect((3...20).contains(count) && world.counters[.connects] == count && world.counters[.failures] == count)
        #expect(world.counters.disconnects == ["http2": count] && world.dialledAt.isEmpty)
        #expect(world.pool.outage != nil && !world.pool.isUsable)
    }

    // MARK: Stream IDs and SETTINGS

    @Test("When all connections run out of stream IDs at once, others take over and nothing is lost")
    func exhaustion() throws {
        let world = try World {
            $0.connections = 4...4
            $0.engine.firstStreamID = .max - 18
        }
        world.pass(.seconds(1))
        #expect(world.statistics.ready == 4)
        world.submit(0..<160)
        world.pass(.seconds(5))
        #expect(world.responses.count == 160 && world.losses.isEmpty && world.endings == 160)
        let counts = world.servers.map(\.received.count)
        #expect(counts.max() == 10 && counts.reduce(0, +) == 160 && counts.prefix(4) == [10, 10, 10, 10])
        #expect(world.servers.prefix(16).allSatisfy { $0.hasGoaway })
        #expect(world.counters[.failures] == 0 && world.disconnects.allSatisfy { $0 == nil })
    }

    @Test(
        "HPACK tables of any size, larger frames and changing SETTINGS lose nothing",
        arguments: [
            "connect: settings table=0", "connect: settings table=65536", "connect: settings frame=1048576",
            "every 20 requests: settings table=0\nevery 30 requests: settings table=65536",
            "every 10 requests: settings streams=3\nevery 15 requests: settings streams=100",
            "every 25 requests: settings streams=1\nevery 26 requests: settings streams=1000",
            "connect: settings window=0\nafter 2s: settings window=65535", "connect: settings window=100",
            "connect: settings window=1",
            "every 20 requests: settings window=0\nafter 3s: settings window=100\nafter 9s: settings window=100",
            // The peer acknowledges changed settings late, and delays everything else too.
            "connect: hold 3s", "every 25 requests: settings streams=5, hold 2s",
            "after 10 requests: settings streams=0\nafter 10s: settings streams=100",
        ])
    func settings(script: String) throws {
        let world = try World(script: script) { $0.streamCutTimeout = .seconds(3600) }
        for range in [0..<40, 40..<80, 80..<120] as [Range<Handle>] {
            world.submit(range, payload: 1000)
            world.pass(.seconds(4))
        }
        world.pass(.seconds(20))
        #expect(world.responses.count == 120 && world.losses.isEmpty)
        #expect(world.responses.values.allSatisfy { $0.status == 200 })
        let seen = try #require(world.simulator).ledger.statistics
        #expect(seen.duplicates == 0 && seen.priorityFrames == 0)
        #expect(seen.failedConnections == 0 && world.dialledAt.count == 1)
    }

    @Test("If a window never opens, sent requests are lost at their deadline, and the connection has space again")
    func closedWindow() throws {
        let world = try World(script: "connect: settings window=0")
        world.submit(0..<3)
        world.pass(.seconds(35))
        #expect(world.losses.count >= 1 && world.responses.isEmpty)
        #expect(
            world.losses.values.allSatisfy { $0.processed == .unknown && $0.detail.contains("no response in time") })
        world.pass(.seconds(120))
        #expect(world.losses.count == 3 && world.pool.inFlight == 0)
    }

    // MARK: PING

    @Test("A flood of PINGs costs one connection at most")
    func pingFlood() throws {
        let flood = try World(script: "after 20 requests on server: ping 30000")
        flood.submit(0..<100)
        flood.pass(.seconds(30))
        #expect(flood.endings == 100 && flood.dialledAt.count <= 2)
        #expect(flood.losses.values.allSatisfy { $0.detail.contains("nghttp2 -904") })
        flood.submit(200..<220)
        flood.pass(.seconds(5))
        #expect((200..<220).allSatisfy { flood.responses[$0]?.status == 200 })
    }

    @Test("A connection that answers PINGs and no request is replaced at a request's deadline")
    func deafButAlive() throws {
        let world = try World()
        world.onRequest = { [unowned world] server, received in
            if world.servers.count > 1 { server.respond(received.stream) }
        }
        world.submit(0..<3, every: .seconds(60))
        #expect(world.losses.keys.sorted() == [0] && world.losses[0]?.processed == .unknown)
        #expect(world.responses.keys.sorted() == [1, 2] && world.servers[0].pings > 0)
        #expect(world.alarms == [.silent] && world.servers.count == 2 && world.counters[.silentConnections] == 1)
    }

    @Test("One unanswered request among answered ones does not cost the connection")
    func oneOutstanding() throws {
        let world = try World()
        world.onRequest = { if $1.stream != 1 { $0.respond($1.stream) } }
        world.submit(0..<40, every: .seconds(1))
        #expect(world.losses.keys.sorted() == [0] && world.responses.count == 39 && world.servers.count == 1)
        #expect(world.alarms.isEmpty)
    }

    // MARK: Penalties

    @Test("An APNs that cuts clients for connecting too fast gets fewer connects, and all requests in the end")
    func connectionRate() throws {
        let world = try World(script: "set connection-limit 3 per 10s") { $0.connections = 8...8 }
        world.submit(0..<200)
        world.pass(.seconds(300))
        #expect(world.responses.count == 200 && world.losses.isEmpty && world.statistics.ready == 8)
        let seen = try #require(world.simulator).ledger.statistics
        #expect(seen.refusedConnections <= 20, "\(seen.refusedConnections)")
    }
}

extension HTTP2ErrorCode {
    fileprivate static let protocolError = HTTP2ErrorCode(rawValue: 0x01)
}

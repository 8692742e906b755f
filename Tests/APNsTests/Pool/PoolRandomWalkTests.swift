import APNs
import Core
import HTTP2
import TestSupport
import Testing

@Suite("APNsPool under faults")
struct PoolRandomWalkTests {
    @Test(
        "Under faults of APNs and network each request ends once, acceptances are reported, and nothing is sent twice",
        arguments: 0..<12)
    func walk(round: Int) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        let world = try World(tokens: round % 2 == 0 ? Fixture.tokens() : nil, seed: seed) {
            $0.connections = 1...4
            ($0.permitsPerSecond, $0.burst) = (500, 20)
            $0.maximumConnectsPerMinute = 1000
            $0.backoff = Backoff(base: .milliseconds(50), limit: .seconds(1))
            $0.engine.requestTimeout = .seconds(5)
            $0.engine.drainTimeout = .seconds(3)
        }
        world.settings.initial[.maxConcurrentStreams] = 8
        var hasFaults = true
        var accepted: [String: Int] = [:]
        var held: [(TestServer, Int32)] = []
        var highestAccepted: [ObjectIdentifier: Int32] = [:]
        func accept(_ server: TestServer, _ received: TestServer.Received) {
            highestAccepted[ObjectIdentifier(server)] = received.stream
            accepted[received.header("apns-id") ?? "", default: 0] += 1
            server.respond(received.stream)
        }
        world.onRequest = { server, received in
            switch hasFaults ? Int.random(in: 0..<40, using: &random) : 39 {
            case 0: server.reset(received.stream, .refusedStream)
            case 1: server.reset(received.stream, .internalError)
            case 2: server.respond(received.stream, 410, #"{"reason":"Unregistered","timestamp":1}"#)
            case 3: server.respond(received.stream, 503, #"{"reason":"Shutdown"}"#)
            case 4: server.respond(received.stream, 429, #"{"reason":"TooManyRequests"}"#)
            case 5: held.append((server, received.stream))
            case 6: server.goaway(last: highestAccepted[ObjectIdentifier(server)] ?? 0, #"{"reason":"IdleTimeout"}"#)
            case 7: server.allow(streams: UInt32.random(in: 1...20, using: &random))
            default: accept(server, received)
            }
        }
        var submitted = Handle(0)
        var cancelled = 0
        var isConserved = true
        world.check = { [unowned world] in
            let counters = world.counters
            isConserved =
                isConserved
                && counters[.submitted] == world.endings + cancelled + world.pool.waitingCount + world.pool.inFlight
        }
        for _ in 0..<150 {
            let count = Handle(UInt32.random(in: 0...30, using: &random))
            world.submit(submitted..<submitted + count)
            submitted += count
            world.pass(.milliseconds(Int64.random(in: 0...200, using: &random)))
            try #require(isConserved, "seed \(seed)")
            switch Int.random(in: 0..<12, using: &random) {
            case 0: if let server = world.servers.randomElement(using: &random) { world.cut(server) }
            case 1:
                world.pool.submit(Fixture.request(submitted), handle: submitted, at: world.now.instant)
                #expect(world.cancel(submitted))
                cancelled += 1
            default: break
            }
        }
        hasFaults = false
        world.pass(.seconds(60))
        #expect(isConserved, "seed \(seed)")
        #expect(world.endings == submitted.index, "seed \(seed)")
        #expect(world.pool.waitingCount == 0 && world.pool.inFlight == 0, "seed \(seed)")
        #expect(Set(world.responses.keys).isDisjoint(with: world.losses.keys), "seed \(seed)")
        #expect(accepted.values.allSatisfy { $0 == 1 }, "seed \(seed)")
        // An acceptance is reported, or its response was lost and the outcome is unknown.
        let told = world.responses.values.count { $0.status == 200 }
        let unknown = world.losses.values.count { $0.processed == .unknown }
        #expect(told <= accepted.count && accepted.count <= told + unknown, "seed \(seed)")
        world.pool.drain(at: world.now.instant)
        world.pass(.seconds(10))
        #expect(world.isDrained, "seed \(seed)")
    }
}

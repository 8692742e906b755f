import AMQP
import Core
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline
@testable import Runtime

/// `queues[].rate_limit`: `docs/operate/teams.md`, "A pace for a queue".
@Suite("The rate limit of a queue")
struct QueuePaceTests {
    private static let pace = Configuration.RateLimit(perSecond: 50, burst: 10)

    /// With a rate-limited queue, and `push.other` without a limit.
    private static func world(
        _ pace: Configuration.RateLimit = pace, script: String = "",
        configure: (inout Configuration) -> Void = { _ in }
    ) throws -> World {
        try World.started(script: script, declares: World.queues + ["push.other"]) {
            $0.queues[0].prefetch = 1000
            $0.queues[0].rateLimit = pace
            $0.queues.append(Configuration.Queue(name: "push.other", decoder: "auto", prefetch: 10))
            configure(&$0)
        }
    }

    /// When APNs received each notification, since the first.
    private static func times(_ world: World) -> [Duration] {
        let times = world.ledger.records.map(\.receivedAt)
        return times.map { $0 - (times.first ?? $0) }
    }

    private static func waiting(_ world: World) -> Int? {
        world.worker?.snapshot(at: world.moment).queues[0].paceWaiting
    }

    @Test("200 requests at 50 a second with a burst of 10 take 3.8 seconds, each is sent when due, and in order")
    func exact() throws {
        let world = try Self.world()
        try world.put(0..<200)
        #expect(world.sent == 10 && Self.waiting(world) == 190)
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        let times = Self.times(world)
        #expect(times.count == 200 && times[9] == .zero)
        for (index, time) in times.enumerated().dropFirst(10) {
            #expect(time == .milliseconds((index - 9) * 20), "\(index)")
        }
        let order = world.ledger.records.map { String(decoding: $0.deviceToken, as: UTF8.self) }
        #expect(order == (0..<200).map { World.token($0) })
        #expect(world.published(in: "push.results").allSatisfy { $0.outcome == "accepted" })
        let fast = try Self.world(Configuration.RateLimit(perSecond: 1000, burst: 1))
        try fast.put(0..<200)
        #expect(fast.worker?.turnInterval == Duration.milliseconds(1), "a longer one would waste permits")
    }

    @Test("What waits at a drain and must not wait in a retry queue expires")
    func nowOrNever() throws {
        let world = try Self.world(Configuration.RateLimit(perSecond: 1, burst: 1))
        try world.request(World.fanOut(["1", "2", "3"], extra: "\"apns-expiration\":0,"), id: "m")
        #expect(world.sent == 1)
        #expect(try !world.drain(within: .seconds(5)).wasCutShort)
        #expect(
            world.published(in: "push.results").compactMap(\.outcome).sorted() == ["accepted", "expired", "expired"])
        #expect(world.parked.isEmpty)
    }

    @Test("Another queue does not wait, and a drain returns at once what does")
    func otherQueue() throws {
        let world = try Self.world()
        try world.put(0..<500)
        try world.put(1000..<1001, into: "push.other")
        #expect(world.ledger.records.contains { $0.deviceToken.elementsEqual(World.token(1000).utf8) })
        #expect(Self.waiting(world) == 490 && world.worker?.worker.consumer.held == 490)
        world.worker?.startDrain(deadline: world.network.now + .seconds(60))
        world.worker?.step(at: world.moment)
        #expect(world.worker?.worker.consumer.held == 0)
    }

    @Test("Each notification of a fan-out takes a permit, and so does each retry")
    func fanOut() throws {
        let world = try Self.world(script: "token *, attempt 1: 503 Shutdown")
        try world.request(World.fanOut((0..<30).map { World.token($0) }), id: "m1")
        #expect(world.pass(atMost: .seconds(20)) { world.isQuiet })
        let times = Self.times(world)
        #expect(times.count == 60)
        #expect(times.last ?? .zero >= .milliseconds(1000))
        #expect(world.published(in: "push.results").count { $0.outcome == "accepted" } == 30)
    }

    @Test("The AMQP priority decides among waiting requests")
    func priority() throws {
        let world = try Self.world()
        try world.put(0..<30)
        try world.request(World.body(99, extra: "\"apns-priority\":1,"), id: "urgent") { $0.priority = 5 }
        try world.request(World.body(98, extra: "\"apns-priority\":10,"), id: "not") { $0.priority = nil }
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        let order = world.ledger.records.map { String(decoding: $0.deviceToken, as: UTF8.self) }
        #expect(order == (Array(0..<10) + [99] + Array(10..<30) + [98]).map { World.token($0) })
    }

    @Test("A request that expires while it waits is not sent, and takes no permit")
    func expiry() throws {
        let world = try Self.world(Configuration.RateLimit(perSecond: 1, burst: 1))
        try world.put(0..<1)
        try world.put(1..<11, extra: "\"apns-expiration\":\(World.start.wall.seconds + 4),")
        try world.put(11..<12)
        #expect(world.pass(atMost: .seconds(30)) { world.isQuiet })
        let outcomes = world.published(in: "push.results").compactMap(\.outcome)
        #expect(outcomes.count { $0 == "expired" } == 12 - world.sent && (5...7).contains(world.sent))
        #expect(Self.times(world).last == .seconds(world.sent - 1))
    }

    @Test("A drain requeues waiting requests at once, and parks partly sent ones")
    func drain() throws {
        let world = try Self.world()
        try world.request(World.fanOut((0..<20).map { World.token($0) }), id: "fan-out")
        try world.put(100..<200)
        #expect(try !world.drain(by: .seconds(60), within: .seconds(1)).wasCutShort)
        #expect(world.broker.unsettledCount == 0)
        #expect(world.broker.messages(in: "push.requests").count == 100 && world.parked.count == 1)
        try world.start()
        #expect(world.pass(atMost: .seconds(1000)) { world.isQuiet })
        #expect(world.sent == 120 && world.published(in: "push.results").count == 120)
    }

    @Test("A request that waits for longer than the hold time is parked without an attempt")
    func hold() throws {
        let world = try Self.world(Configuration.RateLimit(perSecond: 1, burst: 1)) { $0.hold = .seconds(20) }
        try world.put(0..<100)
        world.pass(.seconds(21))
        #expect((78...82).contains(world.parked.count) && Self.waiting(world) == 0)
        for copy in world.parked { #expect(copy.decodedProperties?.headers?["harebell-attempts"] == .int32(0)) }
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("Requests of a paused app take no permits, and are sent at the rate limit after the pause")
    func pause() throws {
        let world = try Self.world(script: "topic com.example.app: 403 TopicMismatch")
        try world.put(0..<100)
        world.pass(.seconds(14))
        // The other queued requests had their turn, and wait for the app.
        #expect(world.worker?.paused.reduce(0) { $0 + $1.held } == 100 && Self.waiting(world) == 0)
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(600)) { world.isQuiet })
        // All of them after the probe: ten at once, then one every 20 ms.
        let accepted = Self.times(world).suffix(99)
        #expect((accepted.last ?? .zero) - (accepted.first ?? .zero) >= .milliseconds(1760))
        #expect(world.published(in: "push.results").count { $0.outcome == "accepted" } == 100)
    }

    @Test("When no app can send, waiting requests are requeued")
    func standstill() throws {
        let world = try Self.world(script: "topic *: 403 BadCertificate") {
            $0.apps.removeAll { $0.topic != "com.example.app" }
            $0.hold = .seconds(60)
        }
        try world.put(0..<3)
        world.pass(.seconds(55))
        try world.put(3..<50)
        world.pass(.seconds(120))
        #expect(world.worker?.isSuspended == true && Self.waiting(world) == 0)
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(4000)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 50)
    }

    @Test("After a lost connection the broker redelivers the waiting requests, and nothing is sent twice")
    func lostConnection() throws {
        let world = try Self.world()
        try world.put(0..<100)
        world.pass(.milliseconds(100))
        world.cut(consuming: true)
        #expect(world.pass(atMost: .seconds(30)) { world.isQuiet })
        #expect(world.sent == 100 && world.published(in: "push.results").count == 100)
    }

    @Test("A request waiting for an app that a reload removes ends at its turn")
    func removedApp() throws {
        let world = try Self.world()
        try world.put(0..<50)
        try world.reload { $0.apps.removeFirst() }
        #expect(world.pass(atMost: .seconds(30)) { world.isQuiet })
        let outcomes = world.published(in: "push.results").compactMap(\.outcome)
        #expect(outcomes.count { $0 == "invalid" } == 40 && outcomes.count { $0 == "accepted" } == 10)
    }
}

import AMQP
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline
@testable import Runtime

/// Requests for a device that APNs throttles: `docs/operate/retries.md`.
@Suite("Throttled devices")
struct ThrottledDeviceTests {
    private func attempts(_ message: Broker.Message) -> FieldValue? {
        message.header("harebell-attempts")
    }

    private func parked(_ world: World, _ seconds: Int) -> [Broker.Message] {
        world.broker.messages(in: "push.requests.retry.\(seconds)s")
    }

    @Test("A request for a throttled device is parked at once, without an attempt, and is sent after the delay")
    func parkedAtOnce() throws {
        let world = try World.started(script: "token aa*, first 1 requests: 429 TooManyRequests")
        // One of them makes room.
        for number in 0..<ThrottledDevices.maximumCount {
            _ = world.worker?.worker.pipeline.reachability.throttledDevices.throttle(
                try #require(DeviceToken("\(10_000_000 + number)")), until: .distantFuture, at: world.moment.instant)
        }
        try world.request(World.fanOut(["aa"]), id: "m1")
        #expect(parked(world, 5).map(attempts) == [.int32(1)])
        for number in 2...4 {
            world.pass(.seconds(1))
            try world.request(World.fanOut(["aa"]), id: "m\(number)")
        }
        #expect(world.sent == 1 && world.broker.unsettledCount == 0)
        #expect(parked(world, 5).map(attempts) == [.int32(1), .int32(0), .int32(0), .int32(0)])
        #expect(world.pass(atMost: .seconds(9)) { world.isQuiet })
        #expect(world.sent == 5)
        #expect(world.published(in: "push.results").map(\.outcome) == Array(repeating: "accepted", count: 4))
        #expect(world.published(in: "push.results").count { $0.body.contains("\"attempts\":1,") } == 3)
        let counters = try #require(world.worker?.counters)
        #expect(counters[.throttledNotifications] == 3 && counters[.parked] == 4)
        #expect(counters[.throttledDeviceLimitHits] == 1)
    }

    @Test("Other devices are sent to meanwhile, also those of the same request")
    func otherDevices() throws {
        let world = try World.started(script: "token aa*, first 1 requests: 429 TooManyRequests")
        try world.request(World.fanOut(["aa"]), id: "m1")
        try world.request(World.fanOut(["bb"]), id: "other")
        try world.request(World.fanOut(["aa", "cc"]), id: "both")
        #expect(world.sent == 3)
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted", "accepted"])
        #expect(parked(world, 5).count == 2)
        #expect(world.pass(atMost: .seconds(7)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 4 && world.sent == 5)
    }

    @Test("A device that refuses again is throttled for a second round, at the next delay")
    func secondRound() throws {
        let world = try World.started(script: "token aa*, first 2 requests: 429 TooManyRequests")
        try world.request(World.fanOut(["aa"]), id: "m1")
        #expect(world.pass(atMost: .seconds(6)) { world.sent == 2 })
        world.pass(.seconds(1))
        #expect(parked(world, 30).map(attempts) == [.int32(2)])
        try world.request(World.fanOut(["aa"]), id: "m2")
        #expect(world.sent == 2 && parked(world, 5).map(attempts) == [.int32(0)])
        #expect(world.pass(atMost: .seconds(6)) { world.sent == 3 })
        #expect(world.pass(atMost: .seconds(31)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted", "accepted"])
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("A notification that is now or never, or expires before the delay is over, is expired and not parked")
    func nowOrNever() throws {
        let world = try World.started(script: "token aa*, first 1 requests: 429 TooManyRequests\ntoken bb*: delay 10s")
        try world.request(World.fanOut(["aa"]), id: "m1")
        let soon = World.start.wall.seconds + 3
        try world.request(World.fanOut(["aa"], extra: "\"apns-expiration\":0,"), id: "never")
        try world.request(World.fanOut(["aa"], extra: "\"apns-expiration\":\(soon),"), id: "soon")
        #expect(world.sent == 1 && world.parked.count == 1)
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["expired", "expired"])
        #expect(results.first?.body.contains("APNs throttles its device (TooManyRequests)") == true)
        try world.request(World.fanOut(["bb", "aa"], extra: "\"apns-expiration\":0,"), id: "both")
        #expect(world.published(in: "push.results").map(\.outcome) == ["expired", "expired", "expired"], "at once")
    }

    @Test("Without a retry queue, what was not sent waits in the worker and is sent later")
    func missingQueue() throws {
        let world = try World.started(script: "token aa*, first 1 requests: 429 TooManyRequests", hasRetryQueues: false)
        try world.request(World.fanOut(["aa"]), id: "m1")
        #expect(world.published(in: "push.dead").count == 1)
        try world.request(World.fanOut(["aa"]), id: "m2")
        #expect(world.published(in: "push.results").count == 1 && world.sent == 1)
        #expect(world.pass(atMost: .seconds(600)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["undelivered", "accepted"])
        #expect(world.sent == 2)
    }
}

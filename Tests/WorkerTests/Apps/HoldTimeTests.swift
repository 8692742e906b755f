import AMQP
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline
@testable import Runtime

/// The limit on waiting in a worker: `docs/operate/retries.md`, "Hold time".
@Suite("Hold time")
struct HoldTimeTests {
    private static func consumers(_ world: World) -> Int? {
        world.broker.queues["push.requests"]?.consumerCount
    }

    @Test("A broker's shortest delivery timeout shortens it, as the log says", arguments: [(60, 20), (9, 5)])
    func deliveryTimeout(seconds: Int, hold: Int) throws {
        let world = try World.started()
        let text = "PRECONDITION_FAILED - timed out. Timeout value used: \(seconds)000 ms."
        world.broker.engines.first { $0.isConsuming }?.closeChannel(1, code: 406, text: text)
        world.pass(.seconds(1))
        try #require(world.worker).worker.shortenHold(for: .seconds(3600))
        #expect(world.worker?.worker.longestHold == .seconds(hold))
        #expect(world.worker?.worker.pipeline.settings.hold == .seconds(hold))
        #expect(world.worker?.worker.pipeline.settings.longestDeferral == .seconds(hold))
        let line = world.log.first { $0.message.hasSuffix("the hold time is reduced") }
        #expect(line?.number("consumer_timeout_seconds") == Double(seconds))
        #expect(line?.number("hold_seconds") == Double(hold))
    }

    // MARK: One app

    @Test("Requests that waited too long for one app are parked without an attempt, which frees the prefetch")
    func onePausedApp() throws {
        let world = try World.started(script: "topic com.example.other: 403 TopicMismatch", hold: .seconds(60))
        try world.put(0..<10, topic: "com.example.other")
        // A tenth of the prefetch is one request: it waits as the next probe, and the others are parked at once.
        try world.request(World.body(0), id: "app0")
        world.pass(.seconds(1))
        #expect(world.broker.unsettledCount == 1 && world.parked.count == 9)
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
        for copy in world.parked {
            #expect(copy.decodedProperties?.headers?["harebell-attempts"] == .int32(0))
            #expect(copy.decodedProperties?.headers?["harebell-parked"] == .int32(1))
        }
        // The one is parked after the hold time.
        world.pass(.seconds(3000))
        #expect(world.parked.count >= 9 && world.broker.unsettledCount <= 1)
        try world.put(10..<30, topic: "com.example.other")
        for number in 1..<20 { try world.request(World.body(number), id: "app\(number)") }
        world.pass(.seconds(2))
        #expect(world.published(in: "push.results").count == 20)
        #expect(world.broker.unsettledCount <= 1)
        #expect(Self.consumers(world) == 1)
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(3600)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.count == 50 && results.allSatisfy { $0.outcome == "accepted" })
        #expect(results.allSatisfy { $0.body.contains("\"attempts\":1,") })
        #expect(world.published(in: "push.dead").isEmpty)
        #expect(world.worker?.counters[.suspensions] == 0)
    }

    @Test("Requests returned from a retry queue during a probe wait for its outcome")
    func burst() throws {
        let world = try World.started(
            script: "topic com.example.other, first 2 requests: 403 TopicMismatch\ntoken *: delay 100ms"
        ) {
            $0.hold = .seconds(20)
            $0.retry.delays = [.seconds(100), .seconds(5000)]
        }
        try world.put(0..<8, topic: "com.example.other")
        #expect(world.pass(atMost: .seconds(400)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 8)
    }

    @Test("A worker sleeps while hundreds of requests are at APNs and too late")
    func beyondRecall() throws {
        let world = try World.started(script: "token 1a7e*: delay 25s", prefetch: 300)
        try world.request(World.body(0), id: "first")
        for number in 0..<280 {
            try world.request(World.body(token: "1a7e"), id: "m\(number)") { $0.expiration = Array("2000".utf8) }
        }
        world.pass(.seconds(10))
        #expect(world.sent == 281)
        #expect(try #require(world.worker?.nextDeadline) > world.moment.instant + .milliseconds(10))
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 281)
    }

    @Test("Without retry queues, overdue requests keep waiting, and none is dead-lettered")
    func withoutRetryQueues() throws {
        let script = "topic com.example.other: 403 TopicMismatch"
        let world = try World.started(script: script, hasRetryQueues: false, hold: .seconds(60))
        try world.put(0..<5, topic: "com.example.other")
        for number in 0..<5 { try world.request(World.body(number), id: "app\(number)") }
        world.pass(.seconds(3600))
        #expect(world.published(in: "push.results").count == 5 && world.published(in: "push.dead").isEmpty)
        // Each one tries a retry queue once per hold time.
        #expect(world.worker.map { $0.counters[.returned] } ?? 0 <= 5 * 60)
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(600)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 10 && world.published(in: "push.dead").isEmpty)
    }

    @Test("A refused push type does not stop another one of its app, however rare")
    func onePausedPushType() throws {
        let world = try World.started(script: "topic com.example.app.voip: 400 TopicDisallowed", hold: .seconds(60))
        try world.request(World.body(0), id: "alert0")
        world.pass(.seconds(1))
        for number in 1...30 {
            let call = World.body(number).replacing(#""payload""#, with: #""apns-push-type":"voip","payload""#)
            try world.request(call, id: "call\(number)")
        }
        world.pass(.seconds(600))
        #expect(world.worker?.counters[.suspensions] == 0 && Self.consumers(world) == 1)
        #expect(!world.parked.isEmpty && world.published(in: "push.dead").isEmpty)
        try world.request(World.body(100), id: "alert1")
        world.pass(.seconds(2))
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted", "accepted"])
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(3 * 3600)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 32 && world.published(in: "push.dead").isEmpty)
    }

    @Test("What waits longer while APNs answers is not parked")
    func slow() throws {
        let world = try World.started {
            ($0.hold, $0.apns.connections, $0.apns.permitsPerSecond, $0.apns.burst) = (.seconds(5), 1...1, 1, 1)
        }
        try world.put(0..<10)
        #expect(world.pass(atMost: .seconds(15)) { world.isQuiet } && world.worker?.counters[.parked] == 0)
    }

    // MARK: No app

    @Test("With APNs down for an hour a worker holds nothing, the queue keeps the backlog, and no attempt is used")
    func unreachable() throws {
        let world = try World.started(hold: .seconds(300), before: { $0.isAPNsDown = true })
        for number in 0..<200 { try world.request(World.body(number), id: "m\(number)") }
        let worker = try #require(world.worker)
        var most = 0
        world.check = { [unowned world] in
            most = max(most, world.worker.map { $0.worker.pipeline.notifications.count + $0.counters.unsettled } ?? 0)
        }
        world.pass(.seconds(240))
        #expect(world.broker.unsettledCount == 10 && Self.consumers(world) == 0)
        world.pass(.seconds(3600))
        #expect(most <= 2 * 10)
        #expect(world.broker.unsettledCount == 0 && Self.consumers(world) == 0)
        #expect(worker.isSuspended && worker.counters.unsettled == 0)
        #expect(worker.worker.pipeline.notifications.count == 0)
        let waiting = world.broker.messages(in: "push.requests")
        #expect(waiting.count == 200 && world.parked.isEmpty)
        // Ten were delivered once, and requeued once.
        #expect(waiting.count { $0.redelivered } == 10)
        #expect(worker.counters.deliveries == [10] && worker.counters[.requeued] == 10)
        #expect(worker.counters[.suspensions] == 1 && world.published(in: "push.dead").isEmpty)
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(world.sent == 200 && results.count == 200)
        #expect(results.allSatisfy { $0.outcome == "accepted" && $0.body.contains("\"attempts\":1,") })
        #expect(Self.consumers(world) == 1 && !worker.isSuspended)
        let told = world.log.filter { $0.message.contains("app can send") }
        #expect(told.map { $0.number("hold_seconds") } == [300, nil])
    }

    @Test("It is not ready while nothing is consumed, and ready again when consumption resumes")
    func readiness() throws {
        let world = try World.started(hold: .seconds(300))
        world.isAPNsDown = true
        world.cut(World.apns)
        try world.request(World.body(1), id: "m1")
        func told() -> [String] { world.events.map { if case .ready = $0 { "ready" } else { "not ready" } } }
        world.pass(.seconds(400))
        #expect(told() == ["ready", "not ready"])
        #expect(world.log.count { $0.message.hasPrefix("a connection to APNs ended") } == 1)
        // The broker connection is lost meanwhile: the new one consumes nothing.
        world.cut(consuming: false)
        world.cut(World.broker)
        world.pass(.seconds(60))
        #expect(Self.consumers(world) == 0)
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(told() == ["ready", "not ready", "ready"])
        #expect(world.log.count { $0.message == "connected to APNs again" } == 1)
    }

    @Test(
        "When APNs refuses every app only probes are consumed, and a fixed credential resumes consumption",
        arguments: ["403 TopicMismatch", "403 InvalidProviderToken", "400 TopicDisallowed"])
    func refused(response: String) throws {
        let world = try World.started(script: "topic *: \(response)", hold: .seconds(300)) { $0.apps.removeLast() }
        for number in 0..<100 { try world.request(World.body(number), id: "m\(number)") }
        let worker = try #require(world.worker)
        world.pass(.seconds(600))
        #expect(worker.isSuspended && Self.consumers(world) == 0)
        #expect(world.broker.unsettledCount <= 1)
        world.pass(.seconds(3 * 3600))
        #expect(worker.counters[.suspensions] == 1 && world.broker.unsettledCount <= 1)
        #expect(world.published(in: "push.results").isEmpty && world.published(in: "push.dead").isEmpty)
        // Probes are taken one by one, and parked after their wait: none is requeued again and again.
        #expect(worker.counters[.requeued] <= 10)
        #expect(worker.counters.deliveries[0] < 10 + 3 * 3600 / 60)
        #expect(world.parked.count <= 60)
        let everything = world.broker.messages(in: "push.requests").count + world.parked.count
        #expect(everything + world.broker.unsettledCount == 100)
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(2 * 3600)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.count == 100 && results.allSatisfy { $0.outcome == "accepted" })
        #expect(!worker.isSuspended && Self.consumers(world) == 1)
    }

    @Test("No message of any queue is delivered often, however long nothing can be sent")
    func deliveryCounts() throws {
        let others = ["push.other", "push.third"]
        let world = try World.started(script: "topic *: 403 InvalidProviderToken", declares: World.queues + others) {
            $0.apps.removeAll { $0.topic != "com.example.app" }
            $0.hold = .seconds(60)
            for name in others {
                var queue = $0.queues[0]
                queue.name = name
                $0.queues.append(queue)
            }
        }
        try world.put(0..<20)
        try world.put(100..<120, into: others[0])
        try world.put(200..<220, into: others[1])
        let worker = try #require(world.worker)
        // What was held is back after 58 s, and the next probe is due at 105 s.
        world.pass(.seconds(70))
        #expect(world.broker.unsettledCount == 0)
        world.pass(.seconds(24 * 3600))
        #expect(worker.isSuspended && worker.counters[.suspensions] == 1)
        // At most one requeue of each held request when consumption stopped.
        #expect(worker.counters[.requeued] <= 3 * 10)
        #expect(world.published(in: "push.dead").isEmpty && world.published(in: "push.results").isEmpty)
    }

    @Test("A worker takes no further probe of a topic while its app's credential is refused as well")
    func topicAndCredential() throws {
        let script = "topic *: 400 TopicDisallowed"
        let world = try World.started(script: script, hold: .seconds(300)) { $0.apps.removeLast() }
        try world.put(0..<5)
        world.pass(.seconds(2))
        #expect(world.worker?.paused.map(\.topic) == ["com.example.app"])
        try world.setScript("topic *: 403 InvalidProviderToken")
        #expect(world.pass(atMost: .seconds(40)) { world.worker?.paused.count == 2 })
        #expect(world.pass(atMost: .seconds(20)) { world.worker?.isSuspended == true })
        try world.put(5..<40)
        world.pass(.seconds(200))
        #expect(world.broker.unsettledCount == 5)
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(700)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 40)
    }

    @Test("With apns-expiration 0 a notification expires and does not return to its queue, even with a short hold time")
    func nowOrNever() throws {
        let world = try World.started(hold: .seconds(20), before: { $0.isAPNsDown = true })
        try world.request(World.body(1, extra: "\"apns-expiration\":0,"), id: "now")
        try world.request(World.body(2), id: "later")
        world.pass(.seconds(30))
        #expect(world.published(in: "push.results").map(\.outcome) == ["expired"])
        #expect(world.worker?.counters[.requeued] == 1)
    }

    @Test("An unsent channel creation is parked, and not requeued: a redelivery would not be sent")
    func creation() throws {
        let world = try World.started(hold: .seconds(30), before: { $0.isAPNsDown = true })
        try world.request(
            #"{"apns-topic":"com.example.app","channel":{"operation":"create","message-storage-policy":1}}"#, id: "c1")
        world.pass(.seconds(29))
        #expect(world.worker?.counters[.parked] == 1 && world.worker?.counters[.requeued] == 0)
        #expect(world.broker.unsettledCount == 0)
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(1000)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
    }

    @Test("A suspended worker drains at once, and a draining one does not start to consume", arguments: [25, 90])
    func drain(after seconds: Int) throws {
        let world = try World.started(hold: .seconds(60), before: { $0.isAPNsDown = true })
        world.broker.countsDeliveries = true
        try world.request(World.body(1), id: "m1")
        world.kill()
        try world.start()
        world.pass(.seconds(seconds))
        #expect(world.worker?.isSuspended == true)
        world.isAPNsDown = seconds == 25
        try world.drain(within: .seconds(10))
        #expect(world.sent == 0 && world.broker.messages(in: "push.requests").count == 1)
    }
}

import AMQP
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline
@testable import Runtime

/// Nothing waits in a worker for long: `docs/operate/retries.md`, "Hold time".
@Suite("Hold time")
struct HoldTimeTests {
    private static func body(_ number: Int, topic: String = "com.example.app") -> String {
        let name = String(number, radix: 16)
        let token = "7" + String(repeating: "0", count: 63 - name.count) + name
        return "{\"device-token\":\"\(token)\",\"apns-topic\":\"\(topic)\",\"payload\":{\"aps\":{\"badge\":1}}}"
    }

    private static func other(_ number: Int) -> String {
        body(1000 + number, topic: "com.example.other")
    }

    private static func consumers(_ world: World) -> Int? {
        world.broker.queues["push.requests"]?.consumerCount
    }

    // MARK: One app

    @Test("What waited too long for one app is parked and counts no attempt, so that the others have the prefetch")
    func onePausedApp() throws {
        let world = try World(script: "topic com.example.other: 403 TopicMismatch") { $0.hold = .seconds(60) }
        try world.start()
        for number in 0..<10 { try world.request(Self.other(number), id: "other\(number)") }
        // Prefetch is full of them.
        try world.request(Self.body(0), id: "app0")
        world.pass(.seconds(50))
        #expect(world.broker.unsettledCount == 10 && world.parked.isEmpty)
        #expect(world.published(in: "push.results").isEmpty)
        world.pass(.seconds(11))
        #expect(world.parked.count == 10)
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
        for copy in world.parked {
            #expect(copy.decodedProperties?.headers?["harebell-attempts"] == .int32(0))
            #expect(copy.decodedProperties?.headers?["harebell-parked"] == .int32(1))
        }
        // From now on only one waits, as the next probe, and the others flow.
        for number in 10..<30 { try world.request(Self.other(number), id: "other\(number)") }
        for number in 1..<20 { try world.request(Self.body(number), id: "app\(number)") }
        world.pass(.seconds(2))
        #expect(world.published(in: "push.results").count == 20)
        #expect(world.broker.unsettledCount <= 1)
        #expect(Self.consumers(world) == 1)
        try world.setScript("")
        world.cut(World.apns)
        #expect(world.pass(atMost: .seconds(3600)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.count == 50 && results.allSatisfy { $0.outcome == "accepted" })
        #expect(results.allSatisfy { $0.body.contains("\"attempts\":1,") })
        #expect(world.published(in: "push.dead").isEmpty)
        #expect(world.worker?.counters[.suspensions] == 0)
    }

    @Test("What comes back from a retry queue while the probe is under way waits for what it shows")
    func burst() throws {
        let world = try World(
            script: "topic com.example.other, first 2 requests: 403 TopicMismatch\ntoken *: delay 100ms"
        ) {
            $0.hold = .seconds(20)
            $0.retry.delays = [.seconds(100), .seconds(5000)]
        }
        try world.start()
        for number in 0..<8 { try world.request(Self.other(number), id: "other\(number)") }
        #expect(world.pass(atMost: .seconds(400)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 8)
    }

    @Test("Without retry queues what has waited too long waits on, and none of it is a dead letter")
    func withoutRetryQueues() throws {
        let world = try World(script: "topic com.example.other: 403 TopicMismatch", hasRetryQueues: false) {
            $0.hold = .seconds(60)
        }
        try world.start()
        for number in 0..<5 { try world.request(Self.other(number), id: "other\(number)") }
        for number in 0..<5 { try world.request(Self.body(number), id: "app\(number)") }
        world.pass(.seconds(3600))
        #expect(world.published(in: "push.results").count == 5 && world.published(in: "push.dead").isEmpty)
        // Each asks for a retry queue once in the time that it is held.
        #expect(world.worker.map { $0.counters[.returned] } ?? 0 <= 5 * 60)
        try world.setScript("")
        world.cut(World.apns)
        #expect(world.pass(atMost: .seconds(600)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 10 && world.published(in: "push.dead").isEmpty)
    }

    @Test("A push type that is refused does not stop another one of its app, however rare that is")
    func onePausedPushType() throws {
        let world = try World(script: "topic com.example.app.voip: 400 TopicDisallowed") { $0.hold = .seconds(60) }
        try world.start()
        try world.request(Self.body(0), id: "alert0")
        world.pass(.seconds(1))
        for number in 1...30 {
            let call = Self.body(number).replacing(#""payload""#, with: #""apns-push-type":"voip","payload""#)
            try world.request(call, id: "call\(number)")
        }
        world.pass(.seconds(600))
        #expect(world.worker?.counters[.suspensions] == 0 && Self.consumers(world) == 1)
        #expect(!world.parked.isEmpty && world.published(in: "push.dead").isEmpty)
        try world.request(Self.body(100), id: "alert1")
        world.pass(.seconds(2))
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted", "accepted"])
        try world.setScript("")
        world.cut(World.apns)
        #expect(world.pass(atMost: .seconds(3 * 3600)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 32 && world.published(in: "push.dead").isEmpty)
    }

    // MARK: No app

    @Test("With APNs stopped for an hour a worker holds nothing, the queue keeps the backlog, and nothing is burnt")
    func unreachable() throws {
        let world = try World { $0.hold = .seconds(300) }
        world.isAPNsDown = true
        try world.start()
        for number in 0..<200 { try world.request(Self.body(number), id: "m\(number)") }
        let worker = try #require(world.worker)
        var most = 0
        world.check = { [unowned world] in
            most = max(most, world.worker.map { $0.dispatch.notifications.count + $0.counters.unsettled } ?? 0)
        }
        world.pass(.seconds(240))
        #expect(world.broker.unsettledCount == 10 && Self.consumers(world) == 1)
        world.pass(.seconds(3600))
        #expect(most <= 2 * 10)
        #expect(world.broker.unsettledCount == 0 && Self.consumers(world) == 0)
        #expect(worker.counters.unsettled == 0 && worker.dispatch.notifications.count == 0)
        #expect(worker.isSuspended)
        let waiting = world.broker.messages(in: "push.requests")
        #expect(waiting.count == 200 && world.parked.isEmpty)
        // Ten were taken once, and given back once.
        #expect(waiting.count { $0.redelivered } == 10)
        #expect(worker.counters.deliveries == [10] && worker.counters[.requeued] == 10)
        #expect(worker.counters[.suspensions] == 1)
        #expect(world.published(in: "push.dead").isEmpty)
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.sent == 200 && world.published(in: "push.results").count == 200)
        #expect(Self.consumers(world) == 1 && !worker.isSuspended)
    }

    @Test("It is not ready while nothing is consumed, and ready again when something is")
    func readiness() throws {
        let world = try World { $0.hold = .seconds(300) }
        try world.start()
        world.isAPNsDown = true
        world.cut(World.apns)
        try world.request(Self.body(1), id: "m1")
        func told() -> [String] { world.events.map { if case .ready = $0 { "ready" } else { "not ready" } } }
        world.pass(.seconds(400))
        #expect(told() == ["ready", "not ready"])
        // The broker's connection is lost meanwhile: what comes up again consumes nothing.
        world.cut(consuming: false)
        world.cut(World.broker)
        world.pass(.seconds(60))
        #expect(Self.consumers(world) == 0)
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(told() == ["ready", "not ready", "ready"])
    }

    @Test(
        "When APNs refuses every app nothing is consumed but probes, and a mended credential ends it",
        arguments: ["403 TopicMismatch", "403 InvalidProviderToken", "400 TopicDisallowed"])
    func refused(answer: String) throws {
        let world = try World(script: "topic *: \(answer)") {
            $0.apps.removeAll { $0.topic != "com.example.app" }
            $0.hold = .seconds(300)
        }
        try world.start()
        for number in 0..<100 { try world.request(Self.body(number), id: "m\(number)") }
        let worker = try #require(world.worker)
        world.pass(.seconds(600))
        #expect(worker.isSuspended && Self.consumers(world) == 0)
        #expect(world.broker.unsettledCount <= 1)
        world.pass(.seconds(3 * 3600))
        #expect(worker.counters[.suspensions] == 1 && world.broker.unsettledCount <= 1)
        #expect(world.published(in: "push.results").isEmpty && world.published(in: "push.dead").isEmpty)
        // Probes are taken one by one, and parked when they have waited: none is given back over and over.
        #expect(worker.counters[.requeued] <= 10)
        #expect(worker.counters.deliveries[0] < 10 + 3 * 3600 / 60)
        #expect(world.parked.count <= 60)
        let everything = world.broker.messages(in: "push.requests").count + world.parked.count
        #expect(everything + world.broker.unsettledCount == 100)
        try world.setScript("")
        world.cut(World.apns)
        #expect(world.pass(atMost: .seconds(2 * 3600)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.count == 100 && results.allSatisfy { $0.outcome == "accepted" })
        #expect(!worker.isSuspended && Self.consumers(world) == 1)
    }

    @Test("However long nothing can be sent, no message of any queue is delivered often")
    func deliveryCounts() throws {
        let others = ["push.other", "push.third"]
        let world = try World(script: "topic *: 403 InvalidProviderToken", declares: World.queues + others) {
            $0.apps.removeAll { $0.topic != "com.example.app" }
            $0.hold = .seconds(60)
            for name in others {
                var queue = $0.queues[0]
                queue.name = name
                $0.queues.append(queue)
            }
        }
        try world.start()
        for number in 0..<20 { try world.request(Self.body(number), id: "m\(number)") }
        for (index, queue) in others.enumerated() {
            for number in 0..<20 {
                var properties = MessageProperties()
                properties.messageID = Array("\(queue)\(number)".utf8)
                try world.broker.put(
                    Array(Self.body(100 + 20 * index + number).utf8), properties: properties, into: queue)
            }
        }
        let worker = try #require(world.worker)
        world.pass(.seconds(24 * 3600))
        #expect(worker.isSuspended && worker.counters[.suspensions] == 1)
        // Once each of what was held when nothing was consumed any more.
        #expect(worker.counters[.requeued] <= 3 * 10)
        #expect(world.published(in: "push.dead").isEmpty && world.published(in: "push.results").isEmpty)
    }

    @Test("A creation of a channel that was not sent is parked, and not given back: a redelivery would not be sent")
    func creation() throws {
        let world = try World { $0.hold = .seconds(30) }
        world.isAPNsDown = true
        try world.start()
        try world.request(
            #"{"apns-topic":"com.example.app","channel":{"operation":"create","message-storage-policy":1}}"#, id: "c1")
        world.pass(.seconds(60))
        #expect(world.parked.count == 1 && world.broker.unsettledCount == 0)
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(1000)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
    }

    @Test("A worker that consumes nothing drains at once, and one that drains does not begin to consume")
    func drain() throws {
        let world = try World { $0.hold = .seconds(30) }
        world.isAPNsDown = true
        try world.start()
        try world.request(Self.body(1), id: "m1")
        world.pass(.seconds(60))
        let worker = try #require(world.worker)
        #expect(worker.isSuspended)
        worker.startDrain(deadline: world.network.now + .seconds(30))
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(10)) { worker.hasEnded })
        #expect(world.sent == 0 && world.broker.messages(in: "push.requests").count == 1)
    }
}

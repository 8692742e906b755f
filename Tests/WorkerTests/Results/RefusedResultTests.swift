import Core
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration
@testable import Monitoring
@testable import Pipeline
@testable import Runtime

@Suite("Results that a queue refuses")
struct RefusedResultTests {
    private static let full = "full"

    /// A world whose queue `full` refuses publishes. A tenth of its prefetch are ten requests.
    private static func world(_ configure: (inout Configuration) -> Void = { _ in }) throws -> World {
        let world = try World.started(prefetch: 100, configure: configure)
        world.broker.declare(full).rejectsPublishes = true
        return world
    }

    @Test("A full reply queue holds a tenth of the prefetch; further results go to the configured results at once")
    func bounded() throws {
        let world = try Self.world()
        try world.put(0..<300, replyTo: Self.full)
        world.pass(.seconds(2))
        #expect(world.broker.unsettledCount == 10 && world.published(in: "push.results").count == 290)
        let worker = try #require(world.worker)
        #expect(worker.worker.pipeline.destinations.heldRequests == 10)
        #expect(worker.counters[.divertedResults] == 290)
        try world.request(World.body(1000), id: "healthy", replyTo: "replies")
        #expect(world.published(in: "replies").map(\.outcome) == ["accepted"])
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test(
        "A result is refused for 30 seconds, then it goes to the configured results",
        arguments: [(0, 0, 10), (0, 60, 10), (9, 51, 7)] as [(unseen: Int, alarm: Int, left: Int)])
    func timeLimit(unseen: Int, alarm: Int, left: Int) throws {
        let world = try Self.world()
        try world.put(0..<5, replyTo: Self.full)
        world.pass(.seconds(20))
        world.broker.setAlarm(true)
        // After 3.5 seconds an attempt sees it.
        world.pass(.seconds(unseen))
        try world.put(5..<6, replyTo: "replies")
        world.pass(.seconds(alarm))
        world.broker.setAlarm(false)
        world.pass(.seconds(left - 1))
        #expect(Health(world.processSnapshot()).missing.isEmpty, "a reply queue is its producer's affair")
        #expect(world.broker.unsettledCount == 5 && world.published(in: "push.results").isEmpty)
        world.pass(.seconds(1))
        #expect(world.isQuiet && Set(world.published(in: "push.results").compactMap(\.messageID)).count == 5)
        #expect(world.worker?.worker.pipeline.destinations.heldRequests == 0)
    }

    @Test("An attempt that could not be written is forgotten with its result, and the queue is tried again")
    func unwritten() throws {
        let world = try Self.world()
        // Open connections stay; the one for attempts cannot be opened.
        world.isBrokerDown = true
        try world.put(0..<1, replyTo: Self.full)
        world.pass(.seconds(31))
        #expect(world.published(in: "push.results").count == 1)
        world.isBrokerDown = false
        world.broker.queues[Self.full]?.rejectsPublishes = false
        world.pass(.seconds(10))
        try world.put(1..<2, replyTo: Self.full)
        #expect(world.pass(atMost: .seconds(20)) { world.published(in: Self.full).count == 1 })
    }

    @Test("A queue that accepts publishes only for moments is tried less often each time, and after a while anew")
    func flapping() throws {
        let world = try Self.world()
        for (round, pause) in [500, 1000, 2000, 500].enumerated() {
            if round == 3 { world.pass(.seconds(9)) }
            world.broker.queues[Self.full]?.rejectsPublishes = true
            let start = world.network.now
            try world.put(round..<round + 1, replyTo: Self.full)
            world.broker.queues[Self.full]?.rejectsPublishes = false
            #expect(world.pass(atMost: .seconds(5)) { world.published(in: Self.full).count == round + 1 })
            #expect(
                (pause..<pause + 100).contains(Int((world.network.now - start).nanoseconds / 1_000_000)), "\(round)")
        }
    }

    @Test("A reply queue with space again in time gets every result that waited for it")
    func recovers() throws {
        let world = try Self.world()
        try world.put(0..<8, replyTo: Self.full)
        world.pass(.seconds(5))
        world.broker.queues[Self.full]?.rejectsPublishes = false
        #expect(world.pass(atMost: .seconds(24)) { world.isQuiet })
        #expect(world.published(in: Self.full).count == 8 && world.published(in: "push.results").isEmpty)
        #expect(world.worker?.counters[.divertedResults] == 0)
        // The waiting requests no longer count: as many may wait again.
        world.broker.queues[Self.full]?.rejectsPublishes = true
        try world.put(100..<110, replyTo: Self.full)
        #expect(world.broker.unsettledCount == 10)
        world.broker.refuses = { $0.routingKey == Array("full".utf8) ? .channel(404, "NOT_FOUND") : nil }
        #expect(world.pass(atMost: .seconds(25)) { world.isQuiet }, "a harmful queue is not waited for")
    }

    @Test(
        "The time in which nothing can be published does not count for results that wait",
        arguments: [(true, true), (true, false), (false, false)])
    func stopped(isAlarm: Bool, isSeenByQueues: Bool) throws {
        let world = try Self.world()
        for round in 0..<2 {
            world.broker.queues[Self.full]?.rejectsPublishes = true
            try world.put(round * 5..<round * 5 + 5, replyTo: Self.full)
            world.pass(.seconds(5))
            if isAlarm {
                world.broker.setAlarm(true)
                if isSeenByQueues { try world.put(100 + round..<101 + round, replyTo: "replies") }
            } else {
                world.broker.users = [:]
                world.broker.closeAll()
            }
            world.pass(.seconds(60))
            world.broker.queues[Self.full]?.rejectsPublishes = false
            if isAlarm { world.broker.setAlarm(false) } else { world.broker.users = ["guest": "guest"] }
            #expect(world.pass(atMost: .seconds(40)) { world.isQuiet })
            #expect(world.published(in: Self.full).count == round * 5 + 5)
            #expect(world.published(in: "push.results").isEmpty)
        }
    }

    @Test("Without a route for results, the request becomes a dead letter that holds the result")
    func deadLetter() throws {
        let world = try Self.world { $0.results.route = nil }
        try world.put(0..<1, replyTo: Self.full)
        #expect(world.pass(atMost: .seconds(31)) { world.isQuiet })
        let letter = try #require(world.published(in: "push.dead").first)
        #expect(letter.outcome == "accepted")
        #expect(letter.headers["harebell-detail"] == "the result could not be routed (the reply queue refuses it)")
        #expect(letter.headers["harebell-result"].map { $0.hasPrefix("{") && $0.contains("\"accepted\"") } == true)
        #expect(letter.body == World.body(0) && world.sent == 1)
    }

    @Test("A fan-out whose results are all refused becomes one dead letter with all of them")
    func fanOut() throws {
        let world = try Self.world { $0.results.route = nil }
        try world.request(World.fanOut(["1", "2", "3"]), id: "m", replyTo: Self.full)
        #expect(world.broker.unsettledCount == 1)
        #expect(world.worker?.worker.pipeline.destinations.heldRequests == 1)
        #expect(world.pass(atMost: .seconds(31)) { world.isQuiet })
        let letters = world.published(in: "push.dead")
        try #require(letters.count == 1)
        let (id, results) = (letters[0].headers["harebell-apns-id"], letters[0].headers["harebell-result"] ?? "")
        #expect(results.hasPrefix("[{\"apns-id\":\"\(id ?? "?")\",") && results.hasSuffix("}]"))
        #expect(results.ranges(of: "\"outcome\":\"accepted\"").count == 3)
    }

    @Test(
        "A failure makes the dead letter, else what APNs accepted, else the first result that had no queue",
        arguments: [
            ("1", "token 3*: 400 PayloadEmpty", "rejected", 1), ("dead", "", "accepted", 1),
            ("dead", "token 3*: 410 Unregistered", "unregistered", 0),
        ])
    func later(first: String, script: String, outcome: String, index: Int) throws {
        let world = try World.started(script: "token 3*: delay 5s\n\(script)") { $0.results.route = nil }
        try world.request(World.fanOut([first, "3"]), id: "m", replyTo: "missing")
        #expect(world.pass(atMost: .seconds(40)) { world.isQuiet })
        let letter = try #require(world.published(in: "push.dead").first)
        #expect(letter.outcome == outcome && letter.headers["harebell-detail"]?.hasPrefix("2 of 2") == true)
        #expect(letter.headers["harebell-apns-id"] == world.ledger.records.dropFirst(index).first?.apnsID.description)
    }

    @Test("A result whose reply queue is missing goes to the results, whichever of them are published otherwise")
    func missingReplyQueue() throws {
        let world = try World.started { $0.results.publish = .none }
        try world.request(World.body(0), id: "m0", replyTo: "missing")
        try world.request(World.body(1), id: "m1")
        try world.request(World.body(2), id: "m2", replyTo: "amq.rabbitmq.reply-to")
        #expect(world.pass(atMost: .seconds(40)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.count == 2)
        for (result, id) in zip(results, ["m0", "m2"]) { #expect(result.body.contains("\"message-id\":\"\(id)\"")) }
        #expect(world.published(in: "push.dead").isEmpty && world.worker?.counters[.returned] == 1)
        world.broker.delete("push.results")
        try world.request(World.body(3), id: "m3", replyTo: "amq.rabbitmq.reply-to")
        #expect(world.published(in: "push.dead").map(\.outcome) == ["accepted"])
    }

    @Test("Two full reply queues do not take each other's share")
    func fairness() throws {
        let world = try Self.world()
        world.broker.declare("slow").rejectsPublishes = true
        try world.put(0..<50, replyTo: Self.full)
        try world.put(100..<104, replyTo: "slow")
        try world.put(200..<250, replyTo: Self.full)
        world.broker.queues["slow"]?.rejectsPublishes = false
        world.pass(.seconds(20))
        #expect(world.published(in: "slow").count == 4)
        #expect(world.broker.unsettledCount <= 10)
    }

    @Test("If the configured results refuse as well, requests become dead letters; log, metric and readiness report it")
    func ownQueue() throws {
        let world = try Self.world()
        world.broker.queues["push.results"]?.rejectsPublishes = true
        try world.put(0..<20, replyTo: Self.full)
        world.pass(.seconds(35))
        // The share of both queues is ten requests.
        #expect(world.broker.unsettledCount == 5)
        #expect(world.published(in: "push.dead").count == 15)
        #expect(world.log.contains { $0.message.contains("a queue of the configuration refuses publishes") })
        #expect(world.log.contains { $0.message.hasPrefix("a result cannot reach its destination") })
        #expect(Health(world.processSnapshot()).missing.contains("push.results refuses publishes"))
        let page = String(decoding: MetricsPage.render(world.processSnapshot()), as: UTF8.self)
        #expect(page.contains("harebell_queue_refusing{destination=\"push.results\",cause=\"refuses\"} 1\n"))
        world.broker.queues["push.results"]?.rejectsPublishes = false
        #expect(world.pass(atMost: .seconds(31)) { world.isQuiet })
        #expect(Health(world.processSnapshot()).missing.allSatisfy { !$0.contains("refuses") })
        #expect(world.log.contains { $0.message.contains("accepts publishes again") })
    }

    @Test("A queue that refuses briefly leaves the worker ready, and a deleted one refuses nothing any more")
    func deleted() throws {
        let world = try Self.world()
        world.broker.queues["push.results"]?.rejectsPublishes = true
        try world.request(World.body(0), id: "m0")
        world.pass(.seconds(9))
        #expect(Health(world.processSnapshot()).missing.allSatisfy { !$0.contains("refuses") })
        world.pass(.seconds(3))
        #expect(Health(world.processSnapshot()).missing.contains("push.results refuses publishes"))
        world.broker.delete("push.results")
        #expect(world.pass(atMost: .seconds(31)) { world.isQuiet })
        #expect(Health(world.processSnapshot()).missing.allSatisfy { !$0.contains("refuses") })
        #expect(world.published(in: "push.dead").count == 1)
    }
}

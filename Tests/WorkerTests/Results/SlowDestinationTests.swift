import Core
import Logging
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Monitoring

@Suite("Destinations that confirm nothing")
struct SlowDestinationTests {
    private static let silent = "silent"

    /// A running world whose queue `silent` has no majority. A tenth of its prefetch are 100 requests.
    private static func world(prefetch: UInt16 = 1000) throws -> World {
        let world = try World.started(declares: World.queues + [silent], prefetch: prefetch)
        world.broker.queues[silent]?.hasNoMajority = true
        return world
    }

    private static func identifiers(_ world: World, _ queue: String) -> Set<String> {
        Set(world.published(in: queue).compactMap(\.messageID))
    }

    /// One request a second for another reply queue.
    private static func busy(_ world: World, seconds: Int) throws {
        for _ in 0..<seconds {
            try world.request(World.body(0), replyTo: "replies")
            world.pass(.seconds(1))
        }
    }

    @Test("A few results to a queue without a majority wait for 30 seconds, twice, and other results do not wait")
    func timeLimit() throws {
        let world = try Self.world()
        for round in 1...2 {
            try world.put((round * 10)..<(round * 10 + 5), replyTo: Self.silent)
            for second in 0..<29 {
                try world.request(World.body(0), replyTo: "replies")
                #expect(world.published(in: "replies").count == (round - 1) * 29 + second + 1)
                world.pass(.seconds(1))
            }
            #expect(world.broker.unsettledCount == 5)
            world.pass(.seconds(3))
            #expect(world.isQuiet && Self.identifiers(world, "push.results").count == round * 5)
            // It has a majority again, and what it got meanwhile.
            world.broker.restoreMajority(of: Self.silent)
            world.settle()
            try world.put((round * 10 + 5)..<(round * 10 + 8), replyTo: Self.silent)
            #expect(world.pass(atMost: .seconds(2)) { world.isQuiet })
            #expect(Self.identifiers(world, "push.results").count == round * 5)
            world.broker.queues[Self.silent]?.hasNoMajority = true
        }
        #expect(world.network.attempts == 3, "the first connections to the broker and APNs")
    }

    @Test("The time of an alarm does not count for results that are not confirmed")
    func alarm() throws {
        let world = try Self.world()
        try world.put(0..<5, replyTo: Self.silent)
        try Self.busy(world, seconds: 10)
        world.broker.setAlarm(true)
        try Self.busy(world, seconds: 60)
        world.broker.setAlarm(false)
        world.pass(.seconds(29))
        #expect(world.published(in: "push.results").isEmpty)
        #expect(world.log.contains { $0.message == "the broker accepts publishes again" })
    }

    @Test("The time without a connection for attempts counts")
    func lostAttempts() throws {
        let world = try Self.world()
        try world.put(0..<1, replyTo: Self.silent)
        try Self.busy(world, seconds: 7)
        try world.put(1..<4, replyTo: Self.silent)
        world.isBrokerDown = true
        world.network.cut(try #require(world.network.links.last { $0.server is BrokerEngine }))
        try Self.busy(world, seconds: 10)
        world.isBrokerDown = false
        try Self.busy(world, seconds: 22)
        #expect(Self.identifiers(world, "push.results").count == 4)
    }

    @Test("One publish at a time is tried, and a confirm opens the queue to all that wait")
    func attempts() throws {
        let world = try Self.world()
        for round in 1...2 {
            let first = round * 100
            try world.put(first..<(first + 1), replyTo: Self.silent)
            try Self.busy(world, seconds: 7)
            try world.put((first + 1)..<(first + 20), replyTo: Self.silent)
            world.pass(.seconds(10))
            #expect(world.broker.unsettledCount == 20)
            world.broker.restoreMajority(of: Self.silent)
            #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
            #expect(Self.identifiers(world, Self.silent).count == round * 20)
            #expect(world.published(in: Self.silent).count == round * 20, "nothing is published twice")
            #expect(world.published(in: "push.results").isEmpty)
            world.broker.queues[Self.silent]?.hasNoMajority = true
        }
    }

    @Test("More than a tenth of the prefetch go elsewhere as soon as the queue counts as slow")
    func share() throws {
        let world = try Self.world(prefetch: 200)
        for round in 1...2 {
            try world.put((round * 100)..<(round * 100 + 30), replyTo: Self.silent)
            try Self.busy(world, seconds: 7)
            #expect(world.broker.unsettledCount == 20)
            try world.put((round * 100 + 30)..<(round * 100 + 60), replyTo: Self.silent)
            world.pass(.seconds(1))
            #expect(world.broker.unsettledCount == 20)
            world.broker.restoreMajority(of: Self.silent)
            #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
            world.broker.queues[Self.silent]?.hasNoMajority = true
        }
        let reached = Self.identifiers(world, Self.silent).union(Self.identifiers(world, "push.results"))
        #expect(reached.count == 120)
    }

    @Test("A result that a lost connection made go elsewhere waits no longer")
    func lostConnection() throws {
        let world = try Self.world(prefetch: 200)
        let full = world.broker.declare("full")
        for round in 1...2 {
            let first = round * 100
            try world.put(first..<(first + 1), replyTo: Self.silent)
            try Self.busy(world, seconds: 4)
            full.hasNoMajority = true
            // The oldest of the lost publishes does not wait yet, but will: its queue refuses the next one.
            try world.put((first + 20)..<(first + 21), replyTo: full.name)
            try world.put((first + 1)..<(first + 19), replyTo: Self.silent)
            (full.hasNoMajority, full.rejectsPublishes) = (false, true)
            try world.put((first + 21)..<(first + 22), replyTo: full.name)
            try Self.busy(world, seconds: 2)
            world.cut(consuming: false)
            world.pass(.seconds(2))
            #expect(world.published(in: "push.results").count == round)
            #expect(world.broker.unsettledCount == 20)
            full.rejectsPublishes = false
            world.broker.restoreMajority(of: Self.silent)
            #expect(world.pass(atMost: .seconds(9)) { world.isQuiet })
            #expect(Self.identifiers(world, Self.silent).count == round * 18)
            #expect(Self.identifiers(world, full.name).count == round * 2)
            world.broker.queues[Self.silent]?.hasNoMajority = true
        }
    }

    /// 100 requests a second for another reply queue.
    private static func traffic(_ world: World, seconds: Int, from first: Int) throws -> Duration {
        var longest = Duration.zero
        var last = world.network.now
        var count = world.published(in: "replies").count
        for tick in 0..<(seconds * 10) {
            try world.put((first + tick * 10)..<(first + tick * 10 + 10), replyTo: "replies")
            world.pass(.milliseconds(100))
            let now = world.published(in: "replies").count
            if now > count { last = world.network.now }
            count = now
            longest = max(longest, world.network.now - last)
        }
        return longest
    }

    @Test("A queue without a majority that stops the connection costs others a few seconds once, and loses nothing")
    func stopsConnection() throws {
        let world = try Self.world(prefetch: 5000)
        for round in 1...2 {
            let first = round * 100_000
            try world.put(first..<(first + 400), replyTo: Self.silent)
            let gap = try Self.traffic(world, seconds: 14, from: first + 1000)
            world.pass(.seconds(20))
            #expect(gap > .seconds(2) && gap < .seconds(10), "\(gap)")
            #expect(world.log.count { $0.message.contains("the connection is replaced") } == round)
            #expect(world.broker.unsettledCount == 0)
            let published = Self.identifiers(world, "push.results").union(Self.identifiers(world, Self.silent))
            #expect(published.count == round * 400)
            #expect(Self.identifiers(world, "replies").count == round * 1400)
            world.broker.restoreMajority(of: Self.silent)
            world.pass(.seconds(60))
            world.broker.queues[Self.silent]?.hasNoMajority = true
        }
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("A queue without a leader stops its channel at the first publish: others wait a few seconds, once")
    func stopsChannel() throws {
        let world = try Self.world(prefetch: 5000)
        for round in 1...2 {
            let first = round * 100_000
            world.broker.queues[Self.silent]?.hasNoMajority = true
            world.broker.queues[Self.silent]?.hasNoLeader = true
            // Both destinations are used before the first publish to the silent queue, and one confirm is missing.
            let before = try Self.traffic(world, seconds: 2, from: first + 90_000)
            world.broker.holdsConfirms = true
            try world.put((first + 500)..<(first + 501), replyTo: "replies")
            world.broker.holdsConfirms = false
            try world.put(first..<(first + 400), replyTo: Self.silent)
            let gap = try Self.traffic(world, seconds: 45, from: first + 1000)
            world.pass(.seconds(20))
            #expect(before < .seconds(1) && gap > .seconds(5) && gap < .seconds(9), "\(before) \(gap)")
            #expect(world.log.count { $0.message.contains("the connection is replaced") } == round)
            #expect(world.broker.unsettledCount == 0)
            #expect(Self.identifiers(world, "push.results").count == round * 400)
            #expect(Self.identifiers(world, "replies").count == round * 4701)
            world.broker.restoreMajority(of: Self.silent)
            world.pass(.seconds(60))
            try world.put((first + 501)..<(first + 502), replyTo: Self.silent)
            // The next round begins on a connection that has published nothing to the queue.
            world.broker.closeAll()
            world.pass(.seconds(60))
        }
        #expect(world.published(in: "push.dead").isEmpty)
        #expect(!world.log.contains { $0.message.contains("a queue of the configuration") })
    }

    @Test("The configured results are silent as well: after another 30 seconds the request is a dead letter")
    func deadLetter() throws {
        let world = try Self.world()
        world.broker.queues["push.results"]?.hasNoMajority = true
        for round in 1...2 {
            try world.put(round..<(round + 1), replyTo: Self.silent)
            try Self.busy(world, seconds: 66)
            #expect(world.isQuiet)
            #expect(world.published(in: "push.dead").map(\.outcome) == Array(repeating: "accepted", count: round))
            let detail = world.published(in: "push.dead").last?.headers["harebell-detail"]
            #expect(detail == "the result could not be routed (the queue does not confirm it)")
        }
    }

    @Test("A dead letter has one way: it waits, /readyz names the queue, and results go on")
    func deadLettersWait() throws {
        let world = try Self.world()
        for round in 1...2 {
            world.broker.queues["push.dead"]?.hasNoMajority = true
            for number in 0..<3 { try world.request("no JSON", id: "bad\(round)\(number)", replyTo: "replies") }
            try Self.busy(world, seconds: 60)
            #expect(world.broker.unsettledCount == 3)
            #expect(Health(world.processSnapshot()).missing.contains("push.dead does not confirm publishes"))
            #expect(world.published(in: "replies").count == round * 63)
            world.broker.restoreMajority(of: "push.dead")
            #expect(world.pass(atMost: .seconds(31)) { world.isQuiet })
            #expect(Health(world.processSnapshot()).missing.isEmpty)
            #expect(world.published(in: "push.dead").count == round * 3)
        }
    }

    @Test("A drain does not wait for a queue that confirms nothing, slow before or not", arguments: [0, 10])
    func drain(before: Int) throws {
        let world = try Self.world()
        try world.put(0..<20, replyTo: Self.silent)
        try Self.busy(world, seconds: before)
        #expect(try !world.drain(within: .seconds(before == 0 ? 29 : 2)).wasCutShort)
        #expect(Self.identifiers(world, "push.results").count == 20)
    }

    @Test("A drain during a memory alarm says how many results the broker has not confirmed")
    func blockedDrain() throws {
        let world = try Self.world()
        world.broker.setAlarm(true)
        try world.put(0..<20, replyTo: "replies")
        #expect(try world.drain(within: .seconds(45)).wasCutShort)
        let line = world.log.first { $0.message.contains("before the broker confirmed all results") }
        #expect(line?.metadata["blocked"]?.description == "true")
        #expect(line.flatMap { Int($0.metadata["unconfirmed"]?.description ?? "") } ?? 0 >= 19)
    }

    @Test("A broker that confirms nothing to anybody for six seconds blames no destination, later one at a time")
    func wholeBroker() throws {
        let world = try Self.world()
        for round in 1...2 {
            let attempts = world.network.attempts
            world.broker.holdsConfirms = true
            try world.put((round * 100)..<(round * 100 + 20), replyTo: "replies")
            try world.put((round * 100 + 20)..<(round * 100 + 40))
            world.pass(.seconds(6))
            world.broker.holdsConfirms = false
            world.releaseConfirms()
            #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
            #expect(world.network.attempts == attempts)
            #expect(world.published(in: "replies").count == round * 20)
            #expect(world.published(in: "push.results").count == round * 20)
        }
        world.broker.holdsConfirms = true
        try world.put(0..<1, replyTo: "push.feedback")
        world.pass(.seconds(4))
        for queue in ["replies", "push.results"] { try world.put(0..<1, replyTo: queue) }
        // Not before the others have waited for five seconds.
        for (seconds, count) in [(4.5, 0), (2, 1), (11, 1)] {
            world.pass(.seconds(seconds))
            #expect(world.log.count { $0.message.contains("the connection is replaced") } == count)
        }
    }

    @Test("One confirm that never comes neither stops its queue nor the worker")
    func straggler() throws {
        let count = 4500
        let world = try Self.world(prefetch: 100)
        world.broker.holdsConfirms = true
        try world.put(0..<1, replyTo: "replies")
        world.broker.holdsConfirms = false
        try world.put(1..<count, replyTo: "replies")
        #expect(world.pass(atMost: .seconds(29)) { world.published(in: "replies").count == count })
        #expect(try world.attempts { try Self.busy(world, seconds: 8) } == 0, "nothing is tried for it again")
        #expect(world.pass(atMost: .seconds(31)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 1)
    }
}

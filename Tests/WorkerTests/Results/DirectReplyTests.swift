import Pipeline
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration

@Suite("Direct replies")
struct DirectReplyTests {
    /// Requesters on this node are reachable, and any other closes the connection, as with RabbitMQ 3.10.
    private static let node = "reply@129641588"

    /// A world with a worker, and the name of a reachable requester.
    private static func started() throws -> (World, name: String) {
        let world = try World.started(prefetch: 100)
        let name = DirectReplies.name(node: node)
        world.broker.declare(name)
        world.broker.refuses = { [unowned broker = world.broker] message in
            let key = String(decoding: message.routingKey, as: UTF8.self)
            guard key.hasPrefix(DirectReplies.prefix) else { return nil }
            return broker.queues[key] == nil ? .connection(541, "INTERNAL_ERROR") : nil
        }
        return (world, name)
    }

    @Test(
        "A name that no broker made is never published: its result goes elsewhere, and no connection is opened or lost")
    func malformed() throws {
        let (world, _) = try Self.started()
        let attempts = try world.attempts {
            for (number, name) in DirectReplies.malformed.enumerated() {
                try world.request(World.body(number), id: "m\(number)", replyTo: name)
            }
            #expect(world.isQuiet)
        }
        #expect(attempts == 0)
        #expect(world.published(in: "push.results").count == DirectReplies.malformed.count)
        #expect(world.worker?.counters[.quarantined] == 0)
    }

    @Test("A direct reply is published on a separate connection, opened when it is first needed")
    func connections() throws {
        let (world, name) = try Self.started()
        #expect(world.broker.engines.count == 2)
        try world.request(World.body(0), id: "m0", replyTo: "replies")
        #expect(world.broker.engines.count == 2)
        try world.request(World.body(1), id: "m1", replyTo: name)
        #expect(world.published(in: name).count == 1 && world.broker.engines.count == 3)
        let other = DirectReplies.name(node: Self.node, number: 690)
        world.broker.declare(other)
        try world.request(World.body(2), id: "m2", replyTo: other)
        try world.request(World.body(3), id: "m3", replyTo: name)
        #expect(world.published(in: name).count == 2 && world.broker.engines.count == 3)
        world.cut(consuming: false)
        world.pass(.seconds(3))
        try world.put(4..<24, topic: "other", replyTo: name)
        #expect(world.published(in: name).count == 22, "the next connection takes as many at once")
        #expect(try !world.drain(within: .seconds(5)).wasCutShort)
    }

    @Test("A direct reply whose requester has gone is left to the broker, which drops it")
    func gone() throws {
        let (world, name) = try Self.started()
        world.broker.refuses = { _ in nil }
        try world.request(World.body(0), id: "m0", replyTo: name)
        world.broker.delete(name)
        try world.request(World.body(1), id: "m1", replyTo: name)
        #expect(world.pass(atMost: .seconds(5)) { world.isQuiet })
        #expect(world.published(in: "push.results").isEmpty)
        #expect(world.published(in: "push.dead").isEmpty)
        #expect(world.sent == 2)
    }

    @Test("Forged names, a new one each time, do not delay results to queues, and no direct reply is lost")
    func forged() throws {
        let (world, name) = try Self.started()
        try world.request(World.body(0), id: "first", replyTo: name)
        for round in 0..<60 {
            try world.request(World.body(1), id: "f\(round)", replyTo: DirectReplies.name(node: "reply@\(round)"))
            try world.request(World.body(2), id: "q\(round)", replyTo: "replies")
            try world.request(World.body(3), id: "d\(round)", replyTo: name)
            #expect(world.published(in: "replies").count == round + 1)
            world.pass(.milliseconds(333))
        }
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let elsewhere = Set(world.published(in: "push.results").compactMap(\.messageID))
        let direct = Set(world.published(in: name).compactMap(\.messageID))
        #expect(elsewhere.count + direct.count == 121)
        #expect(elsewhere.isDisjoint(with: direct))
        #expect(elsewhere.count >= 60)
        #expect(world.sent == 181)
    }

    @Test("Forged names that are too many to be checked hold a tenth of the prefetch")
    func flood() throws {
        let (world, _) = try Self.started()
        for number in 0..<1000 {
            let name = DirectReplies.name(node: "reply@\(number)")
            try world.request(World.body(number), id: "f\(number)", replyTo: name)
        }
        world.pass(.seconds(5))
        #expect(world.broker.unsettledCount <= 12)
        try world.request(World.body(1), id: "healthy", replyTo: "replies")
        #expect(world.published(in: "replies").count == 1)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 1000)
    }

    @Test("A direct reply whose connection does not open waits for 30 seconds at most", arguments: [false, true])
    func unopened(isSuspect: Bool) throws {
        let (world, name) = try Self.started()
        world.isBrokerDown = !isSuspect
        try world.request(World.body(0), id: "m0", replyTo: isSuspect ? DirectReplies.name(node: "reply@1") : name)
        world.isBrokerDown = true
        world.pass(.seconds(29))
        #expect(world.broker.unsettledCount == 1)
        world.pass(.seconds(2))
        #expect(world.isQuiet)
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
    }

    @Test("A drain waits a few seconds for the connection of a direct reply, and then sends its result elsewhere")
    func drain() throws {
        let (world, name) = try Self.started()
        world.isBrokerDown = true
        try world.request(World.body(0), id: "m0", replyTo: name)
        let worker = try world.drain(within: .seconds(7))
        #expect(!worker.wasCutShort)
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
        #expect(worker.counters[.divertedResults] == 1)
    }

    @Test("A direct reply on a lost connection waits its full time again, however long ago it was written")
    func lost() throws {
        let (world, name) = try Self.started()
        world.broker.holdsConfirms = true
        try world.request(World.body(0), id: "m0", replyTo: name)
        world.pass(.seconds(20))
        world.broker.holdsConfirms = false
        world.cut(consuming: false)
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        #expect(world.published(in: name).count == 2, "it may have been there the first time")
        #expect(world.published(in: "push.results").isEmpty)
    }

    @Test("While the broker blocks publishers, direct replies wait as other results do")
    func blocked() throws {
        let (world, name) = try Self.started()
        world.isBrokerDown = true
        try world.request(World.body(0), id: "m0", replyTo: name)
        world.broker.setAlarm(true)
        try world.request(World.body(1), id: "m1", replyTo: "replies")
        world.pass(.seconds(60))
        #expect(world.published(in: "push.results").isEmpty)
        world.isBrokerDown = false
        world.broker.setAlarm(false)
        #expect(world.pass(atMost: .seconds(30)) { world.isQuiet })
        #expect(world.published(in: "push.results").count + world.published(in: name).count == 1)
    }
}

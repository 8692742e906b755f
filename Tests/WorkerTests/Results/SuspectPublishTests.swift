import AMQP
import Core
import Pipeline
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration

@Suite("Publishes for which the broker closes the connection")
struct SuspectPublishTests {
    /// Well formed, but from a node that the broker does not know.
    private static let badReply = DirectReplies.name(node: "reply@1")

    /// A broker like RabbitMQ 3.10, which fails on a direct reply-to that it did not make.
    private static func chokes(on message: Broker.Message) -> Broker.Refusal? {
        message.routingKey == Array(badReply.utf8) ? .connection(541, "INTERNAL_ERROR") : nil
    }

    @Test("One bad direct reply-to among many: its result goes to the results, and nothing else is affected")
    func badDirectReply() throws {
        let world = try World.started(prefetch: 100)
        world.broker.refuses = Self.chokes(on:)
        world.broker.holdsConfirms = true
        for number in 0..<50 {
            try world.request(World.body(number), id: "m\(number)", replyTo: number == 20 ? Self.badReply : nil)
        }
        world.broker.holdsConfirms = false
        world.releaseConfirms()
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(Set(results.compactMap(\.messageID)).count == 50)
        #expect(results.allSatisfy { $0.outcome == "accepted" })
        #expect(world.published(in: "push.dead").isEmpty && world.broker.violations.isEmpty)
        #expect(world.sent == 50 && world.worker?.counters[.quarantined] == 1)
    }

    @Test("The next result to the same direct reply-to costs no close, and one more after the quarantine costs one")
    func remembered() throws {
        let world = try World.started()
        world.broker.refuses = Self.chokes(on:)
        // The connection is open again within two seconds of its last close.
        func attempts(_ id: String) throws -> Int {
            try world.attempts {
                try world.request(World.body(1), id: id, replyTo: Self.badReply)
                #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
                world.pass(.seconds(2))
            }
        }
        #expect(try attempts("m1") == 4, "the opening of a connection of its own, the close, and two more")
        #expect(try attempts("m2") == 0)
        world.pass(.seconds(60))
        #expect(try attempts("m3") == 1)
        #expect(world.published(in: "push.results").count == 3)
        #expect(world.worker?.counters[.quarantined] == 3)
    }

    @Test("A publish to a suspect route waits until all others are confirmed")
    func alone() throws {
        let world = try World.started()
        world.broker.refuses = Self.chokes(on:)
        let other = DirectReplies.name(node: "reply@2")
        world.broker.declare(other)
        try world.request(World.body(1), id: "m1", replyTo: Self.badReply)
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        world.pass(.seconds(60))
        world.broker.holdsConfirms = true
        try world.request(World.body(2), id: "m2", replyTo: other)
        let attempts = try world.attempts {
            try world.request(World.body(3), id: "m3", replyTo: Self.badReply)
            world.pass(.seconds(5))
        }
        #expect(attempts == 0, "the broker would close the connection, and m2 with it")
        #expect(world.pass(atMost: .seconds(1)) { world.worker?.counters[.quarantined] == 2 }, "it waits for 5 s")
        world.broker.holdsConfirms = false
        world.cut(consuming: false)
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        #expect(Set(world.published(in: "push.results").compactMap(\.messageID)).count == 2)
        #expect(Set(world.published(in: other).compactMap(\.messageID)).count == 1)
    }

    @Test("A missing results exchange is detected once, and requests with a reply_to are not affected")
    func missingExchange() throws {
        let world = try World.started {
            $0.results.route = Configuration.Route(exchange: "gone", routingKey: "push.results")
        }
        try world.request(World.body(0), id: "m0")
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        let attempts = try world.attempts {
            for number in 1..<20 {
                try world.request(World.body(number), id: "m\(number)", replyTo: number % 2 == 0 ? "replies" : nil)
            }
            #expect(world.isQuiet)
        }
        #expect(attempts == 0 && world.published(in: "replies").count == 9)
        let letters = world.published(in: "push.dead")
        #expect(letters.count == 11)
        #expect(letters.allSatisfy { $0.headers["harebell-detail"]?.contains("404 NOT_FOUND") == true })
        // Once the exchange exists, results go there again.
        world.broker.declareExchange("gone")
        world.broker.bind("push.results", exchange: "gone", routingKey: Array("push.results".utf8))
        world.pass(.seconds(60))
        for number in 20..<30 { try world.request(World.body(number), id: "m\(number)") }
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 10)
    }

    @Test("A dead letter that the broker refuses is held until it is accepted, and the others continue")
    func deadLetter() throws {
        let world = try World.started { $0.deadLetter = Configuration.Route(exchange: "gone", routingKey: "push.dead") }
        try world.request("no JSON", id: "bad")
        for number in 0..<5 { try world.request(World.body(number), id: "m\(number)") }
        world.pass(.seconds(300))
        #expect(world.broker.unsettledCount == 1)
        #expect(Set(world.published(in: "push.results").compactMap(\.messageID)).count == 6)
        for start in ["a publish made", "one publish makes"] {
            #expect(world.log.contains { $0.message.hasPrefix("\(start) the broker close the connection") })
        }
        let attempts = world.attempts { world.pass(.seconds(300)) }
        #expect((4...6).contains(attempts), "a close each minute, not \(attempts)")
        world.broker.declareExchange("gone")
        world.broker.bind("push.dead", exchange: "gone", routingKey: Array("push.dead".utf8))
        #expect(world.pass(atMost: .seconds(61)) { world.isQuiet })
        #expect(world.published(in: "push.dead").map(\.body) == ["no JSON"])
    }

    @Test("A close that does not recur quarantines nothing", arguments: [541, 320] as [UInt16])
    func innocent(code: UInt16) throws {
        let world = try World.started(configure: {
            $0.results.route = Configuration.Route(exchange: "e", routingKey: "push.results")
        }) {
            $0.broker.holdsConfirms = true
            $0.broker.declareExchange("e")
            $0.broker.bind("push.results", exchange: "e", routingKey: Array("push.results".utf8))
        }
        for number in 0..<8 { try world.request(World.body(number), id: "m\(number)") }
        // However often it recurs, unless the error is one of a publish.
        for _ in 0..<3 where code == 320 {
            world.broker.closeAll()
            world.pass(.seconds(3))
        }
        world.broker.holdsConfirms = false
        world.broker.closeAll(code: code, text: "INTERNAL_ERROR")
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        #expect(Set(world.published(in: "push.results").compactMap(\.messageID)).count == 8)
        #expect(world.sent == 8 && world.published(in: "push.results").count > 8)
        #expect(world.worker?.counters[.quarantined] == 0)
    }

    @Test("A close because the broker is low on disk space blames nobody", arguments: 1...2)
    func lowOnDisk(rounds: Int) throws {
        let world = try World.started()
        for round in 0..<rounds {
            world.broker.refuses = { _ in .channel(406, "PRECONDITION_FAILED - Server low on disk space") }
            for number in 0..<8 { try world.request(World.body(number), id: "m\(round)\(number)", replyTo: "replies") }
            world.pass(.seconds(60))
            #expect(world.broker.unsettledCount == 8)
            world.broker.refuses = { _ in nil }
            #expect(world.pass(atMost: .seconds(3)) { world.isQuiet })
            #expect(world.published(in: "replies").count == (round + 1) * 8)
        }
        #expect(world.worker?.counters[.quarantined] == 0)
        #expect(world.published(in: "push.results").isEmpty && world.published(in: "push.dead").isEmpty)
    }

    @Test("An exchange without permission concerns only the publishes to it", arguments: 1...2)
    func forbiddenExchange(rounds: Int) throws {
        let world = try World.started {
            $0.results.route = Configuration.Route(exchange: "forbidden", routingKey: "push.results")
        }
        world.broker.refuses = {
            $0.exchange.isEmpty ? nil : .channel(403, "ACCESS_REFUSED - write access to exchange 'forbidden' refused")
        }
        for round in 1...rounds {
            for number in 0..<10 {
                try world.request(
                    World.body(number), id: "m\(round)\(number)", replyTo: number % 2 == 0 ? "replies" : nil)
            }
            #expect(world.pass(atMost: .seconds(30)) { world.isQuiet })
            #expect(Set(world.published(in: "replies").compactMap(\.messageID)).count >= 5)
            #expect(world.published(in: "push.dead").count == round * 5)
            world.pass(.seconds(61))
        }
    }

    @Test("One bad message does not close its route to others")
    func badMessage() throws {
        let world = try World.started()
        world.broker.refuses = { message in
            let isBad = message.decodedProperties?.correlationID == Array("bad".utf8)
            return isBad ? .channel(406, "PRECONDITION_FAILED - invalid expiration") : nil
        }
        try world.request(World.body(0), id: "m0", replyTo: "replies") { $0.correlationID = Array("bad".utf8) }
        for number in 1..<10 { try world.request(World.body(number), id: "m\(number)", replyTo: "replies") }
        world.pass(.seconds(20))
        #expect(world.published(in: "replies").count >= 9)
        // Its copies are as bad: its dead letter is held.
        #expect(world.broker.unsettledCount == 1)
        let isTold = { world.log.contains { $0.message.hasPrefix("the broker refuses a dead letter") } }
        #expect(world.pass(atMost: .seconds(60), until: isTold))
        world.broker.refuses = { _ in nil }
        #expect(world.pass(atMost: .seconds(61)) { world.isQuiet })
        #expect(world.published(in: "push.dead").map(\.outcome) == ["accepted"])
    }
}

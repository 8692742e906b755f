import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Commands
@testable import Configuration
@testable import Runtime

@Suite("LoadRun")
struct LoadRunTests {
    private let world: World

    init() throws {
        world = try World()
    }

    /// Starts a run that publishes to a queue of the world.
    private func start(
        count: Int, rate: Int? = nil, to queue: String = "push.requests", mix: LoadPlan.Mix = .accepted
    ) throws -> RequestRun {
        let run = try RequestRun(
            RequestRun.Settings(queue: queue, count: count, rate: rate, replies: "answers", timeLimit: .seconds(30)),
            LoadPlan(run: "run", topic: "com.example.app", mix: mix, bodySize: 0), at: world.network.now
        ) { role in
            try BrokerConnections.connection(
                role, name: "test", world.configuration.broker, network: world.network, seed: 1)
        }
        world.guests = [run]
        return run
    }

    @Test("Every message of a varied load is answered once, and the reply queue is deleted with the run")
    func complete() throws {
        try world.start()
        let run = try start(count: 200, mix: .varied)
        #expect(world.finish(run, within: .seconds(600)) && run.end == .complete)
        #expect(run.ledger.published == 200 && run.ledger.responded == 200)
        #expect(run.ledger.duplicates == 0 && run.ledger.strangers == 0)
        let outcomes = [
            "accepted": 190, "unregistered Unregistered": 2, "unregistered BadDeviceToken": 4, "invalid": 4,
        ]
        #expect(run.ledger.outcomes == outcomes)
        #expect(world.broker.queues["answers"] == nil && world.broker.violations.isEmpty)
    }

    @Test("The rate is kept from the first message to the last")
    func rate() throws {
        let run = try start(count: 50, rate: 50)
        #expect(world.pass(atMost: .seconds(10)) { run.ledger.published == 1 })
        world.pass(.milliseconds(390))
        #expect(run.ledger.published == 20)
        world.pass(.milliseconds(600))
        #expect(run.ledger.published == 50)
        let fast = try start(count: 50, rate: 1000)
        #expect(world.pass(atMost: .seconds(10)) { fast.ledger.published > 0 } && fast.ledger.published == 10)
    }

    @Test("Messages unconfirmed on a lost connection are published again")
    func republish() throws {
        world.broker.holdsConfirms = true
        let run = try start(count: 20)
        #expect(world.pass(atMost: .seconds(10)) { world.broker.messages(in: "push.requests").count == 20 })
        world.cut(World.broker)
        world.broker.holdsConfirms = false
        #expect(world.pass(atMost: .seconds(60)) { world.broker.messages(in: "push.requests").count == 40 })
        #expect(run.ledger.published == 20)
        try world.start()
        #expect(world.finish(run, within: .seconds(600)) && run.end == .complete && run.ledger.responded == 20)
    }

    @Test("Messages refused by a full queue are published again, soon after one was accepted; a consumer returns")
    func refused() throws {
        let queue = try #require(world.broker.queues["push.requests"])
        var (tries, accepted) = (0, 0...0)
        world.broker.refuses = { message in
            if message.routingKey == Array("push.requests".utf8) { tries += 1 }
            queue.rejectsPublishes = !accepted.contains(tries)
            return nil
        }
        let run = try start(count: 2)
        world.pass(.seconds(20))
        #expect((3...60).contains(tries) && run.end == nil)
        accepted = (tries + 1)...(tries + 1)
        #expect(world.pass(atMost: .seconds(10)) { tries > accepted.upperBound })
        #expect(try #require(run.nextDeadline) <= world.network.now + .milliseconds(500))
        world.broker.cancelConsumers(of: "answers")
        accepted = 0...Int.max
        try world.start()
        #expect(world.finish(run, within: .seconds(600)) && run.end == .complete)
    }

    @Test("A queue that refuses every message is named after some seconds, and ends the run at its time limit")
    func refusedThroughout() throws {
        world.broker.queues["push.requests"]?.rejectsPublishes = true
        let run = try start(count: 2)
        world.pass(.seconds(4))
        let trouble = "queue \"push.requests\" refuses messages: it may be full"
        #expect(run.trouble(at: world.network.now) == trouble && run.end == nil)
        world.pass(.seconds(28))
        #expect(run.timeout == trouble && run.complaint == "the request was not queued in time: \(trouble)")
        let late = try start(count: 2)
        world.pass(.seconds(4))
        world.broker.queues["push.requests"]?.rejectsPublishes = false
        world.broker.holdsConfirms = true
        world.pass(.seconds(28))
        #expect(late.complaint == "the broker has not confirmed the request, and may still queue it: \(trouble)")
    }

    @Test("A run has at most 1000 unconfirmed messages, and ends soon if its reply queue is gone")
    func noReplies() throws {
        world.broker.holdsConfirms = true
        let run = try start(count: 1001)
        #expect(world.pass(atMost: .seconds(10)) { run.ledger.published == 1000 })
        world.broker.delete("answers")
        #expect(world.pass(atMost: .seconds(10)) { run.end != nil })
    }

    @Test("An interrupted run reports its results so far")
    func stopped() throws {
        let run = try start(count: 5)
        #expect(world.pass(atMost: .seconds(10)) { run.ledger.published == 5 })
        // Each reply extends the time limit.
        world.pass(.seconds(20))
        try world.broker.put([], into: "answers")
        world.pass(.seconds(20))
        run.stop(at: world.moment)
        #expect(world.finish(run, within: .seconds(600)) && run.end == .stopped && run.ledger.missing == 5)
    }
}

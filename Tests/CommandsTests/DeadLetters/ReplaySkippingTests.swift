import AMQP
import TestSupport
import Testing

@testable import Commands

@Suite("Dead letters that a replay skips")
struct ReplaySkippingTests {
    private let world: DeadLetterWorld

    init() throws {
        world = try DeadLetterWorld()
    }

    private static func number(_ message: Broker.Message) -> Int { DeadLetterWorld.number(message.body) }

    // MARK: Messages that the broker refuses

    @Test(
        "A dead letter that makes the broker close stays and is named; all others are sent and acknowledged",
        arguments: [
            Broker.Refusal.channel(406, "PRECONDITION_FAILED - message size is larger than configured"),
            .channel(404, "NOT_FOUND - no exchange"), .connection(541, "INTERNAL_ERROR"),
        ], [0, 37, 99])
    func poison(refusal: Broker.Refusal, place: Int) throws {
        world.broker.refuses = { Self.number($0) == place ? refusal : nil }
        try world.put(0..<100)
        let run = world.ended()
        #expect(run.end == .complete && run.tally.refused == 1 && run.tally.done == 99)
        #expect(world.numbers(DeadLetterWorld.dead) == [place])
        #expect(Set(world.numbers(DeadLetterWorld.target)) == Set(0..<100).subtracting([place]))
        #expect(world.broker.unsettledCount == 0)
        // Messages unconfirmed at the first close may be duplicated; the run reports how many are uncertain.
        let copies = world.numbers(DeadLetterWorld.target).count
        #expect((copies - 99..<100).contains(run.tally.uncertain), "\(run.tally.uncertain)")
        let complaint = try #require(run.tally.complaints.first)
        #expect(complaint.contains("message id m-\(place) to queue \"push.requests\""), "\(complaint)")
        #expect(complaint.contains("closes the connection"), "\(complaint)")
        // Control, consumer, and the publisher's first connection with three more.
        #expect(world.connects <= 6)
    }

    @Test("All messages that the broker refuses are found, and their neighbours are sent")
    func several() throws {
        let poison = [0, 1, 2, 40, 41, 250, 299]
        world.broker.refuses = { poison.contains(Self.number($0)) ? .channel(406, "PRECONDITION_FAILED") : nil }
        try world.put(0..<300)
        // No more than seven closes come in a row.
        let run = world.ended { $0.closesInARow = 10 }
        #expect(run.end == .complete && run.tally.refused == poison.count)
        #expect(world.numbers(DeadLetterWorld.dead) == poison)
        #expect(Set(world.numbers(DeadLetterWorld.target)) == Set(0..<300).subtracting(poison))
        #expect(world.connects <= 3 + 3 * poison.count)
    }

    @Test("After a close that does not recur every dead letter is replayed")
    func passing() throws {
        var closes = 0
        world.broker.refuses = { message in
            guard Self.number(message) == 5, closes < 2 else { return nil }
            closes += 1
            return .connection(541, "INTERNAL_ERROR")
        }
        try world.put(0..<20)
        let run = world.ended()
        #expect(run.end == .complete && closes == 2 && run.tally.refused == 0 && run.tally.done == 20)
        #expect(run.tally.uncertain > 0, "some may be there twice")
        #expect(world.numbers(DeadLetterWorld.dead).isEmpty)
    }

    @Test("A consumer lost before its first message is replaced, later it ends the run", arguments: [false, true])
    func consumerLost(isCut: Bool) throws {
        try world.put(0..<2)
        let queue = try #require(world.broker.queues[DeadLetterWorld.dead])
        (queue.isStalled, world.broker.holdsConfirms) = (true, true)
        let run = world.run { $0.prefetch = 1 }
        for isLast in [false, true] {
            world.advance(by: .seconds(5), run)
            let engine = try #require(world.broker.engines.first { $0.isConsuming })
            let link = try #require(world.network.links.first { $0.server === engine })
            if isCut { world.network.cut(link) } else { engine.closeChannel(1, code: 541, text: "INTERNAL_ERROR") }
            queue.isStalled = false
            world.advance(by: .seconds(5), run)
            #expect((run.failure != nil) == isLast, "\(run.failure ?? "")")
        }
    }

    @Test("A broker that refuses everything ends the run after a limited number of connections, and nothing is lost")
    func takesNothing() throws {
        world.broker.refuses = { _ in .connection(541, "INTERNAL_ERROR") }
        try world.put(0..<100)
        let run = world.ended { $0.closesInARow = 10 }
        #expect(run.failure?.contains("541 INTERNAL_ERROR") == true)
        #expect((12...13).contains(world.connects) && world.numbers(DeadLetterWorld.dead) == Array(0..<100))
    }

    @Test("Messages confirmed before a close are acknowledged, even if the broker is gone afterwards")
    func confirmedFirst() throws {
        try world.put(0..<100)
        world.broker.refuses = { [unowned network = world.network] message in
            guard Self.number(message) == 60 else { return nil }
            network.accept = { _ in nil }
            return .connection(541, "INTERNAL_ERROR")
        }
        let run = world.ended { $0.rate = 100 }
        #expect(run.failure != nil && run.tally.done >= 59)
        #expect(world.numbers(DeadLetterWorld.dead) == Array(run.tally.done..<100))
    }

    @Test("A run stopped while it searches for the refused message ends in order")
    func stopped() throws {
        world.broker.refuses = { Self.number($0) == 3 ? .connection(541, "INTERNAL_ERROR") : nil }
        try world.put(0..<50)
        let run = world.run()
        for _ in 0..<1000 where run.backlog.allSatisfy({ !$0.isRepeated }) { world.advance(by: .milliseconds(1), run) }
        try #require(run.backlog.first?.isRepeated == true)
        run.stop(at: world.network.moment)
        world.finish(run)
        #expect(run.end == .stopped && run.tally.uncertain > 0)
        let all = Set(world.numbers(DeadLetterWorld.dead)).union(world.numbers(DeadLetterWorld.target))
        #expect(all == Set(0..<50))
        #expect(world.broker.unsettledCount == 0)
    }

    // MARK: Targets outside the configuration

    @Test("A queue outside the configuration gets nothing, even if a dead letter names it")
    func foreign() throws {
        world.broker.declare("victim.payments")
        let death = DeadLetterSamples.deaths(DeadLetterSamples.death("victim.payments", "rejected"))
        try world.put(0..<40) { index, headers in
            if index % 4 == 1 { headers["harebell-queue"] = .string("victim.payments") }
            if index % 4 == 2 { headers = death }
        }
        let run = world.ended()
        let foreign = (0..<40).filter { [1, 2].contains($0 % 4) }
        #expect(run.end == .complete && run.tally.refused == 20 && run.tally.done == 20)
        let complaint = try #require(run.tally.complaints.first)
        #expect(run.tally.complaints.count == 1)
        #expect(complaint.hasPrefix("queue \"victim.payments\" is not a request queue of the configuration"))
        #expect(complaint.contains("--to QUEUE") && complaint.hasSuffix("(first: message id m-1)"))
        #expect(world.numbers("victim.payments").isEmpty)
        #expect(world.numbers(DeadLetterWorld.dead) == foreign)
    }
}

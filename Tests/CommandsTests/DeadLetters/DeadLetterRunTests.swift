import AMQP
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Commands

@Suite("Dead-letter runs")
struct DeadLetterRunTests {
    private let world: DeadLetterWorld

    init() throws {
        world = try DeadLetterWorld()
    }

    private func expectConserved(_ run: DeadLetterRun, _ count: Int) {
        let (done, left) = (run.tally.done, world.numbers(DeadLetterWorld.dead).count)
        #expect(done + left == count)
        #expect(run.tally.left == left)
        #expect(world.broker.unsettledCount == 0)
    }

    @Test(
        "A replay returns all in order, counted and marked, and acknowledges each, as does a busy quorum queue",
        arguments: [false, true])
    func replay(isBusy: Bool) throws {
        // Its acknowledgements would be lost with a channel that closes before they are applied.
        world.broker.putsAcksAside = isBusy
        try world.put(0..<500)
        let run = world.ended()
        #expect(run.end == .complete && world.numbers(DeadLetterWorld.dead).isEmpty)
        #expect(world.numbers(DeadLetterWorld.target) == Array(0..<500))
        #expect(world.broker.messages(in: DeadLetterWorld.target)[7].header("harebell-replay-id") == .string("run"))
        expectConserved(run, 500)
    }

    @Test("Messages outside the filter stay, in order, and so do those beyond the limit")
    func filter() throws {
        try world.put(0..<100, "harebell-reason", "Other") { $0 % 3 > 0 }
        let run = world.ended {
            $0.filter.reasons = ["BadTopic"]
            $0.limit = 20
        }
        #expect(run.end == .complete && run.progress.done == 20 && run.progress.of == 20)
        #expect(world.numbers(DeadLetterWorld.target) == (0..<20).map { $0 * 3 })
        #expect(world.numbers(DeadLetterWorld.dead) == (0..<100).filter { $0 % 3 > 0 || $0 >= 60 })
        expectConserved(run, 100)
    }

    @Test("If more unselected messages come than a connection holds, another one holds the rest")
    func rotation() throws {
        try world.put(0..<300, "harebell-reason", "Other") { $0 % 10 > 0 }
        let run = world.ended {
            $0.filter.reasons = ["BadTopic"]
            $0.prefetch = 60
            $0.furtherPrefetch = 70
        }
        #expect(run.end == .complete && world.numbers(DeadLetterWorld.target) == (0..<30).map { $0 * 10 })
        #expect(Set(world.numbers(DeadLetterWorld.dead)) == Set((0..<300).filter { $0 % 10 > 0 }))
        #expect((6...7).contains(world.connects), "\(world.connects)")
        expectConserved(run, 300)
    }

    @Test("A run that holds messages for too long ends before the broker's delivery timeout, and another continues")
    func longRun() throws {
        try world.put(0..<200) { index, headers in
            if index % 50 == 0 { headers["harebell-reason"] = .string("Other") }
            if index == 1 { headers["harebell-queue"] = .string(DeadLetterWorld.missing) }
        }
        func run() -> DeadLetterRun {
            world.ended {
                $0.filter.reasons = ["BadTopic"]
                $0.rate = 1
                // Of 25 minutes.
                $0.longestHold -= .seconds(22 * 60 + 1)
            }
        }
        let first = run()
        let message = try #require(first.failure)
        #expect(message.contains("taken 2 minutes"), "\(message)")
        #expect(first.tally.refused == 1 && first.tally.uncertain == 0 && (159...180).contains(first.tally.done))
        let second = run()
        #expect(second.end == .complete)
        #expect(world.numbers(DeadLetterWorld.dead) == [0, 1, 50, 100, 150])
        #expect(world.numbers(DeadLetterWorld.target) == (2..<200).filter { $0 % 50 > 0 })
        #expect(first.tally.done + second.tally.done == 195 && world.broker.unsettledCount == 0)
    }

    @Test("The rate limit is kept, and a run whose messages all leave may exceed the longest hold")
    func rate() throws {
        try world.put(0..<100)
        let run = world.run { ($0.rate, $0.longestHold) = (10, .seconds(5)) }
        world.advance(by: .seconds(3), run)
        let sent = world.numbers(DeadLetterWorld.target).count
        #expect((29...32).contains(sent), "\(sent)")
        world.finish(run)
        #expect(run.end == .complete)
        expectConserved(run, 100)
    }

    @Test("A message for a deleted queue is left, and the replay continues with the others")
    func returned() throws {
        try world.put(0..<40, "harebell-queue", DeadLetterWorld.missing) { $0 % 4 == 0 }
        let run = world.ended()
        #expect(run.end == .complete && run.tally.refused == 10)
        #expect(run.tally.complaints == ["queue \"gone\" does not receive messages (NO_ROUTE) (first: message id m-0)"])
        #expect(world.numbers(DeadLetterWorld.dead) == (0..<10).map { $0 * 4 })
        expectConserved(run, 40)
    }

    @Test("A message for a queue that refuses it is left")
    func nacked() throws {
        try world.put(0..<5)
        world.broker.declare(DeadLetterWorld.target).rejectsPublishes = true
        let run = world.ended()
        #expect(run.end == .complete && run.tally.refused == 5)
        #expect(run.tally.complaints == ["the broker refused it; the queue may be full (first: message id m-0)"])
        #expect(world.numbers(DeadLetterWorld.dead) == Array(0..<5))
    }

    @Test("A message without an origin goes only to a named queue")
    func unknown() throws {
        for index in 0..<3 { try world.broker.put(Array("\(index)".utf8), into: DeadLetterWorld.dead) }
        let run = world.ended()
        #expect(run.tally.refused == 3 && world.numbers(DeadLetterWorld.dead) == [0, 1, 2])
        let named = world.ended(.replay(to: { _ in DeadLetterWorld.target }))
        #expect(named.tally.done == 3 && world.numbers(DeadLetterWorld.target) == [0, 1, 2])
    }

    @Test("Messages that a run has sent itself stay, even when delivered before others")
    func ownCopies() throws {
        try world.put(0..<20, "harebell-replay-id", "run") { $0 % 2 == 0 }
        let run = world.ended(id: "run")
        #expect(run.end == .complete && world.numbers(DeadLetterWorld.target) == (0..<20).filter { $0 % 2 == 1 })
        #expect(world.numbers(DeadLetterWorld.dead) == (0..<20).filter { $0 % 2 == 0 })
        expectConserved(run, 20)
    }

    @Test("A stopped run ends in order: sends in flight finish, the rest stays")
    func stop() throws {
        try world.put(0..<100)
        let run = world.run { $0.rate = 10 }
        world.advance(by: .seconds(3), run)
        run.stop(at: world.network.moment)
        world.advance(by: .seconds(1), run)
        #expect(run.end == .stopped && run.isFinished)
        let (done, sent) = (run.tally.done, world.numbers(DeadLetterWorld.target).count)
        #expect(done == sent && world.numbers(DeadLetterWorld.dead) == Array(done..<100))
        expectConserved(run, 100)
    }

    @Test("Nothing is acknowledged before its confirm, and at most 200 messages wait for theirs")
    func confirmsFirst() throws {
        try world.put(0..<250)
        world.broker.holdsConfirms = true
        let run = world.run()
        world.advance(by: .seconds(5), run)
        #expect(run.tally.done == 0)
        #expect(world.numbers(DeadLetterWorld.target).count == 200 && world.broker.unsettledCount == 250)
        world.finish(run)
        #expect(run.failure != nil && run.tally.uncertain == 200)
        #expect(world.numbers(DeadLetterWorld.dead) == Array(0..<250))
    }

    @Test("A lost connection at any moment ends it without a loss", arguments: 0..<40)
    func cut(moment: Int) throws {
        try world.put(0..<100)
        let run = world.run { $0.rate = 200 }
        world.advance(by: .milliseconds(moment * 17), run)
        for link in world.network.links where link.isOpen { world.network.cut(link) }
        world.finish(run)
        let (sent, left) = (Set(world.numbers(DeadLetterWorld.target)), Set(world.numbers(DeadLetterWorld.dead)))
        #expect(sent.union(left) == Set(0..<100))
        #expect(world.broker.unsettledCount == 0 && run.isFinished)
        let again = world.ended(id: "again")
        #expect(again.end == .complete && world.numbers(DeadLetterWorld.dead).isEmpty)
        #expect(Set(world.numbers(DeadLetterWorld.target)) == Set(0..<100))
    }

    @Test("Discarding removes only the selected messages")
    func discard() throws {
        try world.put(0..<90, "harebell-reason", "Other") { $0 % 3 == 0 }
        let (accept, start) = (world.network.accept, world.network.now)
        // The consumer's first connect is refused.
        world.network.accept = { [unowned world = self.world] endpoint in
            world.connects == 1 && world.network.now == start ? nil : accept(endpoint)
        }
        let run = world.ended(.discard) { $0.filter.reasons = ["BadTopic"] }
        #expect(run.end == .complete && world.numbers(DeadLetterWorld.dead) == (0..<30).map { $0 * 3 })
        expectConserved(run, 90)
        // Only two seconds after the last delivery it asks whether others hold the rest.
        world.network.latency = .milliseconds(10)
        let slow = world.run(.discard) { $0.prefetch = 5 }
        for _ in 0..<1000 where slow.tally.seen < 10 { world.advance(by: .milliseconds(1), slow) }
        #expect(slow.nextDeadline == world.network.now + .seconds(2))
        world.finish(slow)
    }

    @Test("An exported message is acknowledged only after it was written, and unwritten ones stay")
    func export() throws {
        try world.put(0..<90)
        var written: [[UInt8]] = []
        struct Full: Error {}
        let run = world.ended(
            .export(discards: true) { lines in
                #expect(world.numbers(DeadLetterWorld.dead).isEmpty, "all are held")
                #expect(world.broker.unsettledCount == 90)
                written += lines
            })
        #expect(run.end == .complete && written.count == 90)
        #expect(try ArchivedMessage(line: written[5][...]).body == Array("5".utf8))
        expectConserved(run, 90)

        try world.put(0..<10)
        let full = world.ended(.export(discards: true) { _ in throw Full() })
        guard case .unwritable = full.end else {
            Issue.record("\(String(describing: full.end))")
            return
        }
        #expect(world.numbers(DeadLetterWorld.dead) == Array(0..<10))
    }

    @Test("An export that keeps the messages writes each, returns all, and takes none that came meanwhile")
    func copying() throws {
        try world.put(0..<300)
        var lines: [[UInt8]] = []
        let run = world.run(.export(discards: false) { lines += $0 }) { $0.readingPrefetch = 120 }
        var held = 0
        world.finish(run) {
            if run.tally.atStart > 0, held == 0 { try? world.put(300..<310) }
            held = max(held, world.broker.unsettledCount)
        }
        #expect(run.end == .complete && held == 300)
        #expect(try lines.map { try ArchivedMessage(line: $0[...]).body } == (0..<300).map { Array("\($0)".utf8) })
        #expect(run.tally.done == 300 && run.tally.left == 300 && world.connects == 4)
        #expect(Set(world.numbers(DeadLetterWorld.dead)) == Set(0..<310))
        #expect(world.broker.unsettledCount == 0)
    }

    @Test("While one run works on a queue, another one of any kind ends locked and touches nothing")
    func locked() throws {
        try world.put(0..<100)
        let first = world.run { $0.rate = 10 }
        world.advance(by: .seconds(2), first)
        for action: DeadLetterRun.Action in [
            .read { _, _ in Issue.record("a message was read") }, .discard,
            .export(discards: false) { _ in Issue.record("a message was exported") },
            .publish(count: 1) { throw Complaint("a message was imported") },
        ] {
            let second = world.run(action, id: "second")
            // Both are connected to one broker.
            for _ in 0..<2000 where !second.isFinished { world.network.advance(by: .milliseconds(1), second) }
            #expect(second.end == .locked && second.tally == DeadLetterTally())
            #expect(second.explanation.contains("push.dead.replay.lock"))
        }
        world.finish(first)
        #expect(first.end == .complete && world.numbers(DeadLetterWorld.target) == Array(0..<100))
    }

    @Test("A replay leaves letters of requests that APNs accepted, unless that outcome is asked for")
    func accepted() throws {
        try world.put(0..<10, "harebell-outcome", "accepted") { $0 % 5 == 2 }
        let run = world.ended()
        #expect(run.end == .complete && world.numbers(DeadLetterWorld.dead) == [2, 7])
        #expect(run.tally.done == 8 && run.tally.accepted == 2 && run.tally.refused == 0)
        let asked = world.ended(id: "asked") { $0.filter.outcomes = ["accepted"] }
        #expect(asked.tally.done == 2 && asked.tally.accepted == 0)
        #expect(world.numbers(DeadLetterWorld.dead).isEmpty)
    }

    @Test("An import is complete only with the confirm of its last message")
    func lastConfirm() throws {
        try world.put(0..<3)
        var lines: [[UInt8]] = []
        world.finish(world.run(.export(discards: true) { lines += $0 }))
        world.broker.holdsConfirms = true
        var rest = lines[...]
        let restore = world.run(
            .publish(count: lines.count) { try rest.popFirst().map { try ArchivedMessage(line: $0[...]) } })
        world.advance(by: .seconds(2), restore)
        #expect(world.numbers(DeadLetterWorld.dead).count == 3)
        #expect(restore.end == nil && restore.tally.done == 0 && restore.tally.chosen == 3)
        for link in world.network.links where link.isOpen { world.network.cut(link) }
        world.finish(restore)
        #expect(restore.failure != nil && restore.tally.done == 0 && restore.tally.uncertain == 3)
    }

    @Test("A false length of 0 from a slow queue hides nothing from a run or a scan")
    func slowQueue() throws {
        try world.put(0..<30)
        world.broker.countsNothing = true
        var seen: Set<Int> = []
        let scan = world.scan { delivery, _ in seen.insert(DeadLetterWorld.number(delivery.body)) }
        #expect(scan.end == .complete && seen == Set(0..<30))
        let run = world.ended()
        #expect(run.end == .complete && run.tally.atStart == 30 && world.numbers(DeadLetterWorld.dead).isEmpty)
        #expect(Set(world.numbers(DeadLetterWorld.target)) == Set(0..<30))
        #expect(world.broker.unsettledCount == 0)
    }

    @Test(
        "A run over an empty queue ends, also if that has a single active consumer and refuses basic.get",
        arguments: [FieldTable(), ["x-single-active-consumer": .boolean(true)]])
    func empty(arguments: FieldTable) throws {
        world.broker.delete(DeadLetterWorld.dead)
        world.broker.declare(DeadLetterWorld.dead, arguments: arguments)
        let run = world.ended()
        #expect(run.end == .complete && run.tally == DeadLetterTally() && world.connects == 1)
        for long in ["", "q"].map({ $0 + String(repeating: "ü", count: 127) }) {
            world.broker.declare(long)
            #expect(world.ended { $0.queue = long }.end == .complete, "the lock has a shorter name")
        }
        let scan = world.scan { _, _ in }
        #expect(scan.end == .complete && scan.tally.seen == 0)
    }

    @Test("A scan reads everything and changes nothing, or stops at its limit")
    func scan() throws {
        try world.put(0..<300)
        var seen: [Int] = []
        let scan = world.scan { delivery, _ in seen.append(DeadLetterWorld.number(delivery.body)) }
        #expect(scan.end == .complete && scan.progress.done == 300 && seen == Array(0..<300))
        #expect(world.broker.unsettledCount == 0)
        let first = world.scan({ $0.limit = 1 }) { _, _ in }
        #expect(first.tally.seen == 1)
        #expect(world.numbers(DeadLetterWorld.dead) == Array(0..<300))
    }

    @Test("A scan ends when others hold the rest")
    func shared() throws {
        try world.put(0..<20)
        let other = world.network.brokerConnection(.consumer([ConsumerQueue(name: DeadLetterWorld.dead, prefetch: 5)]))
        other.start(at: world.network.now)
        let scan = world.scan { _, _ in }
        #expect(scan.end == .complete && scan.tally.seen == 15 && world.broker.unsettledCount == 5)
    }

    @Test("A replay uses the next broker where the first one is down, and stops at its limit", arguments: 1...4)
    func failover(seed: UInt64) throws {
        try world.put(0..<100)
        world.network.faults[Endpoint(host: "down", port: 5672)] = MemoryNetwork.Faults(refusal: 1)
        var settings = DeadLetterRun.Settings(queue: DeadLetterWorld.dead)
        (settings.limit, settings.rate) = (20, 10)
        let run = DeadLetterRun(
            .replay(to: { $0 }), settings, reader: world.reader, id: "run", at: world.network.now
        ) { [network = world.network] in network.brokerConnection($0, hosts: ["down", "broker"], seed: seed) }
        world.advance(by: .seconds(1), run)
        #expect(world.broker.queues[DeadLetterWorld.dead]?.consumerCount == 0)
        world.finish(run)
        #expect(run.end == .complete && world.numbers(DeadLetterWorld.target) == Array(0..<20))
        expectConserved(run, 100)
    }

    @Test("A run that can make no connection for the messages ends at once, with the cause")
    func noConsumer() throws {
        try world.put(0..<1)
        let run = try DeadLetterRun(
            .discard, DeadLetterRun.Settings(queue: DeadLetterWorld.dead), reader: world.reader, id: "run",
            at: world.network.now
        ) { [network = world.network] role in
            if case .consumer = role { throw Complaint("no authority") }
            return network.brokerConnection(role)
        }
        world.advance(by: .seconds(1), run)
        #expect(run.failure == "no authority" && run.isFinished)
    }

    @Test("A channel that the broker closes ends a run: what it held is in the queue again and is not sent as well")
    func channelClosed() throws {
        try world.put(0..<100)
        let run = world.run { $0.rate = 10 }
        world.advance(by: .seconds(2), run)
        let engine = try #require(world.broker.engines.first { $0.isConsuming })
        engine.closeChannel(1, code: 406, text: "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out")
        world.advance(by: .seconds(3), run)
        #expect(run.isFinished)
        let sent = world.numbers(DeadLetterWorld.target)
        #expect(run.failure?.contains("timed out") == true && run.tally.uncertain == 0 && sent.count < 40)
        #expect(Set(sent).union(world.numbers(DeadLetterWorld.dead)) == Set(0..<100))
        #expect(world.broker.unsettledCount == 0)
    }

    @Test("A stopped run waits ten seconds for a broker that hangs, and one for the close; what it sent is uncertain")
    func hangs() throws {
        try world.put(0..<5)
        world.broker.holdsConfirms = true
        let run = world.run()
        world.advance(by: .seconds(1), run)
        for link in world.network.links { link.isFrozen = true }
        var now = world.network.moment
        now.instant = now.instant + .seconds(5)
        run.stop(at: now)
        run.step(at: now)
        #expect(run.nextDeadline == now.instant + .seconds(10))
        now.instant = now.instant + .seconds(10)
        run.step(at: now)
        #expect(!run.isFinished && run.nextDeadline == now.instant + .seconds(1))
        now.instant = now.instant + .seconds(1)
        run.step(at: now)
        #expect(run.isFinished && run.tally.uncertain == 5)
    }

    @Test("If others take the rest, a scan ends two seconds after its last delivery, a replay once its own are sent")
    func taken() throws {
        try world.put(0..<20)
        try #require(world.broker.queues[DeadLetterWorld.dead]).isStalled = true
        let stalled = world.run(.read { _, _ in })
        world.advance(by: .seconds(30), stalled)
        #expect(stalled.failure != nil, "a queue that gives nothing has the time limit")
        world.finish(stalled)
        world.network.latency = .milliseconds(10)
        let scan = world.run(.read { _, _ in })
        let other = world.network.brokerConnection(.control)
        other.start(at: world.network.now)
        world.advance(by: .seconds(1), scan)
        #expect(scan.end == nil && scan.nextDeadline.map { $0 > world.network.now + .seconds(1) } == true)
        other.request(.purgeQueue(DeadLetterWorld.dead), at: world.network.now)
        world.advance(by: .seconds(2), scan)
        #expect(scan.end == .complete && scan.tally.seen == 0)
        try world.put(0..<20)
        let replay = world.run { ($0.rate, $0.prefetch) = (1, 10) }
        world.advance(by: .seconds(1), replay)
        other.request(.purgeQueue(DeadLetterWorld.dead), at: world.network.now)
        world.finish(replay)
        #expect(replay.end == .complete && replay.tally.seen < 20)
        #expect(world.numbers(DeadLetterWorld.target) == Array(0..<replay.tally.seen))
    }

    @Test("Messages unconfirmed when the publishing connection was lost are not acknowledged")
    func publisherLostAlone() throws {
        try world.put(0..<100)
        let run = world.run { $0.rate = 200 }
        world.advance(by: .milliseconds(100), run)
        // The control connection is the oldest, and the other one consumes.
        let link = try #require(world.network.links.last { ($0.server as? BrokerEngine)?.isConsuming == false })
        // From here on nothing reaches the broker, and neither end notices until the connection is cut.
        link.isFrozen = true
        world.advance(by: .milliseconds(200), run)
        let arrived = Set(world.numbers(DeadLetterWorld.target))
        #expect(run.inFlight.count > 0)
        world.network.cut(link)
        world.finish(run)
        #expect(run.tally.uncertain > 0 && run.tally.done == arrived.count)
        #expect(Set(world.numbers(DeadLetterWorld.target)) == arrived)
        #expect(Set(world.numbers(DeadLetterWorld.dead)) == Set(0..<100).subtracting(arrived))
        #expect(world.broker.unsettledCount == 0)
    }
}

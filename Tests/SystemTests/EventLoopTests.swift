import Core
import TestSupport
import Testing

@testable import System

@Suite("The event loop")
struct EventLoopTests {
    /// Records calls in order.
    final class Log {
        var entries: [String] = []
    }

    final class LoggingParticipant: LoopParticipant {
        let log: Log
        var nextDeadline: Instant?

        init(_ log: Log) { self.log = log }

        func expire(at now: Moment) {
            guard let deadline = nextDeadline, deadline <= now.instant else { return }
            nextDeadline = nil
            log.entries.append("participant expires")
        }

        func flush(at now: Moment) { log.entries.append("flush") }
    }

    final class LoggingOwner: LoopOwner {
        let log: Log
        let loop: EventLoop
        var nextDeadline: Instant?
        var turnsLeft: Int

        init(_ log: Log, _ loop: EventLoop, turns: Int) {
            self.log = log
            self.loop = loop
            turnsLeft = turns
        }

        func expire(at now: Moment) {
            nextDeadline = nil
            log.entries.append("owner expires")
        }

        func endTurn(at now: Moment) {
            log.entries.append("end")
            turnsLeft -= 1
            if turnsLeft == 0 { loop.stop() }
        }
    }

    @Test("a turn reads sockets and mailboxes, expires deadlines, lets the owner end it, and flushes last")
    func orderOfATurn() throws {
        let log = Log()
        let loop = try EventLoop()
        let event = try EventDescriptor()
        let mailbox = try Mailbox<String>()
        try loop.attach(mailbox) { log.entries.append($0) }
        _ = try loop.register(descriptor: event.number, interest: .readable) { _, _ in log.entries.append("read") }
        let participant = LoggingParticipant(log)
        loop.add(participant)
        let owner = LoggingOwner(log, loop, turns: 1)

        mailbox.post("first")
        mailbox.post("second")
        event.raise()
        participant.nextDeadline = SystemClock.instant()
        owner.nextDeadline = SystemClock.instant()
        try loop.run(owner: owner)

        #expect(Set(log.entries.prefix(3)) == ["read", "first", "second"])
        #expect(log.entries.dropFirst(3) == ["participant expires", "owner expires", "end", "flush"])
        #expect(loop.turns == 1)
    }

    @Test("stale readiness of a closed descriptor whose number was reused is delivered to no handler")
    func staleReadiness() throws {
        final class Place {
            var event: EventDescriptor
            var registration: Registration?
            var calls = 0

            init() throws {
                event = try EventDescriptor()
                event.raise()
            }

            func register(with loop: EventLoop, _ handler: @escaping () -> Void) throws {
                registration = try loop.register(descriptor: event.number, interest: .readable) { _, _ in handler() }
            }
        }
        let log = Log()
        let loop = try EventLoop()
        let places = [try Place(), try Place()]

        for (place, other) in [(places[0], places[1]), (places[1], places[0])] {
            // The handler called first closes the other one and watches a new descriptor in its place.
            try place.register(with: loop) { [unowned loop] in
                place.calls += 1
                place.event.lower()
                loop.deregister(&other.registration)
                do {
                    other.event = try EventDescriptor()
                    try other.register(with: loop) { Issue.record("the new descriptor has no event") }
                } catch {
                    Issue.record(error)
                }
            }
        }
        try loop.run(owner: LoggingOwner(log, loop, turns: 1))
        #expect(places.map(\.calls).sorted() == [0, 1])
    }

    @Test("deadlines expire in order, and none before its time")
    func deadlines() throws {
        let (fixture, listener) = try LoopFixture.echoing()
        let engines = (0..<4).map { _ in fixture.connect(port: listener.port) }
        try fixture.run { engines.allSatisfy(\.isOpen) }
        let start = SystemClock.instant()
        let due = [80, 20, 60, 40].map { start + .milliseconds($0) }
        for (engine, deadline) in zip(engines, due) { engine.nextDeadline = deadline }
        try fixture.run { engines.allSatisfy { !$0.expirations.isEmpty } }
        let expired = engines.map { $0.expirations[0] }
        #expect(engines.allSatisfy { $0.expirations.count == 1 })
        #expect(zip(expired, due).allSatisfy { $0 >= $1 })
        // A stalled machine may expire several in one turn, at one instant.
        #expect(expired[1] <= expired[3] && expired[3] <= expired[2] && expired[2] <= expired[0])

        let log = Log()
        let loop = try EventLoop()
        let owner = LoggingOwner(log, loop, turns: 2)
        // More than a busy machine delays the first turn.
        owner.nextDeadline = SystemClock.instant() + .seconds(2)
        try loop.run(owner: owner)
        #expect(log.entries == ["end", "owner expires", "end"], "it sleeps until its next deadline")
    }

    @Test("turns begin at least the owner's interval apart, with any load; without one they follow at once")
    func busyTurns() throws {
        final class Hurried: LoopOwner {
            let loop: EventLoop
            let turnInterval: Duration
            var begun: [Instant] = []

            init(_ loop: EventLoop, turnInterval: Duration) {
                self.loop = loop
                self.turnInterval = turnInterval
            }

            var nextDeadline: Instant? { nil }

            func expire(at now: Moment) {}

            func endTurn(at now: Moment) {
                begun.append(now.instant)
                if begun.count == 20 { loop.stop() } else { loop.requestTurn() }
            }

            /// The shortest time between the beginnings of two turns.
            var shortest: Duration { zip(begun.dropFirst(), begun).map { $0 - $1 }.min() ?? .zero }
        }
        let busy = Hurried(try EventLoop(), turnInterval: .milliseconds(2))
        try busy.loop.run(owner: busy)
        #expect(busy.shortest >= .milliseconds(2))
        let idle = Hurried(try EventLoop(), turnInterval: .zero)
        let used = SystemClock.processorTime()
        try idle.loop.run(owner: idle)
        #expect(used < SystemClock.processorTime())
        #expect(idle.shortest < .milliseconds(1))
    }

    @Test("The documentation has the limits of the code")
    func limits() throws {
        let units = ["": 1, "KiB": 1024, "MiB": 1024 * 1024, "ms": 1_000_000, "s": 1_000_000_000]
        let documented = try DocumentationPage("internals/event-loop.md").table("| limit | value | effect |")
            .filter { !$0[0].contains("TurnPace") && !$0[0].contains("backlog") }
            .flatMap { $0[1].split(separator: ", ") }
            .map { (value: Substring) -> Int in
                (Int(value.filter(\.isNumber)) ?? 0) * (units[value.filter(\.isLetter)] ?? 0)
            }
        let times: [Duration] = [
            EventLoop.longestSleep, SocketNetwork.closeGracePeriod, ConnectAttempts.shortest, ConnectAttempts.longest,
            FailedAddresses.memory, SocketOptions.keepAliveIdle, SocketOptions.keepAliveInterval,
            SocketListener.pauseTime,
        ]
        var limits: [Int] = [
            EventLoop.eventsPerTurn, SocketNetwork.readSize, SocketNetwork.readBudget, SocketNetwork.unsentLimit,
            ConnectAttempts.maximumAddresses, FailedAddresses.maximum, SocketOptions.keepAliveProbes,
            Mailbox<Int>.defaultCapacity, Resolver.maximumWaiting, Resolver.threads, SocketListener.acceptsPerTurn,
            Thread.workerStackSize, Resolver.stackSize,
        ]
        limits += times.map { Int($0.nanoseconds) }
        #expect(documented.sorted() == limits.sorted())
    }
}

package import Core

/// One thread's loop over its sockets, mailboxes and deadlines.
///
/// A turn is: wait → read every ready socket → drain mailboxes → expire deadlines → ``LoopOwner/endTurn(at:)`` → flush
/// the networks, once each. Whatever one turn reads is answered in one write per socket.
///
/// A loop belongs to the thread that runs it; other threads reach it through a ``Mailbox``. It owns its handlers and
/// participants, and they refer back to it without owning it: a network is of no use after its loop.
package final class EventLoop {
    /// The most sockets that one turn reads; the others wait for the next turn, which follows without sleep, or after
    /// ``LoopOwner/turnInterval``.
    package static let eventsPerTurn = 256
    /// The loop turns at least this often, so that whoever watches ``turns`` sees it alive.
    package static let longestSleep = Duration.seconds(10)

    /// When this turn woke up.
    package private(set) var now = SystemClock.now()
    /// How many turns have ended.
    package private(set) var turns: UInt64 = 0

    private let poller: Poller
    /// By ``Registration/key``.
    private var handlers: [UInt64: any ReadinessHandler] = [:]
    private var lastKey: UInt64 = 0
    private var fullInlets: [any Inlet] = []
    private var participants: [any LoopParticipant] = []
    private var isRunning = false
    private var turnIsRequested = false

    package init() throws(EventLoopError) {
        do {
            poller = try Poller(capacity: Self.eventsPerTurn)
        } catch {
            throw EventLoopError("cannot create an event loop", error)
        }
    }

    // MARK: Turning

    /// Turns until ``stop()``.
    package func run(owner: any LoopOwner) throws(EventLoopError) {
        precondition(!isRunning, "a loop runs once at a time")
        isRunning = true
        defer { isRunning = false }
        // The first turn does not wait: what was asked for before the loop ran is to be started.
        turnIsRequested = true
        while isRunning {
            try turn(owner)
        }
    }

    /// Makes ``run(owner:)`` return at the end of this turn, after its output is flushed.
    package func stop() {
        isRunning = false
    }

    /// Makes the next turn follow without sleep, or after ``LoopOwner/turnInterval``: something happened after
    /// ``LoopOwner/endTurn(at:)`` that the owner should see.
    package func requestTurn() {
        turnIsRequested = true
    }

    private func turn(_ owner: any LoopOwner) throws(EventLoopError) {
        let interval = owner.turnInterval
        if interval > .zero { SystemClock.sleep(until: now.instant + interval) }
        let deadline = earliestDeadline(owner)
        let ready: Int
        do {
            ready = try poller.wait(milliseconds: milliseconds(until: deadline))
        } catch {
            throw EventLoopError("cannot wait for events", error)
        }
        turnIsRequested = false
        now = SystemClock.now()

        for index in 0..<ready { dispatch(index) }
        drainMailboxes()
        if deadline <= now.instant { expire(owner) }
        owner.endTurn(at: now)
        for participant in participants { participant.flush(at: now) }
        turns += 1
    }

    private func earliestDeadline(_ owner: any LoopOwner) -> Instant {
        var earliest = owner.nextDeadline ?? .distantFuture
        for participant in participants {
            if let deadline = participant.nextDeadline, deadline < earliest { earliest = deadline }
        }
        return earliest
    }

    /// Rounded up: to wake a moment too late costs less than to turn without anything due.
    private func milliseconds(until deadline: Instant) -> Int32 {
        let instant = SystemClock.instant()
        guard !turnIsRequested, deadline > instant else { return 0 }
        let sleep = min(deadline - instant, Self.longestSleep)
        return Int32((sleep.nanoseconds + 999_999) / 1_000_000)
    }

    private func dispatch(_ index: Int) {
        let (key, readiness) = poller.event(index)
        // Without a handler an earlier one of this turn has deregistered the descriptor.
        handlers[key]?.ready(readiness, at: now)
    }

    private func expire(_ owner: any LoopOwner) {
        for participant in participants { participant.expire(at: now) }
        if let deadline = owner.nextDeadline, deadline <= now.instant { owner.expire(at: now) }
    }

    // MARK: Descriptors

    /// Watches a descriptor until ``deregister(_:)``; the descriptor stays the caller's.
    package func register(
        descriptor: Int32, handler: any ReadinessHandler, interest: Readiness
    ) throws(EventLoopError) -> Registration {
        do {
            return try watch(descriptor, handler, interest)
        } catch {
            throw EventLoopError("cannot watch a descriptor", error)
        }
    }

    /// ``register(descriptor:handler:interest:)`` with the system's own error.
    func watch(
        _ descriptor: Int32, _ handler: any ReadinessHandler, _ interest: Readiness
    ) throws(SystemError) -> Registration {
        lastKey += 1
        try poller.add(descriptor, key: lastKey, interest: interest)
        handlers[lastKey] = handler
        return Registration(descriptor: descriptor, key: lastKey)
    }

    /// Changes what the handler is called for.
    package func update(_ registration: Registration, interest: Readiness) {
        do {
            try poller.modify(registration.descriptor, key: registration.key, interest: interest)
        } catch {
            preconditionFailure("a registered descriptor is open: \(error.name)")
        }
    }

    /// Ends a registration, before its descriptor is closed. The handler is not called again, not even for readiness
    /// that this turn has found already.
    package func deregister(_ registration: Registration) {
        precondition(handlers.removeValue(forKey: registration.key) != nil, "a registration ends once")
        do {
            try poller.remove(registration.descriptor)
        } catch {
            preconditionFailure("a registered descriptor is open: \(error.name)")
        }
    }

    // MARK: Mailboxes

    /// Delivers what is posted to `mailbox`, in order, once per turn, for as long as the loop lives.
    ///
    /// A mailbox has one reader: it is attached once.
    package func attach<Message>(
        _ mailbox: Mailbox<Message>, _ deliver: @escaping (Message) -> Void
    ) throws(EventLoopError) {
        let inlet = MailboxInlet(mailbox: mailbox, loop: self, deliver: deliver)
        _ = try register(descriptor: mailbox.wakeUpDescriptor, handler: inlet, interest: .readable)
    }

    /// Has `inlet` drained after all sockets of this turn were read.
    func drainLater(_ inlet: any Inlet) {
        fullInlets.append(inlet)
    }

    private func drainMailboxes() {
        guard !fullInlets.isEmpty else { return }
        for inlet in fullInlets { inlet.drain() }
        fullInlets.removeAll(keepingCapacity: true)
    }

    // MARK: Participants

    /// Makes `participant` part of every turn, from the next one on.
    package func add(_ participant: any LoopParticipant) {
        participants.append(participant)
    }

    package func remove(_ participant: any LoopParticipant) {
        participants.removeAll { $0 === participant }
    }
}

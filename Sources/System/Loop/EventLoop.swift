import CLinux
package import Core

/// A thread's loop over its sockets, mailboxes and deadlines.
///
/// A turn is: wait → read every ready socket and mailbox → expire deadlines → ``LoopOwner/endTurn(at:)`` → flush the
/// networks, once each. All output of a turn is sent in one write per socket.
///
/// A loop belongs to the thread that runs it; other threads use a ``Mailbox``. It owns its handlers and participants.
/// They refer back to it without owning it: a network must not be used after its loop.
package final class EventLoop {
    /// The maximum of sockets that one turn reads. The others are read in the next turn, which follows without sleep,
    /// or after ``LoopOwner/turnInterval``.
    package static let eventsPerTurn = 256
    /// The loop turns at least this often: epoll_wait(2) limits the time. Nothing else depends on it.
    package static let longestSleep = Duration.seconds(10)

    /// The time at which this turn woke up.
    package private(set) var now = SystemClock.now()
    package private(set) var turns: UInt64 = 0

    private let poller: Poller
    /// By descriptor, with ``Registration/key``.
    private var handlers: [(key: UInt64, handler: ReadinessHandler)?] = []
    /// The upper half of the last key; the lower half is the descriptor.
    private var registrations: UInt32 = 0
    private var participants: [any LoopParticipant] = []
    private var isRunning = false
    private var turnIsRequested = false

    package init() throws(EventLoopError) {
        do {
            poller = try Poller()
        } catch {
            throw EventLoopError("cannot create an event loop", error)
        }
    }

    // MARK: Turns

    /// Runs turns until ``stop()``.
    package func run(owner: any LoopOwner) throws(EventLoopError) {
        precondition(!isRunning, "a loop runs once at a time")
        isRunning = true
        defer { isRunning = false }
        // The first turn does not wait, so that work requested before the loop ran can start.
        turnIsRequested = true
        while isRunning {
            try turn(owner)
        }
    }

    /// Makes ``run(owner:)`` return at the end of this turn, after its output is flushed.
    package func stop() {
        isRunning = false
    }

    /// Makes the next turn follow without sleep, or after ``LoopOwner/turnInterval``, because of an event after
    /// ``LoopOwner/endTurn(at:)`` that the owner has to handle.
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

        for index in 0..<ready {
            let (key, readiness) = poller.event(index)
            // The handler is missing if an earlier handler of this turn deregistered the descriptor.
            guard let watched = handlers[Int(UInt32(truncatingIfNeeded: key))], watched.key == key else { continue }
            watched.handler(readiness, now)
        }
        if deadline <= now.instant {
            for participant in participants { participant.expire(at: now) }
            if let deadline = owner.nextDeadline, deadline <= now.instant { owner.expire(at: now) }
        }
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

    /// Rounded up: waking up slightly late is cheaper than a turn without work.
    private func milliseconds(until deadline: Instant) -> Int32 {
        let instant = SystemClock.instant()
        guard !turnIsRequested, deadline > instant else { return 0 }
        let sleep = min(deadline - instant, Self.longestSleep)
        return Int32((sleep.nanoseconds + 999_999) / 1_000_000)
    }

    // MARK: Descriptors

    /// Watches a descriptor until ``deregister(_:)``; the caller keeps owning the descriptor.
    package func register(
        descriptor: Int32, interest: Readiness, handler: @escaping ReadinessHandler
    ) throws(EventLoopError) -> Registration {
        do {
            return try watch(descriptor, interest, handler)
        } catch {
            throw EventLoopError("cannot watch a descriptor", error)
        }
    }

    /// ``register(descriptor:interest:handler:)`` with the system's error.
    func watch(
        _ descriptor: Int32, _ interest: Readiness, _ handler: @escaping ReadinessHandler
    ) throws(SystemError) -> Registration {
        registrations &+= 1
        let key = UInt64(registrations) << 32 | UInt64(UInt32(bitPattern: descriptor))
        try poller.control(EPOLL_CTL_ADD, descriptor, key: key, interest: interest)
        while handlers.count <= Int(descriptor) { handlers.append(nil) }
        handlers[Int(descriptor)] = (key, handler)
        return Registration(descriptor: descriptor, key: key)
    }

    /// Changes the events for which the handler is called.
    package func update(_ registration: Registration, interest: Readiness) {
        do {
            try poller.control(EPOLL_CTL_MOD, registration.descriptor, key: registration.key, interest: interest)
        } catch {
            preconditionFailure("a registered descriptor is open: \(error.name)")
        }
    }

    /// Ends a registration, if there is one; call it before closing the descriptor. The handler is not called again,
    /// not even for an event that this turn has already found.
    package func deregister(_ registration: inout Registration?) {
        guard let ended = registration.take() else { return }
        let watched = handlers[Int(ended.descriptor)].take()
        precondition(watched?.key == ended.key, "a registration ends once")
        do {
            try poller.control(EPOLL_CTL_DEL, ended.descriptor, key: 0, interest: [])
        } catch {
            preconditionFailure("a registered descriptor is open: \(error.name)")
        }
    }

    // MARK: Mailboxes

    /// Delivers the messages in `mailbox` in order, once per turn, for the lifetime of the loop.
    ///
    /// A mailbox has one reader: attach it only once.
    package func attach<Message>(
        _ mailbox: Mailbox<Message>, _ deliver: @escaping (Message) -> Void
    ) throws(EventLoopError) {
        // Swapped with the mailbox's array, so that a mailbox with little traffic does not allocate.
        var messages: [Message] = []
        _ = try register(descriptor: mailbox.wakeUpDescriptor, interest: .readable) { _, _ in
            mailbox.take(into: &messages)
            for message in messages { deliver(message) }
            messages.removeAll(keepingCapacity: messages.capacity <= Mailbox<Message>.retainedMessages)
        }
    }

    // MARK: Participants

    /// Adds `participant` to every turn, from the next one on, for the lifetime of the loop.
    package func add(_ participant: any LoopParticipant) {
        participants.append(participant)
    }
}

package import AMQP
package import Core

/// Takes dead letters out of their queue: to replay them, to discard them, or because they are safe elsewhere.
///
/// Sans-IO like a worker. It looks at as many messages as lay there at the start. What is chosen is done first and
/// acknowledged then, so that a crash leaves a message twice at worst. All others stay unacknowledged and return to
/// their places at the end; beyond ``Settings/held`` of them, or after ``Settings/longestHold``, they go to the end of
/// the queue as copies, confirmed before the original is acknowledged. A lost connection ends the run: the queue is its
/// state, and another run goes on. If the broker closes the connection over a publish, the run skips that message and
/// goes on, see ``publisherLost(_:)``.
package final class DeadLetterRun: Run {
    package enum Action {
        case replay(to: ReplayTarget)
        case discard
        /// Called with lines of ``ArchiveWriter`` that have to be safe when it returns.
        case export(([[UInt8]]) throws -> Void)
        /// Nothing but what is due anyhow: fresh copies of what was delivered too often.
        case renew
    }

    package struct Settings: Sendable {
        /// The dead-letter queue.
        package var queue: String
        package var filter = DeadLetterFilter()
        /// At most so many are chosen.
        package var limit = Int.max
        /// Messages per second; `nil` for no limit.
        package var rate: Int?
        /// Ends a replay when more than this share of what was replayed arrived in the queue again, in percent; `nil`
        /// for never.
        package var abortAbove: Int?
        /// Unacknowledged messages, those that are held for later included.
        package var prefetch: UInt16 = 1200
        /// Messages that return to their places at the end.
        package var held = 1000
        /// Far below the broker's consumer timeout, 30 minutes.
        package var longestHold = Duration.seconds(600)
        /// A message that was delivered so often gets a fresh copy before a delivery limit (20 in RabbitMQ 4) drops it.
        package var mostDeliveries = 10
        /// Publishes that wait for their confirm.
        package var window = 200
        /// How long the broker may leave anything without an answer.
        package var patience = Duration.seconds(30)
        /// The run ends when the broker has closed the publishing connection over so many publishes without a confirm
        /// in between: then it does not take anything, and the cause is not a single message.
        package var closesInARow = 100

        package init(queue: String) {
            self.queue = queue
        }
    }

    package enum End: Equatable, Sendable {
        /// Everything that lay there at the start was looked at.
        case complete
        /// ``stop(at:)`` was called.
        case stopped
        /// Another run has the queue.
        case locked
        /// Too many came back.
        case aborted
        /// The export could not be written.
        case unwritable(String)
        case failed(String)
    }

    /// Of fewer than these nobody can say whether too many came back.
    package static let smallestSample = 20
    static let watchInterval = Duration.seconds(1)
    /// Without a delivery for as long, an empty queue means that others hold the rest.
    static let quiet = Duration.seconds(2)
    /// A message is skipped when the broker has closed the connection so often while that message alone was
    /// outstanding.
    static let closesUntilRefusal = 2
    /// What is under way at the end is waited for no longer than this.
    static let lastWait = Duration.seconds(10)

    package let settings: Settings
    package internal(set) var tally = DeadLetterTally()
    package internal(set) var end: End?
    /// Stands in each message that this run replays.
    package let id: String

    let action: Action
    let reader: RequestReader
    let connections: Connections
    var inspection: Inspection
    /// Whether the queue's length is known and its messages are taken.
    var isReading = false
    var backlog = Backlog()
    var publishes = Publishes()
    var limiter: RateLimiter?
    var now: Instant
    var timeout: ProgressTimeout
    var shutdown = Shutdown()

    /// - Parameters:
    ///   - id: of this run and no other.
    ///   - connect: makes the connection for a role.
    package init(
        _ action: Action, _ settings: Settings, reader: RequestReader, id: String, at now: Instant,
        connect: (AMQPRole) throws -> AMQPConnection
    ) rethrows {
        self.action = action
        self.settings = settings
        self.reader = reader
        self.id = id
        self.now = now
        timeout = ProgressTimeout(limit: settings.patience, at: now)
        inspection = Inspection(lastDelivery: now)
        let queue = ConsumerQueue(name: settings.queue, prefetch: settings.prefetch)
        let control = try connect(.control)
        let publisher = try connect(.publisher)
        connections = Connections(
            control: control, consumer: try connect(.consumer([queue])), publisher: publisher)
        control.start(at: now)
    }

    /// Only its holder may take messages out of the queue: exclusive, and gone with the connection.
    package static func lockName(of queue: String) -> String {
        "\(queue).replay.lock"
    }

    package var nextDeadline: Instant? {
        let retries = connections.nextDeadline ?? .distantFuture
        guard end == nil else {
            return shutdown.isClosing ? connections.nextDeadline : min(shutdown.deadline, retries)
        }
        var earliest = min(retries, timeout.deadline, inspection.nextWatch)
        if let since = backlog.retained.first?.since { earliest = min(earliest, since + settings.longestHold) }
        // A suspect goes alone: what is in flight has to end first.
        let isPublishDue = publishes.suspects.isEmpty ? !backlog.chosen.isEmpty : publishes.inFlight.isEmpty
        if isPublishDue, mayPublish, let permit = limiter?.nextPermit(at: now) {
            earliest = min(earliest, permit)
        }
        return earliest
    }

    package var progress: (done: Int, of: Int) { (tally.done, min(tally.atStart, settings.limit)) }

    package func step(at moment: Moment) {
        now = moment.instant
        for connection in connections.all { connection.expire(at: now) }
        takeEvents()
        if end == nil { work() }
        if end == nil { judge() }
        guard end != nil else { return }
        close()
        // A connection that was not open ends at once, and nothing else wakes anybody for that.
        takeEvents()
    }

    private func takeEvents() {
        takeControlEvents()
        takeDeliveries()
        takeConfirms()
    }

    /// Ends it in order: what was not sent stays.
    package func stop(at moment: Moment) {
        now = moment.instant
        finish(.stopped)
    }

    package var isFinished: Bool {
        shutdown.isClosing && connections.all.allSatisfy(\.isClosed)
    }

    // MARK: The lock and the length

    func takeControlEvents() {
        while let event = connections.control.nextEvent(at: now) {
            switch event {
            case .engine(.opened) where inspection.question == nil && !isReading && end == nil: ask(.lock)
            case .engine(.replied(let reply)): answered(reply)
            case .disconnected(_, let error, _):
                inspection.question = nil
                lost(error, isFatal: isReading)
            default: break
            }
        }
    }

    func ask(_ question: Inspection.Question) {
        // Its loss has not been told yet.
        let control = connections.control
        guard control.isOpen else { return }
        inspection.question = question
        switch question {
        case .lock:
            var lock = QueueDeclaration(name: Self.lockName(of: settings.queue))
            (lock.durable, lock.exclusive, lock.autoDelete) = (false, true, true)
            control.request(.declareQueue(lock), at: now)
        case .length, .watch: control.request(.inspectQueue(settings.queue), at: now)
        case .emptiness: control.request(.get(queue: settings.queue), at: now)
        }
    }

    func answered(_ reply: ControlReply) {
        guard let asked = inspection.question, end == nil else { return }
        inspection.question = nil
        if !isReading { timeout.restart(at: now) }
        switch (asked, reply) {
        case (.lock, .refused(let error)) where error.code == .resourceLocked: finish(.locked)
        // A queue with a single active consumer gives nothing to anybody else: its count has to do.
        case (.emptiness, .refused(let error)) where error.code == .resourceLocked: finish(.complete)
        case (_, .refused(let error)): finish(.failed(error.message))
        case (.lock, _): ask(.length)
        case (.length, .declared(_, 0, _)): ask(.emptiness)
        case (.length, .declared(_, let messages, _)): start(Int(messages))
        case (.watch, .declared(_, let messages, _)): watched(ready: Int(messages))
        case (.emptiness, .empty): finish(.complete)
        case (.emptiness, .got(let delivery, let remaining, _)):
            connections.control.nack(epoch: delivery.epoch, tag: delivery.tag, requeue: true, at: now)
            if isReading { inspection.lastDelivery = now } else { start(Int(remaining) + 1) }
        default: finish(.failed("the broker answers something else"))
        }
    }

    func start(_ count: Int) {
        tally.atStart = count
        isReading = true
        connections.consumer.start(at: now)
        connections.publisher.start(at: now)
        inspection.nextWatch = now + Self.watchInterval
        if let rate = settings.rate { limiter = RateLimiter(perSecond: rate, burst: max(1, rate / 100), at: now) }
    }

    /// What the queue's length says: how many came back, and whether anything is left to wait for.
    func watched(ready: Int) {
        inspection.nextWatch = now + Self.watchInterval
        let expected = tally.atStart - tally.done
        tally.arrivals = max(0, ready + connections.consumer.held - expected - publishes.renewalCount)
        if case .replay = action, let limit = settings.abortAbove, tally.done >= Self.smallestSample,
            tally.arrivals * 100 > limit * tally.done
        {
            return finish(.aborted)
        }
        if ready == 0, isIdle, now >= inspection.lastDelivery + Self.quiet { ask(.emptiness) }
    }
}

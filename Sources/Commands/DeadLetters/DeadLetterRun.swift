package import AMQP
package import Core

/// Reads, replays, discards or exports the dead letters of a queue, or publishes an archive into it.
///
/// Sans-IO like a worker. It processes as many messages as the queue contained at the start. A chosen message is
/// acknowledged only after its copy is safe, so a crash leaves at worst a duplicate. All others stay unacknowledged and
/// are requeued at the end. Beyond ``Settings/held`` of them, or after ``Settings/longestHold``, they are copied to the
/// end of the queue; each copy is confirmed before the original is acknowledged. A lost connection ends the run;
/// another run continues from the queue. If the broker closes the connection over a publish, the run skips that
/// message, see ``publisherLost(_:)``.
///
/// A run that only reads keeps no message: further connections hold what exceeds ``Settings/readingPrefetch``.
package final class DeadLetterRun: Run {
    package enum Action {
        /// Called with each chosen message, whose body is empty if it is too large.
        case read((Delivery, DeadLetter) -> Void)
        case replay(to: ReplayTarget)
        case discard
        /// Called with lines of an archive; they must be safe when it returns. The messages are removed if it discards.
        case export(discards: Bool, ([[UInt8]]) throws -> Void)
        /// Publishes this number of messages of an archive. Called for the next one; `nil` after the last one.
        case publish(count: Int, () throws -> ArchivedMessage?)
    }

    package struct Settings: Sendable {
        package static let rates = 1...1_000_000
        package static let defaultRate = 500
        package static let defaultAbortAbove = 50

        /// The dead-letter queue.
        package var queue: String
        package var filter = DeadLetterFilter()
        /// The maximum number of chosen messages.
        package var limit = Int.max
        /// Messages per second; `nil` for no limit.
        package var rate: Int?
        /// Ends a replay if more than this share of the replayed messages arrived in the queue again, in percent; `nil`
        /// for never.
        package var abortAbove: Int?
        /// The maximum of unacknowledged messages, including held ones.
        package var prefetch: UInt16 = 1200
        /// The maximum of messages per connection, if the run only reads.
        package var readingPrefetch: UInt16 = 50_000
        /// The maximum of held messages, which are requeued in their order.
        package var held = 1000
        /// Far below the broker's consumer timeout, 30 minutes.
        package var longestHold = Duration.seconds(600)
        /// A message with this number of deliveries is copied before a delivery limit (20 in RabbitMQ 4) drops it.
        package var mostDeliveries = 10
        /// The maximum of unconfirmed publishes.
        package var window = 200
        /// The timeout for a response of the broker.
        package var timeLimit = Duration.seconds(30)
        /// Ends the run after this number of closes over publishes without a confirm in between: the cause is then not
        /// a single message.
        package var closesInARow = 100

        package init(queue: String) {
            self.queue = queue
        }
    }

    package enum End: Equatable, Sendable {
        /// All messages from the start were processed.
        case complete
        /// ``stop(at:)`` was called.
        case stopped
        /// Another run holds the lock of the queue.
        case locked
        /// Too many replayed messages returned.
        case aborted
        /// The export could not be written.
        case unwritable(String)
        case failed(String)
    }

    /// Below this count the return rate is not meaningful.
    package static let smallestSample = 20
    static let watchInterval = Duration.seconds(1)
    /// If no delivery arrives for this time and the queue is empty, other consumers hold the rest.
    static let quiet = Duration.seconds(2)
    /// A message is skipped after the broker has closed the connection this often while only that message was
    /// outstanding.
    static let closesUntilRefusal = 2
    /// The longest wait for pending publishes at the end.
    static let lastWait = Duration.seconds(10)

    package let settings: Settings
    package internal(set) var tally = DeadLetterTally()
    package internal(set) var end: End?
    /// Included in each message that this run replays.
    package let id: String

    let action: Action
    let reader: RequestReader
    var connections: Connections
    var inspection: Inspection
    /// Whether the queue's length is known and its messages are consumed.
    var isStarted = false
    var backlog = Backlog()
    var publishes = Publishes()
    var limiter: RateLimiter?
    var now: Instant
    var timeout: ProgressTimeout
    var shutdown = Shutdown()

    /// - Parameters:
    ///   - id: unique to this run.
    ///   - connect: makes the connection for a role.
    package init(
        _ action: Action, _ settings: Settings, reader: RequestReader, id: String, at now: Instant,
        connect: @escaping (AMQPRole) throws -> AMQPConnection
    ) rethrows {
        var settings = settings
        if case .replay = action { settings.filter.isForReplay = true }
        self.action = action
        self.settings = settings
        self.reader = reader
        self.id = id
        self.now = now
        timeout = ProgressTimeout(limit: settings.timeLimit, at: now)
        inspection = Inspection(lastDelivery: now)
        connections = Connections(control: try connect(.control), publisher: try connect(.publisher), connect: connect)
        connections.control.start(at: now)
    }

    /// An exclusive queue as a lock: only its holder may read or remove messages. It disappears with the connection.
    package static func lockName(of queue: String) -> String {
        "\(queue).replay.lock"
    }

    /// Whether all messages stay in the queue.
    var isReadOnly: Bool {
        switch action {
        case .read, .export(discards: false, _): true
        case .replay, .discard, .export, .publish: false
        }
    }

    package var nextDeadline: Instant? {
        let retries = connections.nextDeadline ?? .distantFuture
        guard end == nil else {
            return shutdown.isClosing ? connections.nextDeadline : min(shutdown.deadline, retries)
        }
        var earliest = min(retries, timeout.deadline, inspection.nextWatch)
        if let since = backlog.retained.first?.since { earliest = min(earliest, since + settings.longestHold) }
        // A suspect is published alone: all publishes in flight have to end first.
        let isPublishDue = publishes.suspects.isEmpty ? hasWork : publishes.inFlight.isEmpty
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
        if end == nil { checkEnd() }
        if end != nil { close() }
    }

    func takeEvents() {
        takeControlEvents()
        for index in connections.consumers.indices { takeDeliveries(of: index) }
        takeConfirms()
    }

    /// Ends the run in order: messages that were not sent stay in the queue.
    package func stop(at moment: Moment) {
        now = moment.instant
        finish(.stopped)
    }

    package var isFinished: Bool {
        shutdown.isClosing && connections.all.allSatisfy(\.isClosed)
    }

    // MARK: Lock and length

    private func takeControlEvents() {
        while let event = connections.control.nextEvent(at: now) {
            switch event {
            case .engine(.opened) where inspection.question == nil && !isStarted && end == nil: ask(.lock)
            case .engine(.responded(let response)): responded(response)
            case .disconnected(_, let error, _):
                inspection.question = nil
                lost(error, isFatal: isStarted)
            default: break
            }
        }
    }

    func ask(_ question: Inspection.Question) {
        // The connection was lost, and the event is not processed yet.
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

    private func responded(_ response: ControlResponse) {
        guard let asked = inspection.question, end == nil else { return }
        inspection.question = nil
        if !isStarted { timeout.restart(at: now) }
        switch (asked, response) {
        case (.lock, .refused(let error)) where error.code == .resourceLocked: finish(.locked)
        // A queue with a single active consumer gives no messages to others: its count has to suffice.
        case (.emptiness, .refused(let error)) where error.code == .resourceLocked: finish(.complete)
        case (_, .refused(let error)): finish(.failed(error.message))
        case (.lock, _): ask(.length)
        case (.length, .declared(_, let messages, _)): counted(Int(messages))
        case (.watch, .declared(_, let messages, _)): watched(ready: Int(messages))
        case (.emptiness, .empty): finish(.complete)
        case (.emptiness, .got(let delivery, let remaining, _)):
            connections.control.nack(epoch: delivery.epoch, tag: delivery.tag, requeue: true, at: now)
            if isStarted { inspection.lastDelivery = now } else { start(Int(remaining) + 1) }
        default: finish(.failed("unexpected response from the broker"))
        }
    }

    private func counted(_ messages: Int) {
        if case .publish(let count, _) = action {
            tally.atStart = count
            isStarted = true
        } else if messages == 0 {
            ask(.emptiness)
        } else {
            start(messages)
        }
        if let rate = settings.rate { limiter = RateLimiter(perSecond: rate, burst: max(1, rate / 100), at: now) }
    }

    private func start(_ count: Int) {
        tally.atStart = count
        isStarted = true
        openConsumer()
        inspection.nextWatch = now + Self.watchInterval
    }

    /// Evaluates the queue's length: how many messages returned, and whether to keep waiting.
    private func watched(ready: Int) {
        inspection.nextWatch = now + Self.watchInterval
        let expected = tally.atStart - tally.removed
        tally.arrivals = max(0, ready + connections.held - expected - publishes.renewalCount)
        if case .replay = action, let limit = settings.abortAbove, tally.done >= Self.smallestSample,
            tally.arrivals * 100 > limit * tally.done
        {
            return finish(.aborted)
        }
        if ready == 0, isIdle, now >= inspection.lastDelivery + Self.quiet { ask(.emptiness) }
    }
}

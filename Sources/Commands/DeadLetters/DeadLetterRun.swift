import AMQP
import Core
import DequeModule

/// Reads, replays, discards or exports the dead letters of a queue, or publishes an archive into it.
///
/// Sans-IO like a worker. It ends with the messages that the queue contained at the start. A chosen message is
/// acknowledged only after its copy is safe, so a crash leaves at worst a duplicate. All others stay unacknowledged and
/// return to their places when the consumers close. A lost connection ends the run; another run continues from the
/// queue. If the broker closes the connection over a publish, the run skips that message: `publisherLost`.
final class DeadLetterRun: Run {
    /// The run's questions to the broker about the queue.
    enum Question {
        case lock, length
        /// Verifies a length of 0: RabbitMQ also reports 0 if a quorum queue does not answer within 250 ms. Source:
        /// rabbit_quorum_queue.erl, `stat/2`.
        case emptiness
    }

    /// If no delivery arrives for this time and the queue is empty, other consumers hold the rest.
    private static let quiet = Duration.seconds(2)
    /// A message is skipped after the broker has closed the connection this often while only that message was
    /// outstanding.
    static let closesUntilRefusal = 2
    /// The longest wait at the end for publishes and acknowledgements, and after that for the close.
    private static let lastWait = Duration.seconds(10)
    private static let closeTimeout = Duration.seconds(1)

    let settings: Settings
    var tally = DeadLetterTally()
    private(set) var end: End?
    /// Included in each message that this run replays.
    let id: String

    let action: Action
    let reader: RequestReader
    let publisher: AMQPConnection
    var consumers: [DeadLetterConsumer] = []
    /// How many messages the run takes, and when it began; `nil` before the length of the queue is known. Once it is
    /// known, a loss ends the run, and another run has to continue.
    private(set) var scope: (messages: Int, start: Instant)?
    /// Chosen messages that are not sent or acknowledged yet, oldest first.
    var backlog = Deque<Item>()
    /// Published messages without a confirm, by its sequence number.
    var inFlight: [UInt64: Item] = [:]
    /// Closes over a publish since the last confirm.
    var closes = 0
    var now: Instant
    var broker: BrokerProgress
    private let control: AMQPConnection
    private let connect: (AMQPRole) throws -> AMQPConnection
    var limiter: RateLimiter?
    private var question: Question?
    /// When the queue last proved that it contains a message.
    private var lastDelivery: Instant
    private var closeDeadline = Instant.distantFuture

    /// - Parameters:
    ///   - id: unique to this run.
    ///   - connect: makes the connection for a role.
    init(
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
        self.connect = connect
        broker = BrokerProgress(limit: settings.timeLimit, at: now)
        lastDelivery = now
        control = try connect(.control)
        publisher = try connect(.publisher)
        if let rate = settings.rate { limiter = RateLimiter(perSecond: rate, burst: max(1, rate / 100), at: now) }
        control.start(at: now)
    }

    /// An exclusive queue as a lock: only its holder may read or remove messages. It disappears with the connection.
    ///
    /// AMQP allows 255 bytes. The end of a long name may become a replacement character, which has three.
    static func lockName(of queue: String) -> String {
        String(decoding: queue.utf8.prefix(241), as: UTF8.self) + ".replay.lock"
    }

    /// In the order in which they close. The consumer with the oldest messages is the first: a quorum queue keeps the
    /// order in which messages return. The lock is released last.
    private var connections: [AMQPConnection] { consumers.map(\.connection) + [publisher, control] }

    /// Whether all messages stay in the queue.
    private var isReadOnly: Bool {
        switch action {
        case .read, .export(discards: false, _): true
        case .replay, .discard, .export, .publish: false
        }
    }

    var nextDeadline: Instant? {
        let retries = connections.compactMap(\.nextDeadline).min() ?? .distantFuture
        guard end == nil else {
            return isFinished
                ? nil : min(now < closeDeadline ? closeDeadline : closeDeadline + Self.closeTimeout, retries)
        }
        var earliest = min(retries, broker.deadline, holdEnd ?? .distantFuture)
        if mayWatch { earliest = min(earliest, lastDelivery + Self.quiet) }
        if mayPublish, let permit = limiter?.nextPermit(at: now) { earliest = min(earliest, permit) }
        return earliest
    }

    var progress: (done: Int, of: Int) { (tally.done, min(tally.atStart, settings.limit)) }

    func trouble(at now: Instant) -> String? { broker.trouble(at: now) }

    func step(at moment: Moment) {
        guard !isFinished else { return }
        now = moment.instant
        for connection in connections { connection.expire(at: now) }
        if control.isEstablished { broker.greeted() }
        takeEvents()
        if end == nil { work() }
        if end == nil { checkEnd() }
        if end != nil { close() }
    }

    private func takeEvents() {
        takeControlEvents()
        for index in consumers.indices { takeDeliveries(of: index) }
        takeConfirms()
    }

    /// Ends the run in order: messages that were not sent stay in the queue.
    func stop(at moment: Moment) {
        now = moment.instant
        finish(.stopped)
    }

    private(set) var isFinished = false

    // MARK: Questions

    private func takeControlEvents() {
        while let event = control.nextEvent(at: now) {
            broker.took(event, at: now)
            switch event {
            case .engine(.opened) where end == nil: ask(.lock)
            case .engine(.responded(let response)): responded(response)
            case .disconnected(_, let error, _):
                question = nil
                lost(error, isFatal: scope != nil)
            default: break
            }
        }
    }

    private func ask(_ question: Question) {
        // The connection was lost, and the event is not processed yet.
        guard control.isOpen else { return }
        self.question = question
        switch question {
        case .lock:
            var lock = QueueDeclaration(name: Self.lockName(of: settings.queue))
            (lock.durable, lock.exclusive) = (false, true)
            control.request(.declareQueue(lock), at: now)
        case .length: control.request(.inspectQueue(settings.queue), at: now)
        case .emptiness: control.request(.get(queue: settings.queue), at: now)
        }
    }

    private func responded(_ response: ControlResponse) {
        guard let asked = question, end == nil else { return }
        question = nil
        switch (asked, response) {
        case (.lock, .refused(let error)) where error.code == .resourceLocked: finish(.locked)
        // A queue with a single active consumer gives no messages to others: its count has to suffice.
        case (.emptiness, .refused(let error)) where error.code == .resourceLocked: finish(.complete)
        case (_, .refused(let error)): finish(.failed(error.message))
        case (.lock, _): ask(.length)
        case (.length, .declared(_, let messages, _)): counted(Int(messages))
        case (.emptiness, .empty): finish(.complete)
        case (.emptiness, .got(let delivery, let remaining)):
            control.nack(epoch: delivery.epoch, tag: delivery.tag, requeue: true, at: now)
            if scope != nil { lastDelivery = now } else { start(Int(remaining) + 1) }
        default: finish(.failed("unexpected response from the broker"))
        }
    }

    /// - Parameter messages: those that no consumer holds.
    private func counted(_ messages: Int) {
        if case .publish(let count, _) = action { return start(count) }
        if scope == nil {
            if messages == 0 { ask(.emptiness) } else { start(messages) }
        } else if messages > 0 {
            lastDelivery = now
        } else if isQuiet {
            // Without messages to consume, others hold the rest.
            ask(.emptiness)
        }
    }

    // MARK: Consuming

    /// - Parameter messages: in the queue now.
    private func start(_ messages: Int) {
        broker.restart(at: now)
        scope = (messages, now)
        tally.atStart = messages
        lastDelivery = now
        if case .publish = action { return }
        openConsumer()
    }

    private func openConsumer() {
        guard let scope else { return }
        let rest = UInt16(clamping: scope.messages - tally.seen)
        let prefetch =
            isReadOnly
            ? min(settings.readingPrefetch, rest) : consumers.isEmpty ? settings.prefetch : settings.furtherPrefetch
        do {
            let connection = try connect(.consumer([ConsumerQueue(name: settings.queue, prefetch: prefetch)]))
            consumers.append(DeadLetterConsumer(connection, prefetch: prefetch))
            connection.start(at: now)
        } catch {
            finish(.failed("\(error)"))
        }
    }

    /// When the run has to end because it holds messages that stay; `nil` without such messages, and for a run that
    /// reads.
    private var holdEnd: Instant? {
        let staying = tally.seen - tally.removed - backlog.count - inFlight.count
        guard let scope, !isReadOnly, !consumers.isEmpty, staying > 0 else { return nil }
        return scope.start + settings.longestHold
    }

    /// Whether the run waits for a delivery, so that other consumers may hold the rest.
    private var mayWatch: Bool {
        !consumers.isEmpty && !isOver && isIdle && question == nil && control.isOpen
    }

    private var isQuiet: Bool { mayWatch && now >= lastDelivery + Self.quiet }

    /// Whether no further message is taken.
    var isOver: Bool {
        guard let scope else { return false }
        return tally.seen >= scope.messages || tally.chosen >= settings.limit
    }

    func noteDelivery() {
        tally.seen += 1
        lastDelivery = now
        broker.restart(at: now)
    }

    // MARK: The end

    private func checkEnd() {
        if let failure = broker.failure(at: now) { return finish(.failed(failure)) }
        guard scope != nil else { return }
        if isOver, isIdle { return finish(.complete) }
        if let end = holdEnd, now >= end {
            let minutes = settings.longestHold.components.seconds / 60
            return finish(
                .failed(
                    "it has taken \(minutes) minutes and holds messages that stay; RabbitMQ allows 30: run it again"))
        }
        // The newest consumer holds only messages that stay.
        if !isOver, isIdle, let consumer = consumers.last, consumer.isFull { openConsumer() }
        if isQuiet { ask(.length) }
    }

    func lost(_ error: AMQPError, isFatal: Bool) {
        if isFatal || !error.isTransient { finish(.failed(error.description)) }
    }

    func finish(_ end: End) {
        guard self.end == nil else { return }
        self.end = end
        closeDeadline = now + Self.lastWait
        tally.uncertain += backlog.count(where: \.isRepeated)
        backlog = []
        stopConsuming()
    }

    /// Stops consuming: later messages, including those that come back, stay in the queue.
    func stopConsuming() {
        for consumer in consumers { consumer.connection.cancelConsumers(at: now) }
    }

    private func isClosed(_ connection: AMQPConnection) -> Bool {
        connection.close(at: now)
        // A connection that was not open closes immediately, and no other event would trigger a step.
        takeEvents()
        return connection.isClosed
    }

    /// Waits for pending publishes, flushes the acknowledgements, then closes one connection after another.
    private func close() {
        let isLate = now >= closeDeadline
        if isLate || isIdle || !publisher.isOpen {
            for index in consumers.indices { consumers[index].flush(at: now) }
            if isLate || consumers.allSatisfy(\.isFlushed) { isFinished = connections.allSatisfy(isClosed) }
        }
        if now >= closeDeadline + Self.closeTimeout { isFinished = true }
        guard isFinished else { return }
        tally.uncertain += inFlight.count
        inFlight = [:]
    }
}

import AMQP
import Core

/// Publishes requests, collects the replies from a temporary queue, and records both in a ledger.
///
/// Sans-IO like a worker. It reopens lost connections and repeats unconfirmed publishes, so a run survives a restart of
/// the broker. Duplicate replies are counted. The reply queue is declared once and deleted at the end.
final class RequestRun: Run {
    struct Settings: Sendable {
        var queue: String
        var count: Int
        /// Messages per second; `nil` publishes as fast as the broker confirms.
        var rate: Int?
        /// The maximum of unconfirmed messages.
        var window = 1000
        /// The name of the reply queue; unique to this run.
        var replies: String
        /// The longest time without a reply or a message that the broker accepts.
        var timeLimit: Duration
    }

    enum End: Equatable {
        /// Every message was answered.
        case complete
        /// The broker accepted no message and no reply arrived within the time limit, and what prevented it.
        case timedOut(String)
        case failed(String)
        case stopped
    }

    /// `x-expires` of the reply queue if it cannot be deleted, in milliseconds.
    private static let life: Int32 = 600_000

    let settings: Settings
    /// Makes a request by its index, for the name of the reply queue.
    private let request: (Int, String) -> Publication
    /// The index of the request that a reply belongs to; `nil` for none.
    private let index: (Delivery) -> Int?
    private(set) var ledger = LoadLedger()
    private(set) var end: End?

    private let control: AMQPConnection
    private let publisher: AMQPConnection
    private let consumer: AMQPConnection
    private var isDeclared = false
    private var isConsuming = false
    private var broker: BrokerProgress
    private var closing: OrderlyClose?
    private var again: [Int] = []
    /// Indexes of requests, by the sequence number of the confirm.
    private var unconfirmed: [UInt64: Int] = [:]
    private var limiter: RateLimiter?
    /// Refused messages are repeated after a pause, which grows with each refusal.
    private var backoff = Backoff(limit: .seconds(5))
    private var pausesUntil: Instant?
    private var random = SplitMix64(seed: 1)
    private var now: Instant

    /// - Parameter connect: makes the connection for a role.
    init(
        _ settings: Settings, at now: Instant, connect: (AMQPRole) throws -> AMQPConnection,
        request: @escaping (Int, String) -> Publication, index: @escaping (Delivery) -> Int?
    ) rethrows {
        self.settings = settings
        self.request = request
        self.index = index
        self.now = now
        broker = BrokerProgress(limit: settings.timeLimit, outlastsLosses: true, at: now)
        control = try connect(.control)
        publisher = try connect(.publisher)
        let prefetch = UInt16(clamping: settings.window)
        consumer = try connect(.consumer([ConsumerQueue(name: settings.replies, prefetch: prefetch)]))
        control.start(at: now)
        publisher.start(at: now)
    }

    private var connections: [AMQPConnection] { [control, publisher, consumer] }

    var nextDeadline: Instant? {
        guard end == nil else { return isFinished ? nil : closing?.deadline }
        var earliest = min(broker.deadline, connections.compactMap(\.nextDeadline).min() ?? .distantFuture)
        if let pausesUntil { earliest = min(earliest, pausesUntil) }
        if canPublish, let permit = limiter?.nextPermit(at: now) { earliest = min(earliest, permit) }
        return earliest
    }

    var progress: (done: Int, of: Int) { (ledger.responded, settings.count) }

    func step(at moment: Moment) {
        now = moment.instant
        for connection in connections { connection.expire(at: now) }
        if end == nil { takeEvents() }
        if end == nil { work() }
        isFinished = closing?.isOver(at: now) ?? false
    }

    private func work() {
        publishDue()
        if ledger.responded == settings.count {
            finish(.complete)
        } else if let cause = broker.failure(at: now) {
            finish(.timedOut(cause))
        }
    }

    func trouble(at now: Instant) -> String? { broker.trouble(at: now) }

    // MARK: Replies

    private func takeEvents() {
        for connection in connections {
            while end == nil, let event = connection.nextEvent(at: now) {
                broker.took(event, at: now)
                if case .engine(let event) = event { take(event, from: connection) }
                if case .disconnected(_, let error, _) = event, !error.isTransient { fail(error) }
            }
        }
    }

    private func take(_ event: AMQPEngine.Event, from connection: AMQPConnection) {
        switch event {
        case .opened where connection === control && !isDeclared:
            let queue = QueueDeclaration(name: settings.replies, arguments: ["x-expires": .int32(Self.life)])
            control.request(.declareQueue(queue), at: now)
        case .responded(.declared):
            isDeclared = true
            consumer.start(at: now)
        case .responded(.refused(let error)): fail(error)
        case .channelClosed(_, let error) where connection === consumer && !error.isTransient: fail(error)
        case .consuming:
            isConsuming = true
            broker.restart(at: now)
        case .delivery(let delivery): received(delivery)
        case .confirmed(let sequence, let confirmation): confirmed(sequence, confirmation)
        default: break
        }
    }

    private func received(_ delivery: Delivery) {
        broker.restart(at: now)
        func text(_ header: StaticString) -> String? {
            guard case .text(let bytes) = delivery.header(header) else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
        let outcome = text("harebell-outcome") ?? "unknown"
        ledger.responded(
            index(delivery), outcome: text("harebell-reason").map { "\(outcome) \($0)" } ?? outcome, at: now)
        consumer.ack(epoch: delivery.epoch, tag: delivery.tag, at: now)
    }

    // MARK: Publishing

    /// Whether the broker has all requests.
    var areQueued: Bool { ledger.published == settings.count && unconfirmed.isEmpty && again.isEmpty }

    /// Whether the queue refused each request that it does not have.
    var isRefused: Bool { unconfirmed.isEmpty && broker.refusal != nil }

    private var canPublish: Bool {
        isConsuming && publisher.canPublish && pausesUntil == nil && unconfirmed.count < settings.window
            && (ledger.published < settings.count || !again.isEmpty)
    }

    private func publishDue() {
        if limiter == nil, isConsuming, let rate = settings.rate {
            limiter = RateLimiter(perSecond: rate, burst: max(1, rate / 100), at: now)
        }
        if let end = pausesUntil, now >= end { pausesUntil = nil }
        while canPublish {
            guard limiter?.take(at: now) ?? true else { return }
            publish(again.popLast() ?? ledger.published)
        }
    }

    private func publish(_ index: Int) {
        do {
            unconfirmed[try publisher.publish(request(index, settings.replies))] = index
            ledger.published(index, at: now)
        } catch {
            fail(error)
        }
    }

    private func confirmed(_ sequence: UInt64, _ confirmation: Confirmation) {
        guard let index = unconfirmed.removeValue(forKey: sequence) else {
            preconditionFailure("each publish ends once")
        }
        switch confirmation {
        case .acked:
            backoff.reset()
            broker.restart(at: now)
        case .lost: again.append(index)
        case .nacked:
            again.append(index)
            broker.refusal = "queue \"\(settings.queue)\" refuses messages: it may be full"
            if pausesUntil == nil { pausesUntil = now + backoff.next(using: &random) }
        case .returned(_, let text):
            finish(.failed("queue \"\(settings.queue)\" does not receive messages (\(text)): check that it exists"))
        }
    }

    // MARK: End

    func stop(at moment: Moment) {
        now = moment.instant
        finish(.stopped)
    }

    private func fail(_ error: AMQPError) {
        finish(.failed(error.description))
    }

    /// Deletes the reply queue if possible, and closes all connections.
    private func finish(_ end: End) {
        guard self.end == nil else { return }
        self.end = end
        if control.isOpen { control.request(.deleteQueue(settings.replies), at: now) }
        closing = OrderlyClose([consumer, publisher, control], at: now)
    }

    private(set) var isFinished = false
}

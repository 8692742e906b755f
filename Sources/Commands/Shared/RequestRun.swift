import AMQP
import Core

/// Publishes requests, collects the replies, and keeps a ledger of both.
///
/// Sans-IO like a worker. It reopens lost connections and repeats unconfirmed publishes, so a run survives a restart of
/// the broker. Duplicate replies are counted.
final class RequestRun: Run {
    struct Settings: Sendable {
        var queue: String
        var count: Int
        /// Messages per second; `nil` publishes as fast as the broker confirms.
        var rate: Int?
        /// The maximum of unconfirmed messages.
        var window = 1000
    }

    enum End: Equatable {
        /// Every message was answered.
        case complete
        /// Nothing was published and no reply arrived within the time limit, and what prevented it.
        case timedOut(String)
        case failed(String)
        /// ``stop(at:)`` was called.
        case stopped
    }

    let settings: Settings
    /// Makes a request by its index, for the name of the reply queue.
    private let request: (Int, String) -> Publication
    /// The index of the request that a reply belongs to; `nil` for none.
    private let index: (Delivery) -> Int?
    private(set) var ledger: LoadLedger
    private(set) var end: End?

    /// Deleted at the end of the run.
    private let replies: ReplyQueue
    private var isReady = false
    private var next = 0
    private var again: [Int] = []
    /// Indexes of requests, by the sequence number of the confirm.
    private var unconfirmed: [UInt64: Int] = [:]
    private var limiter: RateLimiter?
    /// Refused messages are repeated after a pause, which grows with each refusal.
    private var backoff = Backoff(limit: .seconds(5))
    private var pausesUntil: Instant?
    private var random = SplitMix64(seed: 1)
    private var now: Instant

    /// - Parameter replies: its time limit is the longest wait for a reply after the last reply or publish.
    init(
        _ settings: Settings, replies: ReplyQueue, at now: Instant,
        request: @escaping (Int, String) -> Publication, index: @escaping (Delivery) -> Int?
    ) {
        self.settings = settings
        self.request = request
        self.index = index
        self.replies = replies
        self.now = now
        ledger = LoadLedger(count: settings.count)
    }

    var nextDeadline: Instant? {
        guard end == nil else { return replies.nextDeadline }
        var earliest = min(replies.broker.deadline, replies.nextDeadline ?? .distantFuture)
        if let pausesUntil { earliest = min(earliest, pausesUntil) }
        if canPublish, let permit = limiter?.nextPermit(at: now) { earliest = min(earliest, permit) }
        return earliest
    }

    /// The number of answered messages.
    var progress: (done: Int, of: Int) { (ledger.responded, settings.count) }

    func step(at moment: Moment) {
        now = moment.instant
        replies.expire(at: now)
        takeEvents()
        guard end == nil else { return }
        publishDue()
        if ledger.responded == settings.count {
            finish(.complete)
        } else if let cause = replies.broker.failure(at: now) {
            finish(.timedOut(cause))
        }
    }

    func trouble(at now: Instant) -> String? { replies.broker.trouble(at: now) }

    // MARK: Replies

    private func takeEvents() {
        while let event = replies.nextEvent(at: now) {
            switch event {
            case .ready:
                isReady = true
                replies.broker.restart(at: now)
            case .reply(let delivery): received(delivery)
            case .confirmed(let sequence, let confirmation): confirmed(sequence, confirmation)
            case .failed(let error): finish(.failed(error.description))
            }
        }
    }

    private func received(_ delivery: Delivery) {
        replies.broker.restart(at: now)
        func text(_ header: StaticString) -> String? {
            guard case .text(let bytes) = delivery.header(header) else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
        let outcome = text("harebell-outcome") ?? "unknown"
        ledger.responded(
            index(delivery), outcome: text("harebell-reason").map { "\(outcome) \($0)" } ?? outcome, at: now)
        replies.acknowledge(delivery, at: now)
    }

    // MARK: Publishing

    /// Whether the broker has all requests.
    var areQueued: Bool { ledger.published == settings.count && unconfirmed.isEmpty && again.isEmpty }

    private var canPublish: Bool {
        replies.canPublish && pausesUntil == nil && unconfirmed.count < settings.window
            && (next < settings.count || !again.isEmpty)
    }

    private func publishDue() {
        if limiter == nil, isReady, let rate = settings.rate {
            limiter = RateLimiter(perSecond: rate, burst: max(1, rate / 100), at: now)
        }
        if let end = pausesUntil, now >= end { pausesUntil = nil }
        while canPublish {
            guard limiter?.take(at: now) ?? true else { return }
            if let index = again.popLast() {
                publish(index)
            } else {
                publish(next)
                next += 1
            }
        }
    }

    private func publish(_ index: Int) {
        do {
            let sequence = try replies.publish(request(index, replies.name))
            unconfirmed[sequence] = index
            ledger.published(index, at: now)
            replies.broker.restart(at: now)
        } catch {
            finish(.failed(error.description))
        }
    }

    private func confirmed(_ sequence: UInt64, _ confirmation: Confirmation) {
        guard let index = unconfirmed.removeValue(forKey: sequence) else {
            preconditionFailure("each publish ends once")
        }
        switch confirmation {
        case .acked: backoff.reset()
        case .lost: again.append(index)
        case .nacked:
            again.append(index)
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

    private func finish(_ end: End) {
        guard self.end == nil else { return }
        self.end = end
        replies.close(at: now)
    }

    var isFinished: Bool {
        end != nil && replies.isClosed
    }
}

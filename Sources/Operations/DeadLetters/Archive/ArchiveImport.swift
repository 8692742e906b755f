package import AMQP
package import Core

/// Publishes the messages of an archive to a queue, each confirmed.
///
/// Sans-IO like a worker. A lost connection ends it.
package final class ArchiveImport: Run {
    package enum End: Equatable, Sendable {
        case complete
        /// ``stop(at:)`` was called.
        case stopped
        case failed(String)
    }

    /// Messages of the archive by the result of their publish.
    package struct Tally: Sendable {
        package fileprivate(set) var confirmed = 0
        /// Messages that the broker refused or could not route.
        package private(set) var refused = 0
        /// Messages whose confirm was lost: they may be in the queue.
        package fileprivate(set) var uncertain = 0
        /// The reason for the first refusal.
        package private(set) var complaint: String?

        /// An empty tally.
        package init() {}

        fileprivate mutating func refuse(_ text: String) {
            refused += 1
            complaint = complaint ?? text
        }

        fileprivate var isEmpty: Bool { confirmed + refused + uncertain == 0 }
    }

    /// Publishes that wait for their confirm.
    private static let window = 200
    /// The timeout for a response of the broker.
    private static let timeLimit = Duration.seconds(30)
    private static let lastWait = Duration.seconds(10)

    package private(set) var tally = Tally()
    package private(set) var end: End?

    private let queue: String
    private let count: Int
    private let next: () throws -> ArchivedMessage?
    private let publisher: AMQPConnection
    private var isAtEnd = false
    private var limiter: RateLimiter?
    private var unconfirmed = 0
    private var now: Instant
    private var timeout: ProgressTimeout
    private var closesAt = Instant.distantFuture
    private var isClosing = false

    /// - Parameters:
    ///   - count: the number of messages, for ``progress``.
    ///   - rate: messages per second; `nil` for no limit.
    ///   - next: the next message; `nil` after the last one.
    package init(
        to queue: String, count: Int, rate: Int?, publisher: AMQPConnection, at now: Instant,
        next: @escaping () throws -> ArchivedMessage?
    ) {
        self.queue = queue
        self.count = count
        self.publisher = publisher
        self.now = now
        self.next = next
        timeout = ProgressTimeout(limit: Self.timeLimit, at: now)
        limiter = rate.map { RateLimiter(perSecond: $0, burst: max(1, $0 / 100), at: now) }
        publisher.start(at: now)
    }

    private var mayPublish: Bool { !isAtEnd && publisher.canPublish && unconfirmed < Self.window }

    package var nextDeadline: Instant? {
        let retry = publisher.nextDeadline ?? .distantFuture
        guard end == nil else { return isClosing ? publisher.nextDeadline : min(closesAt, retry) }
        var earliest = min(retry, timeout.deadline)
        if mayPublish, let permit = limiter?.nextPermit(at: now) { earliest = min(earliest, permit) }
        return earliest
    }

    package var progress: (done: Int, of: Int) { (tally.confirmed, count) }

    package func step(at moment: Moment) {
        now = moment.instant
        publisher.expire(at: now)
        takeEvents()
        while end == nil, mayPublish, limiter?.take(at: now) ?? true { publish() }
        if end == nil, isAtEnd, unconfirmed == 0 { finish(.complete) }
        if end == nil, let failure = timeout.failure(at: now) { finish(.failed(failure)) }
        guard end != nil, !isClosing, unconfirmed == 0 || now >= closesAt else { return }
        isClosing = true
        publisher.close(at: now)
    }

    package func stop(at moment: Moment) {
        now = moment.instant
        finish(.stopped)
    }

    package var isFinished: Bool { isClosing && publisher.isClosed }

    private func takeEvents() {
        while let event = publisher.nextEvent(at: now) {
            switch event {
            case .engine(.confirmed(_, let confirmation)): ended(confirmation)
            case .disconnected(_, let error, _):
                timeout.connectionLost(error)
                if !tally.isEmpty || !error.isTransient { finish(.failed(error.description)) }
            default: break
            }
        }
    }

    private func ended(_ confirmation: Confirmation) {
        unconfirmed -= 1
        timeout.restart(at: now)
        switch confirmation {
        case .acked: tally.confirmed += 1
        case .lost: tally.uncertain += 1
        case .nacked: tally.refuse("the broker refused it; the queue may be full")
        case .returned(_, let text): tally.refuse("queue \"\(queue)\" does not receive messages (\(text))")
        }
    }

    private func publish() {
        do {
            guard let message = try next() else {
                isAtEnd = true
                return
            }
            let publication: Publication
            do throws(AMQPError) {
                publication = message.publication(to: queue)
                _ = try publisher.publish(publication)
            } catch {
                return tally.refuse(error.message)
            }
            unconfirmed += 1
            timeout.restart(at: now)
        } catch {
            finish(.failed("\(error)"))
        }
    }

    private func finish(_ end: End) {
        guard self.end == nil else { return }
        self.end = end
        closesAt = now + Self.lastWait
    }
}

import AMQP
package import Core
import DequeModule

/// A destination in use, and how it treats publishes.
final class Destination {
    enum State {
        case open
        /// It confirms nothing for ``Destinations/silence`` while others confirm.
        case slow
        /// It refuses publishes (`x-overflow: reject-publish`), or no queue receives them.
        case refusing
        /// The broker closes the connection over it.
        case harmful
    }

    let route: PublishRoute
    /// Whether it is more than a request's `reply_to`.
    var isConfigured = false
    /// Its publishes that have not ended.
    var publishes = 0
    fileprivate(set) var state = State.open
    /// When ``state`` last changed between open and not open.
    fileprivate(set) var since = Instant.distantPast
    /// The broker's message about it.
    fileprivate(set) var replyText = ""
    var lastConfirm = Instant.distantPast
    /// The ``PublishOutlet/losses`` before that confirm; `nil` without one.
    var confirmedAfter: Int?
    /// Dead letters and copies for retry queues, which cannot go elsewhere; oldest first.
    fileprivate(set) var heldCopies: [PendingPublication] = []
    /// Results, which can go elsewhere; oldest first.
    fileprivate(set) var heldResults = Deque<PendingPublication>()
    /// The only publish that it gets while it is not open.
    var attempt: PendingPublication?
    fileprivate var nextAttempt = Instant.distantPast
    /// The number of failed attempts since it was last open for longer than the longest pause.
    fileprivate(set) var failures = 0

    init(_ route: PublishRoute) {
        self.route = route
    }

    /// What it does to publishes, for operators.
    var problem: String {
        switch state {
        case .open: "accepts publishes"
        case .slow: "does not confirm publishes"
        case .refusing: isMissing ? "receives no publishes (\(replyText))" : "refuses publishes"
        case .harmful: "makes the broker close the connection (\(replyText))"
        }
    }

    /// No queue receives its publishes.
    var isMissing: Bool { state == .refusing && !replyText.isEmpty }

    var nextPublish: PendingPublication? {
        heldCopies.first { !$0.isUnderway } ?? heldResults.first { !$0.isUnderway }
    }

    fileprivate var pause: Duration {
        Destinations.firstPause.doubled(max(failures, 1) - 1, atMost: Destinations.longestPause)
    }
}

/// The destinations in use: to one that is not open, one publish at a time is tried, at growing intervals.
///
/// Its other publishes wait. Results wait for ``timeLimit`` at most, and those of ``limit`` requests; then they go
/// elsewhere. Above the limit, the destination with the most results gives one up, so that one queue does not use the
/// share of the others. Source: rabbitmq.com/docs/maxlength, /docs/quorum-queues (a queue without a majority
/// confirms nothing).
struct Destinations: ~Copyable {
    /// How long a destination may confirm nothing while others confirm. A change of a queue's leader takes less.
    static let silence = Duration.seconds(5)
    /// The maximum number of idle destinations that are remembered.
    static let maximumIdle = 1024

    /// The maximum time for which a result waits.
    static let timeLimit = Duration.seconds(30)
    /// The pauses before a publish is repeated.
    fileprivate static let firstPause = Duration.milliseconds(500)
    fileprivate static let longestPause = Duration.seconds(8)
    /// The pause after the broker closed the connection over a publish.
    static let quarantine = Duration.seconds(60)

    /// The maximum number of requests whose results wait.
    let limit: Int
    /// The number of requests whose results wait.
    private(set) var heldRequests = 0
    /// Those that are not open.
    private(set) var troubled: [Destination] = []
    private(set) var known: [PublishRoute: Destination] = [:]
    /// Usually the next one as well.
    private var last: Destination?
    private var capacity = maximumIdle
    private(set) var isStopped = false

    init(limit: Int) {
        precondition(limit > 0, "the limit must be positive")
        self.limit = limit
    }

    // What waits refers to its destination.
    deinit {
        for destination in troubled {
            destination.heldCopies = []
            destination.heldResults = []
            destination.attempt = nil
        }
    }

    mutating func destination(of publication: borrowing Publication) -> Destination {
        if let last, last.route.routingKey == publication.routingKey, last.route.exchange == publication.exchange {
            return last
        }
        let route = PublishRoute(exchange: publication.exchange, routingKey: publication.routingKey)
        if let destination = known[route] {
            last = destination
            return destination
        }
        if known.count >= capacity { forgetIdle() }
        // A copy, because the bytes of a request's name are part of its message.
        let destination = Destination(
            PublishRoute(
                exchange: ArraySlice(Array(route.exchange)), routingKey: ArraySlice(Array(route.routingKey))))
        known[destination.route] = destination
        last = destination
        return destination
    }

    private mutating func forgetIdle() {
        last = nil
        known = known.filter { $0.value.publishes > 0 || $0.value.state != .open }
        let idle = troubled.filter { $0.publishes == 0 }
        for destination in idle.dropLast(Self.maximumIdle) {
            known[destination.route] = nil
            troubled.removeAll { $0 === destination }
        }
        capacity = max(Self.maximumIdle, 2 * known.count)
    }

    /// A publish failed at its destination, which is not open any more.
    ///
    /// - Returns: whether it was open.
    mutating func failed(
        _ pending: PendingPublication, _ state: Destination.State, _ replyText: String = "", at now: Instant
    ) -> Bool {
        let destination = pending.destination
        let wasOpen = destination.state == .open
        guard wasOpen || destination.attempt === pending || destination.state != state else { return false }
        if destination.attempt === pending { destination.attempt = nil }
        if wasOpen {
            if destination.since + Self.longestPause < now { destination.failures = 0 }
            destination.since = now
            troubled.append(destination)
        }
        destination.state = state
        destination.replyText = replyText
        destination.failures += 1
        destination.nextAttempt = now + (state == .harmful ? Self.quarantine : destination.pause)
        return wasOpen
    }

    /// The connection was lost during an attempt, which shows nothing.
    func attemptLost(_ pending: PendingPublication, at now: Instant) {
        let destination = pending.destination
        guard destination.attempt === pending else { return }
        destination.attempt = nil
        destination.nextAttempt = now + destination.pause
    }

    /// A destination accepts publishes again.
    ///
    /// - Returns: what waits to be published.
    mutating func opened(_ destination: Destination, at now: Instant) -> [PendingPublication] {
        destination.state = .open
        destination.since = now
        destination.attempt = nil
        troubled.removeAll { $0 === destination }
        let all = destination.heldCopies + destination.heldResults
        for pending in all { release(pending) }
        return all.filter { !$0.isUnderway }
    }

    // MARK: Waiting

    mutating func hold(_ pending: PendingPublication, at now: Instant) {
        guard !pending.isHeld else { return }
        pending.isHeld = true
        pending.since = pending.isUnderway ? pending.writtenAt : now
        guard pending.isDispensable else { return pending.destination.heldCopies.append(pending) }
        pending.destination.heldResults.append(pending)
        if pending.request.heldResults == 0 { heldRequests += 1 }
        pending.request.heldResults += 1
    }

    mutating func release(_ pending: PendingPublication) {
        guard pending.isHeld else { return }
        pending.isHeld = false
        let destination = pending.destination
        guard pending.isDispensable else { return destination.heldCopies.removeAll { $0 === pending } }
        if destination.heldResults.last === pending {
            destination.heldResults.removeLast()
        } else if let index = destination.heldResults.firstIndex(where: { $0 === pending }) {
            destination.heldResults.remove(at: index)
        }
        pending.request.heldResults -= 1
        if pending.request.heldResults == 0 { heldRequests -= 1 }
    }

    /// Nothing could be published from `start` to `end`: the time does not count for what waits.
    func skip(from start: Instant, to end: Instant) {
        for pending in troubled.flatMap(\.heldResults) where !pending.isUnderway {
            pending.since = pending.since + (end - max(start, pending.since))
        }
    }

    /// Whether a held result has to go elsewhere.
    func isOverdue(_ pending: PendingPublication, at now: Instant) -> Bool {
        let end = pending.since + Self.timeLimit
        return isStopped || now >= end || pending.destination.state == .harmful && pending.destination.nextAttempt > end
    }

    var excess: PendingPublication? {
        guard heldRequests > limit else { return nil }
        return troubled.max { $0.heldResults.count < $1.heldResults.count }?.heldResults.last
    }

    /// From now on, results do not wait for destinations.
    ///
    /// - Returns: those that wait now.
    mutating func stop() -> [PendingPublication] {
        isStopped = true
        return troubled.flatMap { Array($0.heldResults) }
    }

    func timedOut(at now: Instant) -> [PendingPublication] {
        troubled.flatMap { $0.heldResults.prefix { $0.since + Self.timeLimit <= now } }
    }

    func attempts(at now: Instant) -> [PendingPublication] {
        troubled.compactMap { $0.attempt == nil && $0.nextAttempt <= now ? $0.nextPublish : nil }
    }

    var nextDeadline: Instant {
        troubled.reduce(.distantFuture) { earliest, destination in
            let overdue = destination.heldResults.first.map { $0.since + Self.timeLimit } ?? .distantFuture
            guard destination.attempt == nil, destination.nextPublish != nil else { return min(earliest, overdue) }
            return min(earliest, overdue, destination.nextAttempt)
        }
    }

    var elements: [PendingPublication] {
        troubled.flatMap { $0.heldCopies + $0.heldResults }.filter { !$0.isUnderway }
    }
}

/// A destination of the configuration that is not open.
package struct TroubledDestination: Sendable {
    package let name: String
    package let problem: String
    /// No queue receives its publishes.
    package let isMissing: Bool
    package let since: Instant
}

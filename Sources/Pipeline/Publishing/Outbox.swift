package import Core
package import Logging

/// Publishes results, dead letters and copies for retries. A request is complete when the broker has confirmed them.
package struct Outbox: ~Copyable {
    package var settings: PipelineSettings {
        didSet { destinations.timeLimit = settings.refusedResults }
    }
    /// The counters of the outbox.
    package var counters: PipelineCounters
    package var tally = NotificationTally()
    var destinations: Destinations
    let actions: ActionQueue
    /// One for each ``PublisherRole``.
    var outlets = PublisherRole.allCases.map { _ in PublishOutlet() }
    /// Publishes that the broker does not take, whatever their destination does.
    var isolated = DeadlineQueue<PendingPublication>()
    /// Whether the results beyond a limit are being given up.
    var isRelieving = false
    let log: Logger
    let encoder = ResultEncoder()
    /// Retry queues that accept nothing; each is logged once.
    var missingRetryQueues: Set<String> = []

    /// At most a tenth of the prefetch may wait for destinations that are not open.
    private static let heldRequestsDivisor = 10

    package init(_ settings: PipelineSettings, _ actions: ActionQueue, log: Logger) {
        self.settings = settings
        self.actions = actions
        self.log = log
        counters = PipelineCounters(queues: settings.queues.count)
        destinations = Destinations(
            timeLimit: settings.refusedResults, limit: max(1, settings.prefetch / Self.heldRequestsDivisor))
    }

    /// The destinations of the configuration that are not open although publishes are meant for them.
    package var troubled: [TroubledDestination] {
        destinations.troubled.filter { $0.isConfigured && $0.publishes > 0 }.map {
            TroubledDestination(
                name: $0.route.name, problem: $0.problem, isMissing: $0.isMissing, since: $0.since)
        }
    }

    /// The requests with unconfirmed publishes; may contain duplicates.
    package var requests: [InFlightRequest] {
        (outlets.flatMap(\.elements) + destinations.elements + isolated.elements).map(\.request)
    }

    package var nextDeadline: Instant? {
        var earliest = isolated.earliest
        for outlet in outlets where outlet.unconfirmed.count > 0 { earliest = min(earliest, outlet.nextWatch) }
        if canDivert { earliest = min(earliest, destinations.nextDeadline, nextOverdueReply) }
        return earliest == .distantFuture ? nil : earliest
    }

    package mutating func expire(at now: Moment) {
        while isolated.earliest <= now.instant, let pending = isolated.popFirst() { send(pending, at: now) }
        for role in PublisherRole.allCases { watch(role, at: now) }
        guard canDivert else { return }
        for pending in destinations.overdue(at: now.instant) { giveUp(pending, at: now) }
        for pending in destinations.attempts(at: now.instant) { attempt(pending) }
        giveUpOverdueReplies(at: now)
    }
}

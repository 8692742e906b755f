package import Core
package import Logging

/// Publishes results, dead letters and copies for retries. A request is complete when the broker has confirmed them.
package struct Outbox: ~Copyable {
    package var settings: PipelineSettings {
        didSet { refusedResults.timeLimit = settings.refusedResults }
    }
    /// The counters of the outbox.
    package var counters: PipelineCounters
    package var tally = NotificationTally()
    package internal(set) var refusing = RefusingDestinations()
    var refusedResults: RefusedResults
    let actions: ActionQueue
    /// One for each ``PublisherRole``.
    var outlets = PublisherRole.allCases.map { _ in PublishOutlet() }
    /// Refused publishes that wait to be repeated.
    var waiting = DeadlineQueue<PendingPublication>()
    let log: Logger
    let encoder = ResultEncoder()
    /// Retry queues that accept nothing; each is logged once.
    var missingRetryQueues: Set<String> = []

    /// At most a tenth of the prefetch may wait for refusing reply queues.
    private static let refusedRequestsDivisor = 10

    /// The maximum of due items per turn; the rest follows in the next turn.
    private static let maximumDuePerTurn = 256

    package init(_ settings: PipelineSettings, _ actions: ActionQueue, log: Logger) {
        self.settings = settings
        self.actions = actions
        self.log = log
        counters = PipelineCounters(queues: settings.queues.count)
        refusedResults = RefusedResults(
            timeLimit: settings.refusedResults, limit: max(1, settings.prefetch / Self.refusedRequestsDivisor))
    }

    /// Requests whose results wait for a refusing reply queue.
    package var refused: Int { refusedResults.count }

    /// The requests with unconfirmed publishes; may contain duplicates.
    package var requests: [InFlightRequest] {
        (outlets.flatMap(\.elements) + waiting.elements).map(\.request)
    }

    package var nextDeadline: Instant? {
        let earliest = min(waiting.earliest, nextOverdueReply ?? .distantFuture)
        return earliest == .distantFuture ? nil : earliest
    }

    package mutating func expire(at now: Moment) {
        for _ in 0..<Self.maximumDuePerTurn {
            guard waiting.earliest <= now.instant, let pending = waiting.popFirst() else { break }
            republish(pending, at: now)
        }
        giveUpOverdueReplies(at: now)
    }
}

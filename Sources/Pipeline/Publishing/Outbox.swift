package import Core
package import Logging

/// Results, dead letters and copies for retries, from an outcome to the broker's confirm; then the request is complete.
package struct Outbox: ~Copyable {
    package var settings: PipelineSettings {
        didSet { refusedResults.patience = settings.refusedResults }
    }
    /// As far as the outbox counts.
    package var counters: PipelineCounters
    package var tally = NotificationTally()
    package internal(set) var refusing = RefusingDestinations()
    var refusedResults: RefusedResults
    let actions: ActionQueue
    /// One for each of ``PublishLane``.
    var outlets = PublishLane.allCases.map { _ in PublishOutlet() }
    var proven = ProvenRequesters()
    var requesters = RequesterChecks()
    /// What a queue refused, until it is published again.
    var waiting = DeadlineQueue<PendingPublication>()
    let log: Logger
    let encoder = ResultEncoder()
    var parkingLog = LogLimit(interval: .seconds(60))
    var refusalLog = LogLimit(interval: .seconds(60))
    /// Retry queues that took nothing, each logged once.
    var missingRetryQueues: Set<String> = []

    /// A tenth of all that prefetch allows may wait for reply queues that refuse results.
    private static let refusedRequestsDivisor = 10

    /// The most that one turn does of what is due; the rest is due in the next.
    private static let maximumDuePerTurn = 256

    package init(_ settings: PipelineSettings, _ actions: ActionQueue, log: Logger) {
        self.settings = settings
        self.actions = actions
        self.log = log
        counters = PipelineCounters(queues: settings.queues.count)
        refusedResults = RefusedResults(
            patience: settings.refusedResults, limit: max(1, settings.prefetch / Self.refusedRequestsDivisor))
    }

    /// Publishes that wait, or are tried, alone.
    package var suspects: Int { outlets.reduce(0) { $0 + $1.suspects.count } }

    /// Requests whose results wait for a reply queue that refuses them.
    package var refused: Int { refusedResults.count }

    /// The requests of which something has no confirm, some of them more than once.
    package var requests: [InFlightRequest] {
        (outlets.flatMap(\.elements) + waiting.elements + requesters.elements).map(\.request)
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

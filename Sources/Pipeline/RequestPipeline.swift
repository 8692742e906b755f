package import Core
import DequeModule
package import Logging

/// The requests of one worker, from their deliveries to their settlements.
///
/// A request is decoded and started, its notifications are sent, held, retried or ended, its results are published, and
/// when all of its parts have ended it is settled. Each step calls the next one. What happens outside is returned as a
/// ``PipelineAction``, except a publish, which ``nextPublication(on:at:)`` returns.
///
/// The broker's prefetch limits the unsettled deliveries, and thereby everything that waits in a worker. It is flat
/// because each step uses most of its parts. A query of each turn or message is inlined, or else `mutating`: Swift
/// 6.3.1 copies a large value for a call that does not change it.
package struct RequestPipeline: ~Copyable {
    package var settings: PipelineSettings
    package internal(set) var counters: PipelineCounters
    package internal(set) var timings = Timings()
    package var tally = NotificationTally()
    let log: Logger
    /// `nil` where nothing is traced.
    let tracer: Tracer?
    private var actions = UniqueDeque<PipelineAction>()

    // MARK: Deliveries

    var completed: CompletedRequests
    var orphans = OrphanedRequests()
    /// Requests that a decoder process is decoding.
    var decoding = Slab<InFlightRequest>()
    /// Deferred requests, decoded again at their time.
    var deferred = DeadlineQueue<InFlightRequest>()
    var backlog = StartBacklog()
    var probing = Probing.no

    // MARK: Notifications

    var requestKey = RequestKey()
    var notifications = Slab<InFlightNotification>()
    package var waiting: Waiting
    /// Notifications that wait for a retry in this process. Beyond the maximum they are parked, so that they do not
    /// fill the prefetch.
    var retries = DeadlineQueue<Handle>()
    /// How many of them each queue has.
    var retriesOfQueue: [Int]
    let maximumWaitingRetries: Int
    /// By queue; empty if no queue has a rate limit.
    var paces: [QueuePace?]
    /// When the next notification that waits for a rate limit is due.
    var nextPermit = Instant.distantFuture
    package internal(set) var reachability = Reachability()
    /// Reasons that were already logged.
    var announced: Set<String> = []
    var random: SplitMix64

    // MARK: Publishes

    var encoder = ResultEncoder()
    var destinations: Destinations
    var outlets = PublisherRole.allCases.map { _ in PublishOutlet() }
    /// When to look for publishes without a confirm.
    var nextWatch = Instant.distantFuture
    /// Publishes that the broker does not take, whatever their destination does.
    var isolated = DeadlineQueue<PendingPublication>()
    /// Whether the results beyond a limit are being given up.
    var isRelieving = false
    /// Retry queues that accept nothing; each is logged once.
    var missingRetryQueues: Set<String> = []

    /// A fifth of the prefetch. Each queue may have one in addition, so that a queue with prefetch 1 keeps its order.
    private static let waitingRetriesDivisor = 5
    /// At most a tenth of the prefetch may wait for destinations that are not open.
    private static let heldRequestsDivisor = 10

    /// - Parameter seed: for the jitter of retries
    package init(_ settings: PipelineSettings, apps: AppTable, log: Logger, tracer: Tracer? = nil, seed: UInt64) {
        self.settings = settings
        self.log = log
        self.tracer = tracer
        counters = PipelineCounters(queues: settings.queues.count)
        retriesOfQueue = Array(repeating: 0, count: settings.queues.count)
        completed = CompletedRequests(prefetch: settings.prefetch)
        waiting = Waiting(apps, log: log)
        random = SplitMix64(seed: seed)
        let paces = settings.queues.map { QueuePace($0) }
        self.paces = paces.contains { $0 != nil } ? paces : []
        maximumWaitingRetries = settings.prefetch / Self.waitingRetriesDivisor
        destinations = Destinations(limit: max(1, settings.prefetch / Self.heldRequestsDivisor))
    }

    mutating func append(_ action: consuming PipelineAction) {
        actions.append(consume action)
    }

    /// Call this after every change, until it returns `nil`.
    package mutating func nextAction() -> PipelineAction? {
        actions.popFirst()
    }

    /// Every unsettled request; may contain duplicates.
    package var requests: [InFlightRequest] {
        deferred.elements + decoding.handles.map { decoding[$0] } + backlog.requests
            + notifications.handles.map { notifications[$0].request }
            + (outlets.flatMap(\.elements) + destinations.elements + isolated.elements).map(\.request)
    }

    // MARK: Deadlines

    @inline(__always)
    package var nextDeadline: Instant? {
        // Otherwise a call of another module would copy the whole pipeline.
        mutating get {
            if startsFromBacklog { return .distantPast }
            // Two at a time, because the minimum of more is that of an array.
            var earliest = min(deferred.earliest, retries.earliest)
            earliest = min(earliest, waiting.releases.earliest)
            earliest = min(earliest, reachability.nextCheck)
            earliest = min(earliest, nextPermit)
            earliest = min(earliest, isolated.earliest)
            earliest = min(earliest, nextWatch)
            if canDivert { earliest = min(earliest, min(destinations.nextDeadline, nextOverdueReply)) }
            return earliest == .distantFuture ? nil : earliest
        }
    }

    /// The maximum of due items per turn; the rest follows in the next turn.
    static let maximumDuePerTurn = 256

    package mutating func expire(at now: Moment) {
        guard let due = nextDeadline, due <= now.instant else { return }
        var budget = Self.maximumDuePerTurn
        while budget > 0, deferred.earliest <= now.instant, let request = deferred.popFirst() {
            budget -= 1
            decode(request, at: now)
        }
        expireNotifications(at: now)
        expirePublishes(at: now)
    }

    private mutating func expireNotifications(at now: Moment) {
        var budget = Self.maximumDuePerTurn
        while budget > 0, retries.earliest <= now.instant, let handle = retries.popFirst() {
            budget -= 1
            countRetry(of: notifications[handle].request, by: -1)
            send(handle, at: now)
        }
        while budget > 0, let place = waiting.popDue(at: now.instant) {
            budget -= 1 + release(place, atMost: max(budget - 1, 1), at: now)
        }
        startFromBacklog(at: now)
        if nextPermit <= now.instant { budget = sendPaced(budget, at: now) }
        if reachability.nextCheck <= now.instant { checkWaiting(at: now) }
    }

    private mutating func expirePublishes(at now: Moment) {
        while isolated.earliest <= now.instant, let pending = isolated.popFirst() { enqueue(pending, at: now) }
        if nextWatch <= now.instant {
            nextWatch = .distantFuture
            for role in PublisherRole.allCases { watch(role, at: now) }
        }
        guard canDivert else { return }
        for pending in destinations.timedOut(at: now.instant) { giveUp(pending, at: now) }
        for pending in destinations.attempts(at: now.instant) { attempt(pending) }
        while nextOverdueReply <= now.instant { giveUpReply(at: now) }
    }
}

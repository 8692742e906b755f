package import Core
import DequeModule
package import Logging

/// The circle's middle: keeps a record of every delivery from its arrival to its settlement.
///
/// A delivery becomes a request, each of its notifications gets exactly one outcome, the results of the outcomes are
/// confirmed by the broker, and then, not earlier, the delivery gets its one settlement. The broker's prefetch bounds
/// the number of records, and with it everything that waits here.
package final class Pipeline {
    // What a whole module sees at once is not checked for overlapping access at run time, so nothing here is `package`.
    var settings: PipelineSettings {
        didSet { refusedResults.patience = settings.refusedResults }
    }
    var counters: PipelineCounters
    var timings = Timings()
    var tally = NotificationTally()
    var apps: AppTable

    /// What the worker is asked for and has not done yet, oldest first.
    var actions = Deque<PipelineAction>()
    let log: Logger
    var random: SplitMix64
    let encoder = ResultEncoder()

    var notifications = Slab<InFlightNotification>()
    var completed: CompletedRequests
    var orphans = OrphanedRequests()
    /// What a decoder in another process was asked about.
    var asked = Slab<InFlightRequest>()
    var later = DeadlineQueue<Later>()
    var findingLog = LogLimit(interval: .seconds(60))
    var parkingLog = LogLimit(interval: .seconds(60))
    var refusalLog = LogLimit(interval: .seconds(60))
    /// Retry queues that took nothing, each logged once.
    var missingRetryQueues: Set<String> = []
    /// Notifications that wait for their next try in this process, and how many may: the rest is parked, lest prefetch
    /// be full of them.
    var waitingRetries = 0
    let maximumWaitingRetries: Int
    /// What all queues together may have unsettled here.
    let prefetch: Int
    /// Reasons that were logged, each once.
    var announced: Set<String> = []

    /// One for each of ``PublishLane``.
    var outlets = PublishLane.allCases.map { _ in PublishOutlet() }
    var proven = ProvenRequesters()
    var refusedResults: RefusedResults
    var refusing = RefusingDestinations()

    /// When the waiting are looked at next; never where nothing waits.
    var nextLook = Instant.distantFuture
    var standstill = Standstill()
    /// While nothing is consumed: whether one message of each queue is taken as a probe, and whether the first one
    /// came.
    var isProbing = false
    var hasProbe = false
    /// Whether what is taken out now goes back to its queue instead of a retry queue.
    var isGivingBack = false
    /// When APNs last answered a notification for good, and when each pool last brought any answer.
    var lastAnswer: Instant?
    var poolAnswers: [Instant?] = []
    /// The pools that have a connection which takes requests.
    private var connectedPools: [Bool] = []

    /// What waits for its time.
    enum Later {
        case retry(UInt32)
        case republish(PendingPublication)
        case decode(InFlightRequest)
        /// What a lane holds may go, or a probe of it.
        case release(app: Int, lane: Int)
    }

    /// - Parameter seed: for the jitter of retries
    package init(settings: PipelineSettings, apps: AppTable, log: Logger, seed: UInt64) {
        self.settings = settings
        self.apps = apps
        self.log = log
        random = SplitMix64(seed: seed)
        counters = PipelineCounters(queues: settings.queues.count)
        prefetch = settings.queues.reduce(0) { $0 + Int($1.prefetch) }
        completed = CompletedRequests(prefetch: prefetch)
        refusedResults = RefusedResults(
            patience: settings.refusedResults, limit: max(1, prefetch / Self.refusedRequestsDivisor))
        maximumWaitingRetries = max(settings.queues.count, prefetch / Self.waitingRetriesDivisor)
    }

    /// A fifth of all that prefetch allows, and one of each queue: one that holds one at a time keeps their order by
    /// that.
    private static let waitingRetriesDivisor = 5

    /// A tenth of all that prefetch allows may wait for reply queues that refuse results.
    private static let refusedRequestsDivisor = 10

    /// Publishes that wait, or are tried, alone.
    package var suspects: Int { outlets.reduce(0) { $0 + $1.suspects.count } }

    /// What the worker is to do next. Asked for until it is `nil` after every call that changes anything.
    package func nextAction() -> PipelineAction? {
        actions.popFirst()
    }

    /// Whether nothing is left to do for any delivery.
    package var isIdle: Bool {
        counters.unsettled == 0
    }

    /// Whether all that is left belongs to paused apps, or is put off: waiting longer changes nothing.
    package var holdsOnly: Bool {
        counters.unconfirmed == 0 && asked.count == 0 && notifications.count == paused.reduce(0) { $0 + $1.held }
            && later.elements.allSatisfy {
                switch $0 {
                case .release, .decode: true
                case .retry, .republish: false
                }
            }
    }

    /// A pool has a connection that takes requests, or has none any more.
    package func pool(_ number: Int, isConnected: Bool) {
        while connectedPools.count <= number { connectedPools.append(false) }
        connectedPools[number] = isConnected
    }

    func isConnected(pool: Int) -> Bool {
        connectedPools.indices.contains(pool) && connectedPools[pool]
    }

    package var nextDeadline: Instant? {
        let earliest = min(later.earliest ?? .distantFuture, nextLook, nextOverdueReply ?? .distantFuture)
        return earliest == .distantFuture ? nil : earliest
    }

    /// The most that one turn does of what is due; the rest is due in the next.
    static let maximumDuePerTurn = 256

    package func expire(at now: Moment) {
        var budget = Self.maximumDuePerTurn
        while budget > 0, let entry = later.popDue(at: now.instant) {
            budget -= 1
            switch entry {
            case .retry(let handle):
                waitingRetries -= 1
                send(handle, at: now)
            case .republish(let pending): republish(pending, at: now)
            case .decode(let request): decode(request, at: now)
            case .release(let app, let lane): budget -= release(app, lane, atMost: max(budget, 1), at: now)
            }
        }
        if nextLook <= now.instant { lookAtTheWaiting(at: now) }
        giveUpOverdueReplies(at: now)
    }
}

package import Core
package import Logging

/// The notifications in flight, from their decoding to their outcome: which are sent, wait for their app, are tried
/// again, or end.
package struct Dispatch {
    package var settings: PipelineSettings
    /// As far as the dispatch counts.
    package internal(set) var counters: PipelineCounters
    /// As far as the dispatch measures.
    package internal(set) var timings = Timings()
    package internal(set) var apps: AppTable
    let actions: ActionQueue
    let log: Logger
    var random: SplitMix64

    var notifications = Slab<InFlightNotification>()
    var later = DeadlineQueue<Later>()
    var findingLog = LogLimit(interval: .seconds(60))
    /// Notifications that wait for their next try in this process, and how many may: the rest is parked, lest prefetch
    /// be full of them.
    var waitingRetries = 0
    let maximumWaitingRetries: Int
    /// Reasons that were logged, each once.
    var announced: Set<String> = []

    /// When the waiting are looked at next; never where nothing waits.
    var nextLook = Instant.distantFuture
    var standstill = Standstill()
    /// When APNs last answered a notification for good, and when each pool last brought any answer.
    var lastAnswer: Instant?
    var poolAnswers: [Instant?] = []
    /// The pools that have a connection which takes requests.
    private var connectedPools: [Bool] = []

    /// What waits for its time.
    enum Later {
        case retry(UInt32)
        /// What a lane holds may go, or a probe of it.
        case release(app: Int, lane: Int)
    }

    /// - Parameter seed: for the jitter of retries
    package init(_ settings: PipelineSettings, apps: AppTable, _ actions: ActionQueue, log: Logger, seed: UInt64) {
        self.settings = settings
        self.actions = actions
        self.apps = apps
        self.log = log
        random = SplitMix64(seed: seed)
        counters = PipelineCounters(queues: settings.queues.count)
        maximumWaitingRetries = max(settings.queues.count, settings.prefetch / Self.waitingRetriesDivisor)
    }

    /// A fifth of all that prefetch allows, and one of each queue: one that holds one at a time keeps their order by
    /// that.
    private static let waitingRetriesDivisor = 5

    /// Whether all that is left belongs to paused apps: waiting longer changes nothing.
    package var holdsOnly: Bool {
        waitingRetries == 0 && notifications.count == paused.reduce(0) { $0 + $1.held }
    }

    /// The requests of the notifications in flight.
    package var requests: [InFlightRequest] {
        notifications.handles.map { notifications[$0].request }
    }

    /// A pool has a connection that takes requests, or has none any more.
    package mutating func pool(_ number: Int, isConnected: Bool) {
        while connectedPools.count <= number { connectedPools.append(false) }
        connectedPools[number] = isConnected
    }

    func isConnected(pool: Int) -> Bool {
        connectedPools.indices.contains(pool) && connectedPools[pool]
    }

    package var nextDeadline: Instant? {
        let earliest = min(later.earliest ?? .distantFuture, nextLook)
        return earliest == .distantFuture ? nil : earliest
    }

    /// The most that one turn does of what is due; the rest is due in the next.
    static let maximumDuePerTurn = 256

    /// - Parameter hasRoom: whether more may be consumed on top of what is held.
    package mutating func expire(hasRoom: Bool, at now: Moment) {
        var budget = Self.maximumDuePerTurn
        while budget > 0, let entry = later.popDue(at: now.instant) {
            budget -= 1
            switch entry {
            case .retry(let handle):
                waitingRetries -= 1
                send(handle, at: now)
            case .release(let app, let lane): budget -= release(app, lane, atMost: max(budget, 1), at: now)
            }
        }
        if nextLook <= now.instant { lookAtTheWaiting(hasRoom: hasRoom, at: now) }
    }
}

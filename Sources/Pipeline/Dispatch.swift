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
    package internal(set) var gates: Gates
    let actions: ActionQueue
    let log: Logger
    var random: SplitMix64

    var notifications = Slab<InFlightNotification>()
    /// Notifications that wait for their next try in this process; no more than so many: the rest is parked, lest
    /// prefetch be full of them.
    var retries = DeadlineQueue<Handle>()
    let maximumWaitingRetries: Int
    /// By queue; empty where no queue has a pace.
    var paces: [QueuePace?]
    /// When the first of those goes that wait for the pace of their queue.
    var nextTurn = Instant.distantFuture
    /// What is known of whether APNs can be reached.
    var outlook = Outlook()
    var findingLog = LogLimit(interval: .seconds(60))
    /// Reasons that were logged, each once.
    var announced: Set<String> = []

    /// - Parameter seed: for the jitter of retries
    package init(_ settings: PipelineSettings, apps: AppTable, _ actions: ActionQueue, log: Logger, seed: UInt64) {
        self.settings = settings
        self.actions = actions
        gates = Gates(apps, log: log)
        self.log = log
        random = SplitMix64(seed: seed)
        let paces = settings.queues.map { QueuePace($0) }
        self.paces = paces.contains { $0 != nil } ? paces : []
        counters = PipelineCounters(queues: settings.queues.count)
        maximumWaitingRetries = max(settings.queues.count, settings.prefetch / Self.waitingRetriesDivisor)
    }

    /// A fifth of all that prefetch allows, and one of each queue: one that holds one at a time keeps their order by
    /// that.
    private static let waitingRetriesDivisor = 5

    /// Whether all that is left belongs to paused apps: waiting longer changes nothing.
    package var holdsOnly: Bool {
        retries.count == 0 && notifications.count == gates.paused.reduce(0) { $0 + $1.held }
    }

    /// The requests of the notifications in flight.
    package var requests: [InFlightRequest] {
        notifications.handles.map { notifications[$0].request }
    }

    /// A pool has a connection that takes requests, or has none any more.
    package mutating func pool(_ number: PoolID, isConnected: Bool) {
        outlook.pool(number, isConnected: isConnected)
    }

    /// Mutating, as ``isSuspended`` is: a worker asks both in every turn, and would copy the whole value to read it.
    package var nextDeadline: Instant? {
        mutating get {
            let earliest = min(retries.earliest, gates.nextDeadline, outlook.nextLook, nextTurn)
            return earliest == .distantFuture ? nil : earliest
        }
    }

    /// The most that one turn does of what is due; the rest is due in the next.
    static let maximumDuePerTurn = 256

    /// - Parameter hasRoom: whether more may be consumed on top of what is held.
    package mutating func expire(hasRoom: Bool, at now: Moment) {
        var budget = Self.maximumDuePerTurn
        while budget > 0, retries.earliest <= now.instant, let handle = retries.popFirst() {
            budget -= 1
            send(handle, at: now)
        }
        while budget > 0, let place = gates.popDue(at: now.instant) {
            budget -= 1 + release(place, atMost: max(budget - 1, 1), at: now)
        }
        if nextTurn <= now.instant { budget = takeTurns(budget, at: now) }
        if outlook.nextLook <= now.instant { lookAtTheWaiting(hasRoom: hasRoom, at: now) }
    }
}

/// What a dispatch knows of whether APNs can be reached.
struct Outlook {
    /// When the waiting are looked at next; never where nothing waits.
    var nextLook = Instant.distantFuture
    var standstill = Standstill()
    /// When APNs last answered a notification for good.
    var lastAnswer: Instant?
    /// When each pool last brought any answer.
    private var poolAnswers: [Instant?] = []
    /// The pools that have a connection which takes requests.
    private var connectedPools: [Bool] = []

    mutating func answered(_ pool: PoolID, at now: Instant) {
        while poolAnswers.count <= pool.index { poolAnswers.append(nil) }
        poolAnswers[pool.index] = now
    }

    func lastAnswer(of pool: PoolID) -> Instant? {
        poolAnswers.indices.contains(pool.index) ? poolAnswers[pool.index] : nil
    }

    mutating func pool(_ number: PoolID, isConnected: Bool) {
        while connectedPools.count <= number.index { connectedPools.append(false) }
        connectedPools[number.index] = isConnected
    }

    func isConnected(pool: PoolID) -> Bool {
        connectedPools.indices.contains(pool.index) && connectedPools[pool.index]
    }
}

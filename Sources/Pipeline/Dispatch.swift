package import Core
package import Logging

/// The notifications in flight, from decoding to outcome. Sends, holds, retries or ends each of them.
package struct Dispatch {
    package var settings: PipelineSettings
    /// The counters of the dispatch.
    package internal(set) var counters: PipelineCounters
    /// The durations that the dispatch measures.
    package internal(set) var timings = Timings()
    package internal(set) var waiting: Waiting
    let actions: ActionQueue
    let log: Logger
    var random: SplitMix64

    var notifications = Slab<InFlightNotification>()
    /// Notifications that wait for a retry in this process. Beyond the maximum they are parked, so that they do not
    /// fill the prefetch.
    var retries = DeadlineQueue<Handle>()
    let maximumWaitingRetries: Int
    /// By queue; empty if no queue has a rate limit.
    var paces: [QueuePace?]
    /// When the next notification that waits for a rate limit is due.
    var nextTurn = Instant.distantFuture
    /// Whether APNs can be reached, as far as known.
    var reachability = Reachability()
    /// Decoded requests that wait until fewer notifications are in the worker.
    var backlog = StartBacklog()
    /// Reasons that were already logged.
    var announced: Set<String> = []

    /// - Parameter seed: for the jitter of retries
    package init(_ settings: PipelineSettings, apps: AppTable, _ actions: ActionQueue, log: Logger, seed: UInt64) {
        self.settings = settings
        self.actions = actions
        waiting = Waiting(apps, log: log)
        self.log = log
        random = SplitMix64(seed: seed)
        let paces = settings.queues.map { QueuePace($0) }
        self.paces = paces.contains { $0 != nil } ? paces : []
        counters = PipelineCounters(queues: settings.queues.count)
        maximumWaitingRetries = max(settings.queues.count, settings.prefetch / Self.waitingRetriesDivisor)
    }

    /// A fifth of the prefetch, but at least one per queue, so that a queue with prefetch 1 keeps its order.
    private static let waitingRetriesDivisor = 5

    /// The requests of the notifications in flight.
    package var requests: [InFlightRequest] {
        notifications.handles.map { notifications[$0].request } + backlog.requests
    }

    package var nextDeadline: Instant? {
        if startsFromBacklog { return .distantPast }
        let earliest = min(retries.earliest, waiting.nextDeadline, reachability.nextCheck, nextTurn)
        return earliest == .distantFuture ? nil : earliest
    }

    /// The maximum of due items per turn; the rest follows in the next turn.
    static let maximumDuePerTurn = 256

    /// - Parameter hasRoom: whether more may be consumed in addition to what is held.
    package mutating func expire(hasRoom: Bool, at now: Moment) {
        var budget = Self.maximumDuePerTurn
        while budget > 0, retries.earliest <= now.instant, let handle = retries.popFirst() {
            budget -= 1
            notifications[handle].place = .none
            send(handle, at: now)
        }
        while budget > 0, let place = waiting.popDue(at: now.instant) {
            budget -= 1 + release(place, atMost: max(budget - 1, 1), at: now)
        }
        startFromBacklog(at: now)
        if nextTurn <= now.instant { budget = takeTurns(budget, at: now) }
        reachability.hasRoom = hasRoom
        if reachability.nextCheck <= now.instant { checkWaiting(at: now) }
    }
}

/// What a dispatch knows about the reachability of APNs.
struct Reachability {
    /// When waiting notifications are checked next; never if none wait.
    var nextCheck = Instant.distantFuture
    var standstill = Standstill()
    var throttledDevices = ThrottledDevices()
    /// When APNs last gave a final response.
    var lastResponse: Instant?
    /// Whether more may be consumed in addition to what is held.
    var hasRoom = true
    /// When each pool last received any response.
    private var poolResponses: [Instant?] = []
    /// Since when each pool cannot send, although it should; `nil` if it can.
    private var unusableSince: [Instant?] = []

    mutating func responded(_ pool: PoolID, at now: Instant) {
        while poolResponses.count <= pool.index { poolResponses.append(nil) }
        poolResponses[pool.index] = now
    }

    func lastResponse(of pool: PoolID) -> Instant? {
        poolResponses.indices.contains(pool.index) ? poolResponses[pool.index] : nil
    }

    mutating func pool(_ number: PoolID, isUsable: Bool, at now: Instant) {
        while unusableSince.count <= number.index { unusableSince.append(nil) }
        if isUsable {
            unusableSince[number.index] = nil
        } else if unusableSince[number.index] == nil {
            unusableSince[number.index] = now
        }
    }

    /// How long a pool may be without a connection before it counts as unusable. A reconnect takes less.
    static let patience = Duration.seconds(5)

    func isUsable(_ pool: PoolID, at now: Instant) -> Bool {
        guard unusableSince.indices.contains(pool.index) else { return false }
        return unusableSince[pool.index].map { now - $0 < Self.patience } ?? true
    }

    /// The pools that cannot send.
    func unusable(at now: Instant) -> Set<PoolID> {
        Set(unusableSince.indices.map(PoolID.init).filter { !isUsable($0, at: now) })
    }
}

import APNs
import Configuration
package import Core

/// The rate limit of one queue: a token bucket, and the notifications that wait for a permit.
struct QueuePace {
    private var limiter: RateLimiter
    var line = RequestLine()

    init?(_ queue: PipelineQueue) {
        guard let limit = queue.rateLimit else { return nil }
        limiter = RateLimiter(perSecond: limit.perSecond, burst: limit.burst, at: Instant(nanoseconds: 0))
    }

    /// How many notifications could be sent now.
    mutating func permits(at now: Instant) -> Int {
        limiter.available(at: now)
    }

    /// When the first in line goes; `nil` where none waits.
    mutating func nextTurn(at now: Instant) -> Instant? {
        line.isEmpty ? nil : limiter.nextPermit(at: now)
    }

    /// - Returns: whether there was a permit.
    mutating func take(at now: Instant) -> Bool {
        limiter.take(at: now)
    }
}

/// Notifications that wait because their queue has a pace. They have been through their app's gate once, and go through
/// it again when their turn comes; only what is sent takes a permit.
extension Dispatch {
    /// Whether a notification goes now; if not, it waits in the line of its queue.
    ///
    /// - Parameter hasTurn: whether it was the first in line.
    mutating func takesPermit(_ handle: Handle, _ entry: InFlightNotification, hasTurn: Bool, at now: Moment) -> Bool {
        let index = entry.request.delivery.queue.index
        guard paces[index] != nil else { return true }
        if hasTurn || paces[index]?.line.isEmpty == true, paces[index]?.take(at: now.instant) == true { return true }
        paces[index]?.line.append(handle, rank: entry.request.delivery.priority)
        waits(entry, at: now)
        nextTurn = min(nextTurn, paces[index]?.nextTurn(at: now.instant) ?? .distantFuture)
        return false
    }

    /// Sends the notifications that have a permit now.
    ///
    /// - Returns: how much of `budget` is left.
    mutating func takeTurns(_ budget: Int, at now: Moment) -> Int {
        var budget = budget
        nextTurn = .distantFuture
        for index in paces.indices {
            while budget > 0, let turn = paces[index]?.nextTurn(at: now.instant), turn <= now.instant,
                let handle = paces[index]?.line.popFirst()
            {
                budget -= 1
                gates.withdrawn(handle, notifications[handle])
                send(handle, hasTurn: true, at: now)
            }
            nextTurn = min(nextTurn, paces[index]?.nextTurn(at: now.instant) ?? .distantFuture)
        }
        return budget
    }

    /// What the pace of a queue permits to be sent now, and what waits for that; `nil` where it has none.
    package func pace(ofQueue index: Int, at now: Instant) -> (permits: Int, waiting: Int)? {
        guard !paces.isEmpty, var pace = paces[index] else { return nil }
        return (pace.permits(at: now), pace.line.count)
    }

    /// Whether a notification waits for its queue's pace.
    func waitsForPace(_ handle: Handle, _ entry: InFlightNotification) -> Bool {
        !paces.isEmpty && paces[entry.request.delivery.queue.index]?.line.contains(handle) == true
    }

    /// Takes a notification out that may wait for its queue's pace.
    ///
    /// - Returns: whether it did.
    mutating func leavesLine(_ handle: Handle, _ entry: InFlightNotification) -> Bool {
        guard waitsForPace(handle, entry) else { return false }
        paces[entry.request.delivery.queue.index]?.line.remove(handle)
        gates.withdrawn(handle, entry)
        return true
    }

    /// Withdraws the notifications that wait for a pace: they go back to their queue, or are parked where another
    /// notification of their request has ended.
    package mutating func giveBackPaced(at now: Moment) {
        guard nextTurn != .distantFuture else { return }
        leave(.giveBack, notifications.handles.filter { waitsForPace($0, notifications[$0]) }, at: now)
        nextTurn = .distantFuture
    }
}

import APNs
import Configuration
package import Core

/// The rate limit of one queue: a token bucket, and the notifications that wait for a permit.
struct QueuePace {
    var limiter: RateLimiter
    var backlog = RequestQueue()

    init?(_ queue: PipelineQueue) {
        guard let limit = queue.rateLimit else { return nil }
        limiter = RateLimiter(perSecond: limit.perSecond, burst: limit.burst, at: Instant(nanoseconds: 0))
    }

    /// When the next permit for the head of the queue is due; `nil` if none waits.
    mutating func nextPermit(at now: Instant) -> Instant? {
        backlog.isEmpty ? nil : limiter.nextPermit(at: now)
    }
}

/// Notifications that wait for the rate limit of their queue. They passed their app's gate once, and pass it again when
/// their permit is due. Only notifications that are sent take a permit.
extension RequestPipeline {
    /// Whether a notification may be sent now. If not, it waits for the rate limit of its queue.
    ///
    /// - Parameter isDue: whether it was the head of the queue.
    mutating func takesPermit(_ handle: Handle, _ entry: InFlightNotification, isDue: Bool, at now: Moment) -> Bool {
        let index = entry.request.delivery.queue.index
        guard paces[index] != nil else { return true }
        let isNext = isDue || paces[index]?.backlog.isEmpty == true
        if isNext, paces[index]?.limiter.take(at: now.instant) == true { return true }
        paces[index]?.backlog.append(handle, rank: entry.request.delivery.priority)
        entry.place = .pace
        startWaiting(entry, at: now)
        planPermit(ofQueue: index, at: now.instant)
        return false
    }

    /// Sends the waiting notifications for which permits are available.
    ///
    /// - Returns: the rest of `budget`.
    mutating func sendPaced(_ budget: Int, at now: Moment) -> Int {
        var budget = budget
        nextPermit = .distantFuture
        for index in paces.indices {
            while budget > 0, let permit = paces[index]?.nextPermit(at: now.instant), permit <= now.instant,
                let handle = paces[index]?.backlog.popFirst()
            {
                budget -= 1
                notifications[handle].place = .none
                waiting.releaseProbes(handle, notifications[handle])
                send(handle, isDue: true, at: now)
            }
            planPermit(ofQueue: index, at: now.instant)
        }
        return budget
    }

    private mutating func planPermit(ofQueue index: Int, at now: Instant) {
        guard let permit = paces[index]?.nextPermit(at: now) else { return }
        nextPermit = min(nextPermit, permit)
    }

    /// The notifications that wait for a queue's rate limit; `nil` without a limit.
    package func paceWaiting(ofQueue index: Int) -> Int? {
        paces.isEmpty ? nil : paces[index]?.backlog.count
    }

    /// Removes all notifications that wait for a rate limit. Requests return to their queue, or are parked if another
    /// of their notifications has ended.
    package mutating func requeuePaced(at now: Moment) {
        guard nextPermit != .distantFuture else { return }
        stopWaiting(.requeue, notifications.handles.filter { notifications[$0].place == .pace }, at: now)
        nextPermit = .distantFuture
    }
}

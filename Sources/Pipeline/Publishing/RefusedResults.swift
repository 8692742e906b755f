import AMQP
package import Core

/// Results that their reply queue refuses (`x-overflow: reject-publish`), by reply queue.
///
/// Each is published again until the queue accepts it or ``timeLimit`` has passed. At most ``limit`` requests wait.
/// Above it, the reply queue with the most requests gives one up, so one full reply queue does not affect the others.
/// Source: rabbitmq.com/docs/maxlength (overflow behaviour).
struct RefusedResults {
    /// The maximum time for which a result may be refused.
    var timeLimit: Duration
    /// The maximum number of requests that wait for reply queues.
    let limit: Int
    /// The number of requests that wait for reply queues.
    private(set) var count = 0
    /// By reply queue, the oldest first.
    private var held: [ArraySlice<UInt8>: [Held]] = [:]
    private(set) var isStopped = false

    /// A request with its refused results.
    private struct Held {
        let request: InFlightRequest
        var results: [PendingPublication]
    }

    init(timeLimit: Duration, limit: Int) {
        precondition(limit > 0, "the limit must be positive")
        self.timeLimit = timeLimit
        self.limit = limit
    }

    /// A reply queue refused a result.
    ///
    /// - Returns: The results to divert now, possibly including this one. The others are published again.
    mutating func refused(_ pending: PendingPublication, at now: Instant) -> [PendingPublication] {
        let queue = pending.publication.routingKey
        if pending.refusedSince == nil {
            pending.refusedSince = now
            if let place = place(of: pending) {
                held[queue]?[place].results.append(pending)
            } else {
                held[queue, default: []].append(Held(request: pending.request, results: [pending]))
                count += 1
            }
        }
        pending.isWaiting = true
        if isOverdue(pending, at: now) { return [pending] }
        guard count > limit, let largest = held.max(by: { $0.value.count < $1.value.count }) else { return [] }
        guard largest.value.count > held[queue]?.count ?? 0, let victim = largest.value.last else { return [pending] }
        let waiting = victim.results.filter(\.isWaiting)
        return waiting.isEmpty ? [pending] : waiting
    }

    private func place(of pending: PendingPublication) -> Int? {
        held[pending.publication.routingKey]?.firstIndex { $0.request === pending.request }
    }

    /// Whether a result must not be published again.
    func isOverdue(_ pending: PendingPublication, at now: Instant) -> Bool {
        guard let since = pending.refusedSince else { return false }
        return isStopped || now - since >= timeLimit
    }

    /// When a result refused at `now` is due again after `pause`, or diverted.
    func nextRetry(of pending: PendingPublication, after pause: Duration, at now: Instant) -> Instant {
        guard let since = pending.refusedSince else { return now + pause }
        return min(now + pause, since + timeLimit)
    }

    /// A result is no longer refused: its queue accepted it, or it was diverted.
    mutating func ended(_ pending: PendingPublication) {
        guard pending.refusedSince != nil else { return }
        let queue = pending.publication.routingKey
        guard let place = place(of: pending) else { preconditionFailure("a refused result must be held") }
        pending.refusedSince = nil
        pending.isWaiting = false
        held[queue]?[place].results.removeAll { $0 === pending }
        guard held[queue]?[place].results.isEmpty == true else { return }
        held[queue]?.remove(at: place)
        if held[queue]?.isEmpty == true { held[queue] = nil }
        count -= 1
    }

    /// From now on, refused results are not published again.
    ///
    /// - Returns: The results that wait for a retry.
    mutating func stop() -> [PendingPublication] {
        isStopped = true
        return held.values.flatMap { $0 }.flatMap { $0.results.filter(\.isWaiting) }
    }
}

/// Configured queues that currently refuse publishes, and since when. Their publishes have only one destination.
package struct RefusingDestinations: Sendable {
    package struct Destination: Hashable, Sendable {
        let exchange: ArraySlice<UInt8>
        let routingKey: ArraySlice<UInt8>

        /// The queue's name on the default exchange, else exchange and routing key.
        package var name: String {
            let key = String(decoding: routingKey, as: UTF8.self)
            return exchange.isEmpty ? key : "\(String(decoding: exchange, as: UTF8.self))/\(key)"
        }
    }

    package private(set) var since: [Destination: Instant] = [:]

    package var isEmpty: Bool { since.isEmpty }

    /// - Returns: whether it accepted publishes before.
    mutating func refused(_ publication: borrowing Publication, at now: Instant) -> Bool {
        let destination = Destination(exchange: publication.exchange, routingKey: publication.routingKey)
        guard since[destination] == nil else { return false }
        since[destination] = now
        return true
    }

    /// - Returns: whether it refused publishes before.
    mutating func accepted(_ publication: borrowing Publication) -> Bool {
        guard !since.isEmpty else { return false }
        let destination = Destination(exchange: publication.exchange, routingKey: publication.routingKey)
        return since.removeValue(forKey: destination) != nil
    }
}

package import Core

/// Decides whether a pool has more connections than it needs.
///
/// It does if, for a whole period, no request waited for a connection and one connection fewer would have had room for
/// twice the load.
package struct PoolShrinkPolicy: Sendable {
    package let period: Duration
    private var since: Instant
    private var sentCount = 0

    package init(period: Duration, at now: Instant) {
        precondition(period > .zero, "the observation period must be positive")
        self.period = period
        since = now
    }

    /// When ``check(_:inFlight:streams:permits:at:)`` is due.
    package var deadline: Instant {
        since + period
    }

    package mutating func sent() {
        sentCount += 1
    }

    /// Starts a new period, because requests wait or the connections have changed.
    package mutating func restart(at now: Instant) {
        since = now
        sentCount = 0
    }

    /// - Parameters:
    ///   - connections: the ready ones, and how many are kept in any case.
    ///   - inFlight: the requests on them.
    ///   - streams: the sum of their stream limits.
    ///   - permits: of one connection, per second.
    /// - Returns: Whether one connection can be retired. A new period begins after each complete one.
    package mutating func check(
        _ connections: (ready: Int, minimum: Int), inFlight: Int, streams: Int, permits: Int, at now: Instant
    ) -> Bool {
        guard now >= deadline else { return false }
        let seconds = Double((now - since).nanoseconds) / 1e9
        let rate = Double(sentCount) / seconds
        restart(at: now)
        guard connections.ready > max(connections.minimum, 1) else { return false }
        let others = connections.ready - 1
        return inFlight * 2 <= streams / connections.ready * others && rate * 2 <= Double(permits * others)
    }
}

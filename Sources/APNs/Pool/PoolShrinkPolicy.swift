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
        self.period = period
        since = now
    }

    /// When ``isSurplus(ready:inFlight:streams:permits:at:)`` is due.
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
    ///   - ready: the number of connections.
    ///   - inFlight: the requests on them.
    ///   - streams: the sum of their stream limits.
    ///   - permits: of one connection, per second.
    /// - Returns: Whether one connection can be retired. A new period begins.
    package mutating func isSurplus(ready: Int, inFlight: Int, streams: Int, permits: Int, at now: Instant) -> Bool {
        let seconds = Double((now - since).nanoseconds) / 1e9
        let rate = Double(sentCount) / seconds
        restart(at: now)
        guard ready > 1 else { return false }
        let others = ready - 1
        return inFlight * 2 <= streams / ready * others && rate * 2 <= Double(permits * others)
    }
}

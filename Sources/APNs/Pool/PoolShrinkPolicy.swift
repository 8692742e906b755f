package import Core

/// Decides whether a pool has more connections than it needs.
///
/// It does if, for a whole period, no request waited for a connection and one connection fewer would have had room for
/// twice the load.
package struct PoolShrinkPolicy: Sendable {
    /// The load and capacity of the ready connections.
    package struct Load: Sendable {
        package var connections: Int
        package var minimum: Int
        package var inFlight: Int
        /// The sum over all connections.
        package var maximumStreams: Int
        /// Per connection.
        package var permitsPerSecond: Int

        package init(
            connections: Int, minimum: Int, inFlight: Int, maximumStreams: Int, permitsPerSecond: Int
        ) {
            self.connections = connections
            self.minimum = minimum
            self.inFlight = inFlight
            self.maximumStreams = maximumStreams
            self.permitsPerSecond = permitsPerSecond
        }
    }

    package let period: Duration
    private var since: Instant
    private var sentCount = 0

    package init(period: Duration, at now: Instant) {
        precondition(period > .zero, "the observation period must be positive")
        self.period = period
        since = now
    }

    /// When ``check(_:at:)`` is due.
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

    /// - Returns: Whether one connection can be retired. A new period begins after each complete one.
    package mutating func check(_ load: Load, at now: Instant) -> Bool {
        guard now >= deadline else { return false }
        let seconds = Double((now - since).nanoseconds) / 1e9
        let rate = Double(sentCount) / seconds
        restart(at: now)
        guard load.connections > load.minimum, load.connections > 1 else { return false }
        let others = load.connections - 1
        let streams = load.maximumStreams / load.connections * others
        return load.inFlight * 2 <= streams && rate * 2 <= Double(load.permitsPerSecond * others)
    }
}

package import Core

/// Whether a pool has more connections than it needs.
///
/// It has if for a whole period nothing waited for a connection and the others, with one fewer, would have had room for
/// twice as much as there was.
package struct SurplusWatch: Sendable {
    /// What the ready connections carry now, and what they may.
    package struct Load: Sendable {
        package var connections: Int
        package var minimum: Int
        package var inFlight: Int
        /// Over all of the connections.
        package var maximumStreams: Int
        /// Of each connection.
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
        precondition(period > .zero, "need is watched for a while")
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

    /// Something waits, or the connections have just changed: a new period begins.
    package mutating func restart(at now: Instant) {
        since = now
        sentCount = 0
    }

    /// - Returns: Whether one connection can go; then a new period begins, as at the end of every other one.
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

import Core

/// The deadlines of opening and closing, and the heartbeats.
///
/// Source: rabbitmq.com/docs/heartbeats.
struct ConnectionTimers {
    /// The deadline of the handshake or of an orderly close; `nil` while neither is in progress.
    var deadline: Instant?
    /// Between heartbeats, and until the broker counts as silent; `nil` for no heartbeats.
    private var intervals: (heartbeat: Duration, silence: Duration)?
    private var nextHeartbeat = Instant.distantFuture
    private var silenceEnds = Instant.distantFuture

    /// The earliest of these deadlines; `distantFuture` for none.
    var earliest: Instant {
        min(deadline ?? .distantFuture, min(nextHeartbeat, silenceEnds))
    }

    /// - Parameter interval: the negotiated interval. Heartbeats are sent twice as often.
    mutating func startHeartbeats(_ interval: Duration, at now: Instant) {
        intervals = (interval / 2, interval * 2)
        nextHeartbeat = now + interval / 2
        silenceEnds = now + interval * 2
    }

    mutating func received(at now: Instant) {
        if let intervals { silenceEnds = now + intervals.silence }
    }

    func isOverdue(at now: Instant) -> Bool {
        deadline.map { now >= $0 } ?? false
    }

    func isSilent(at now: Instant) -> Bool {
        now >= silenceEnds
    }

    /// - Returns: Whether to write a heartbeat now. The next one is due half an interval later.
    mutating func takeHeartbeat(at now: Instant) -> Bool {
        guard let intervals, now >= nextHeartbeat else { return false }
        nextHeartbeat = now + intervals.heartbeat
        return true
    }
}

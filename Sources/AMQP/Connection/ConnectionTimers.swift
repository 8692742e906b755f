import Core

/// The deadlines of opening and closing, and the heartbeats.
///
/// Source: rabbitmq.com/docs/heartbeats.
struct ConnectionTimers {
    /// The deadline of the handshake or of an orderly close; `nil` while neither is in progress.
    var deadline: Instant?
    /// The negotiated interval; `nil` for no heartbeats.
    private var heartbeat: Duration?
    private var nextHeartbeat: Instant?
    private var silenceEnds: Instant?

    /// The earliest of these deadlines; `distantFuture` for none.
    var earliest: Instant {
        var earliest = Instant.distantFuture
        for deadline in [deadline, nextHeartbeat, silenceEnds] {
            if let deadline { earliest = min(earliest, deadline) }
        }
        return earliest
    }

    /// - Parameter interval: the negotiated interval. Heartbeats are sent twice as often.
    mutating func startHeartbeats(_ interval: Duration, at now: Instant) {
        heartbeat = interval
        nextHeartbeat = now + interval / 2
        silenceEnds = now + interval * 2
    }

    /// Records that bytes were received.
    mutating func received(at now: Instant) {
        if let heartbeat { silenceEnds = now + heartbeat * 2 }
    }

    /// Whether the handshake, or an orderly close, has taken too long.
    func isOverdue(at now: Instant) -> Bool {
        deadline.map { now >= $0 } ?? false
    }

    /// Whether the broker was silent for two intervals.
    func isSilent(at now: Instant) -> Bool {
        silenceEnds.map { now >= $0 } ?? false
    }

    /// - Returns: Whether to write a heartbeat now. The next one is due half an interval later.
    mutating func takeHeartbeat(at now: Instant) -> Bool {
        guard let heartbeat, let due = nextHeartbeat, now >= due else { return false }
        nextHeartbeat = now + heartbeat / 2
        return true
    }
}

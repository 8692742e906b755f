import Core

/// When a connection has to have opened or closed, and its heartbeats.
///
/// Source: rabbitmq.com/docs/heartbeats.
struct ConnectionTimers {
    /// When the handshake, or an orderly close, must be over; `nil` while neither is under way.
    var patience: Instant?
    /// What both ends agreed upon; `nil` for no heartbeats.
    private var heartbeat: Duration?
    private var nextHeartbeat: Instant?
    private var silenceEnds: Instant?

    /// When the first of these is due; `distantFuture` for never.
    var earliest: Instant {
        var earliest = Instant.distantFuture
        for deadline in [patience, nextHeartbeat, silenceEnds] {
            if let deadline { earliest = min(earliest, deadline) }
        }
        return earliest
    }

    /// - Parameter interval: between two heartbeats, as agreed. One is sent twice as often.
    mutating func startHeartbeats(_ interval: Duration, at now: Instant) {
        heartbeat = interval
        nextHeartbeat = now + interval / 2
        silenceEnds = now + interval * 2
    }

    /// Bytes came from the broker.
    mutating func received(at now: Instant) {
        if let heartbeat { silenceEnds = now + heartbeat * 2 }
    }

    /// Whether the handshake, or an orderly close, has taken too long.
    func isOverdue(at now: Instant) -> Bool {
        patience.map { now >= $0 } ?? false
    }

    /// Whether the broker was silent for two heartbeats.
    func isSilent(at now: Instant) -> Bool {
        silenceEnds.map { now >= $0 } ?? false
    }

    /// - Returns: Whether a heartbeat is to be written now. The next one is due half an interval later.
    mutating func takeHeartbeat(at now: Instant) -> Bool {
        guard let heartbeat, let due = nextHeartbeat, now >= due else { return false }
        nextHeartbeat = now + heartbeat / 2
        return true
    }
}

import Core

/// Sends a PING after a silence, and ends the connection when it is not answered.
///
/// Sources: "Establishing a connection to APNs" (PING after an hour without traffic); RFC 9113, section 6.7. Any byte
/// from the peer counts as a response.
struct Liveness: Sendable {
    enum Action: Equatable, Sendable {
        case none, ping, giveUp
    }

    /// How long a connection without requests may be silent.
    let idleLimit: Duration
    /// How long a connection with requests in flight may be silent.
    let stallLimit: Duration
    /// How long a PING may be unanswered.
    let pongLimit: Duration

    private(set) var silentSince: Instant
    private(set) var probedAt: Instant?

    mutating func noteTraffic(at now: Instant) {
        silentSince = now
        probedAt = nil
    }

    /// The first request after an idle period; from now on ``stallLimit`` applies.
    mutating func becameBusy(at now: Instant) {
        if probedAt == nil { silentSince = now }
    }

    func deadline(isBusy: Bool) -> Instant {
        if let probedAt { return probedAt + pongLimit }
        return silentSince + (isBusy ? stallLimit : idleLimit)
    }

    mutating func check(isBusy: Bool, at now: Instant) -> Action {
        guard deadline(isBusy: isBusy) <= now else { return .none }
        if probedAt != nil { return .giveUp }
        probedAt = now
        return .ping
    }
}

package import Core

/// Sends a PING after a silence, and ends the connection when it is not answered.
///
/// Sources: "Establishing a connection to APNs" (PING after an hour without traffic); RFC 9113, section 6.7. Any byte
/// from the peer counts as a response.
package struct Liveness: Sendable {
    package enum Action: Equatable, Sendable {
        case none, ping, giveUp
    }

    /// How long a connection without requests may be silent.
    package let idleLimit: Duration
    /// How long a connection with requests in flight may be silent.
    package let stallLimit: Duration
    /// How long a PING may be unanswered.
    package let pongLimit: Duration

    private var silentSince: Instant
    private var probedAt: Instant?

    package init(idleLimit: Duration, stallLimit: Duration, pongLimit: Duration, at now: Instant) {
        self.idleLimit = idleLimit
        self.stallLimit = stallLimit
        self.pongLimit = pongLimit
        silentSince = now
    }

    package mutating func noteTraffic(at now: Instant) {
        silentSince = now
        probedAt = nil
    }

    /// The first request after an idle period; from now on ``stallLimit`` applies.
    package mutating func becameBusy(at now: Instant) {
        if probedAt == nil { silentSince = now }
    }

    package func deadline(isBusy: Bool) -> Instant {
        if let probedAt { return probedAt + pongLimit }
        return silentSince + (isBusy ? stallLimit : idleLimit)
    }

    package mutating func check(isBusy: Bool, at now: Instant) -> Action {
        guard deadline(isBusy: isBusy) <= now else { return .none }
        if probedAt != nil { return .giveUp }
        probedAt = now
        return .ping
    }
}

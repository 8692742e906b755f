package import Core

/// Whether the peer is still there: a PING when nothing came for a while, and the end when it is not answered.
///
/// Sources: "Establishing a connection to APNs" (PING after an hour without traffic); RFC 9113, section 6.7. Any byte
/// from the peer is an answer.
package struct Liveness: Sendable {
    package enum Action: Equatable, Sendable {
        case none, ping, giveUp
    }

    /// How long a connection without requests may be silent.
    package let idleLimit: Duration
    /// How long one may be silent on which requests wait for their answers.
    package let stallLimit: Duration
    /// How long a PING may go unanswered.
    package let pongLimit: Duration

    private var silentSince: Instant
    private var probedAt: Instant?

    package init(idleLimit: Duration, stallLimit: Duration, pongLimit: Duration, at now: Instant) {
        self.idleLimit = idleLimit
        self.stallLimit = stallLimit
        self.pongLimit = pongLimit
        silentSince = now
    }

    package mutating func heard(at now: Instant) {
        silentSince = now
        probedAt = nil
    }

    /// The first request after a time without any: from now on there is something to answer.
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

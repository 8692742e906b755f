import Core

/// Sends a PING after a silence, and ends the connection when it is not answered.
///
/// Sources: "Establishing a connection to APNs" (PING after an hour without traffic); RFC 9113, section 6.7. Any byte
/// from the peer counts as a response.
struct Liveness: Sendable {
    enum Action: Equatable, Sendable {
        case none, ping, giveUp
    }

    private var silentSince = Instant(nanoseconds: 0)
    private var probedAt: Instant?

    mutating func noteTraffic(at now: Instant) {
        silentSince = now
        probedAt = nil
    }

    /// The first request after an idle period; from now on `stallLimit` applies.
    mutating func becameBusy(at now: Instant) {
        if probedAt == nil { silentSince = now }
    }

    func deadline(isBusy: Bool, _ limits: borrowing APNsEngine.Configuration) -> Instant {
        if let probedAt { return probedAt + limits.pongTimeout }
        return silentSince + (isBusy ? limits.stallLimit : limits.pingIdle)
    }

    mutating func check(isBusy: Bool, _ limits: borrowing APNsEngine.Configuration, at now: Instant) -> Action {
        guard deadline(isBusy: isBusy, limits) <= now else { return .none }
        if probedAt != nil { return .giveUp }
        probedAt = now
        return .ping
    }
}

import Core

/// What is known about the reachability of APNs, and since when no app can send.
package struct Reachability {
    private struct Pool {
        /// When it last received any response.
        var lastResponse: Instant?
        /// Since when it cannot send, although it should; `nil` if it can.
        var unusableSince: Instant?
        var isKnown = false
    }

    /// How long a pool may be without a connection before it counts as unusable. A reconnect takes less.
    private static let unusableAfter = Duration.seconds(5)
    /// How long no app may be able to send before the worker stops consuming.
    static let longestStandstill = Duration.seconds(5)

    /// When waiting notifications are checked next; never if none wait.
    var nextCheck = Instant.distantFuture
    var throttledDevices = ThrottledDevices()
    /// When APNs last gave a final response.
    var lastResponse: Instant?
    /// Since when no app can send, as far as known.
    private(set) var standstillSince: Instant?
    /// Since when only probes are consumed; `nil` while the worker consumes normally.
    private(set) var suspendedSince: Instant?
    /// Whether the worker consumes only probes because no app can send.
    package var isSuspended: Bool { suspendedSince != nil }
    /// By ``PoolID``.
    private var pools: [Pool] = []

    private subscript(id: PoolID) -> Pool {
        get { id.index < pools.count ? pools[id.index] : Pool() }
        set {
            while pools.count <= id.index { pools.append(Pool()) }
            pools[id.index] = newValue
        }
    }

    mutating func responded(_ pool: PoolID, at now: Instant) {
        self[pool].lastResponse = now
    }

    func lastResponse(of pool: PoolID) -> Instant? { self[pool].lastResponse }

    mutating func pool(_ id: PoolID, isUsable: Bool, at now: Instant) {
        self[id].isKnown = true
        self[id].unusableSince = isUsable ? nil : self[id].unusableSince ?? now
    }

    func isUsable(_ id: PoolID, at now: Instant) -> Bool {
        let pool = self[id]
        return pool.isKnown && pool.unusableSince.map { now - $0 < Self.unusableAfter } ?? true
    }

    /// The pools that cannot send.
    func unusable(at now: Instant) -> Set<PoolID> {
        Set(pools.indices.map(PoolID.init).filter { self[$0].isKnown && !isUsable($0, at: now) })
    }

    /// Nothing waits any more.
    mutating func endStandstill() {
        (standstillSince, suspendedSince) = (nil, nil)
    }

    /// Checks whether the worker stands still. A response from APNs between two checks also ends a standstill.
    ///
    /// - Parameter canSend: whether at least one app can send, as far as known.
    mutating func check(canSend: Bool, at now: Instant) {
        guard !canSend else { return endStandstill() }
        guard suspendedSince == nil else { return }
        let begun = max(standstillSince ?? now, lastResponse ?? .distantPast)
        standstillSince = begun
        if now - begun >= Self.longestStandstill { suspendedSince = now }
    }
}

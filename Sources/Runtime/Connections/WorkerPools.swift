import APNs
import Core
import TLS

/// A worker's pools of connections to APNs, and which of them have something to do.
struct WorkerPools {
    var roster = PoolRoster<APNsPool>()
    /// Pools with nothing to do cost nothing.
    var agenda = Agenda()
    /// The pools that are stepped now.
    private(set) var due: [Int] = []
    /// Pools whose certificate was refused and that have had no connection since.
    var refused: Set<PoolID> = []
    /// What pools did that are gone.
    var formerCounters = PoolCounters()
    /// Makes a pool on the worker's own network.
    let make: Make

    typealias Make = (PoolPlan, TLSContext, ProviderTokens, Instant) -> APNsPool

    init(make: @escaping Make) {
        self.make = make
    }

    /// A pool that something in flight was given to.
    subscript(id: PoolID) -> APNsPool {
        guard let pool = roster.pools[id.index] else { preconditionFailure("what is in flight keeps its pool") }
        return pool
    }

    /// Moves the pools that were woken to ``due``.
    mutating func takeWoken() {
        agenda.takeWoken(into: &due)
    }
}

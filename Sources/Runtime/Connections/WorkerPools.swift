import APNs
import Core
import TLS

/// A worker's pools of connections to APNs, and which of them have work.
struct WorkerPools {
    var roster = PoolRoster<APNsPool>()
    /// Only pools with work are stepped.
    var agenda = Agenda()
    /// The pools to step now.
    private(set) var due: [Int] = []
    /// Pools whose certificate APNs refused and that have had no connection since.
    var refused: Set<PoolID> = []
    /// The counters of removed pools.
    var formerCounters = PoolCounters()
    /// Makes a pool on the worker's network.
    let make: Make

    typealias Make = (PoolPlan, TLSContext, ProviderTokens, Instant) -> APNsPool

    init(make: @escaping Make) {
        self.make = make
    }

    /// A pool that holds a notification in flight.
    subscript(id: PoolID) -> APNsPool {
        guard let pool = roster.pools[id.index] else {
            preconditionFailure("a pool with requests in flight must be kept")
        }
        return pool
    }

    /// Moves the woken pools to ``due``.
    mutating func takeWoken() {
        agenda.takeWoken(into: &due)
    }
}

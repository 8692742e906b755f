import APNs
import Core
import Pipeline
import TLS

/// A worker's pools of connections to APNs, and which of them have work.
struct WorkerPools: ~Copyable {
    var roster = PoolRoster<APNsPool>()
    /// Only pools with work are stepped.
    let agenda = PoolAgenda()
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

    /// When the next pool has work.
    var nextDeadline: Instant? { agenda.members.nextDeadline }

    /// Moves the woken pools and those whose deadline has passed to ``due``.
    mutating func takeDue(at now: Instant) {
        agenda.members.takeDue(at: now, into: &due)
    }
}

/// Where pools report that they have work. An object, because pools keep a reference to it and the worker is a value.
final class PoolAgenda {
    var members = Agenda()
}

extension Agenda {
    /// Moves the woken members and those whose deadline has passed to `due`.
    fileprivate mutating func takeDue(at now: Instant, into due: inout [Int]) {
        while popDue(at: now) != nil {}
        if hasWoken || !due.isEmpty { takeWoken(into: &due) }
    }
}

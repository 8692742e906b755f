import APNs
import Core
import Pipeline
import TLS

/// A worker's pools of connections to APNs, and which of them have work.
struct WorkerPools: ~Copyable {
    var roster = PoolRoster<APNsPool>()
    /// Only pools with work are stepped.
    var agenda = Agenda()
    /// The pools that got work outside of the worker's turns.
    let woken = WokenPools()
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
    var nextDeadline: Instant? {
        woken.isEmpty ? agenda.nextDeadline : .distantPast
    }

    /// Moves the woken pools and those whose deadline has passed to ``due``.
    mutating func takeDue(at now: Instant) {
        while agenda.popDue(at: now) != nil {}
        takeWoken()
    }

    /// Moves the woken pools to ``due``.
    mutating func takeWoken() {
        if !woken.isEmpty { woken.wakeAll(in: &agenda) }
        agenda.takeWoken(into: &due)
    }
}

/// Where pools report that they have work. An object, because pools keep a reference to it and the worker is a value.
final class WokenPools {
    private var numbers: [PoolID] = []

    var isEmpty: Bool { numbers.isEmpty }

    func append(_ number: PoolID) {
        numbers.append(number)
    }

    func wakeAll(in agenda: inout Agenda) {
        for number in numbers { agenda.wake(number.index) }
        numbers.removeAll(keepingCapacity: true)
    }
}

import APNs
import Core
import Pipeline
import TLS

/// A worker's pools of connections to APNs, and which of them have work.
struct WorkerPools: ~Copyable {
    var roster = PoolRoster()
    /// By the roster's numbers; `nil` for unused ones.
    private var pools = UniqueSlots<APNsPool>()
    /// Only pools with work are stepped.
    private let agenda = PoolAgenda()
    private(set) var due: [Int] = []
    /// Pools that were connected and have not been without a connection since.
    var opened: Set<PoolID> = []
    /// Pools whose certificate APNs refused and that have had no connection since.
    var refused: Set<PoolID> = []
    private(set) var formerCounters = PoolCounters()
    private let network: any Network
    private var random: SplitMix64

    init(on network: any Network, random: SplitMix64) {
        self.network = network
        self.random = random
    }

    /// A pool that is in use or leaving.
    subscript(id: PoolID) -> APNsPool {
        _read { yield pools[id.index]! }
        _modify { yield &pools[id.index]! }
    }

    mutating func add(
        _ plan: PoolPlan, _ context: TLSContext, _ tokens: ProviderTokens, at now: Instant
    ) -> PoolID {
        let number = roster.add(plan, opens: plan.opensAtOnce, at: now)
        while pools.count < roster.count { pools.append() }
        var pool = plan.makePool(context: context, tokens: tokens, network: network, seed: random.next(), at: now)
        pool.onDue = { [agenda] in agenda.change { $0.wake(number.index) } }
        pools[number.index] = consume pool
        opened.remove(number)
        refused.remove(number)
        wake(number)
        return number
    }

    mutating func removeDrained(at now: Instant) {
        for number in roster.leaving where self[number].isDrained {
            formerCounters.add(self[number].statistics(at: now).counters)
            pools[number.index] = nil
            agenda.change { $0.remove(number.index) }
            roster.remove(number)
        }
    }

    // MARK: Turns

    /// When the next pool has work.
    var nextDeadline: Instant? { agenda.earliest == .distantFuture ? nil : agenda.earliest }

    /// Whether a pool has work before the next deadline.
    var hasWoken: Bool { agenda.earliest == .distantPast }

    /// Moves the woken pools and those whose deadline has passed to ``due``.
    mutating func takeDue(at now: Instant) {
        agenda.takeDue(at: now, into: &due)
    }

    /// - Returns: `false` if there is no such pool any more, whose connections may still have woken it.
    mutating func step(_ number: PoolID, at now: Moment) -> Bool {
        guard pools[number.index] != nil else { return false }
        self[number].step(at: now)
        let deadline = self[number].nextDeadline
        agenda.change { $0.schedule(number.index, at: deadline) }
        return true
    }

    /// The pool has events that are to be taken in the next turn.
    func wake(_ number: PoolID) {
        agenda.change { $0.wake(number.index) }
    }
}

/// Where pools report that they have work. An object, because their connections keep a reference to it and the worker
/// is a value.
private final class PoolAgenda {
    private var members = Agenda()
    /// When the next member has work. Stored, because a turn asks several times, and exclusive access to the
    /// members is checked at run time.
    private(set) var earliest = Instant.distantFuture

    func change(_ body: (inout Agenda) -> Void) {
        body(&members)
        earliest = members.nextDeadline ?? .distantFuture
    }

    // Called from a worker's pools themselves, Swift 6.3.1 with the thread sanitizer finds an overlapping access.
    func takeDue(at now: Instant, into due: inout [Int]) {
        guard earliest <= now || !due.isEmpty else { return }
        change { $0.takeDue(at: now, into: &due) }
    }
}

import APNs
import Core
import DequeModule
import Pipeline
import TLS

/// A worker's pools of connections to APNs, and which of them have work.
struct WorkerPools: ~Copyable {
    var roster = PoolRoster()
    /// By the roster's numbers; `nil` for unused ones.
    private var pools = UniqueDeque<APNsPool?>()
    /// Only pools with work are stepped.
    private var agenda = Agenda()
    var due: [Int] { agenda.taken }
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
        let number = roster.add(plan, opens: !plan.managesChannels, at: now)
        while pools.count < roster.count { pools.append(nil) }
        var pool = plan.makePool(context: context, tokens: tokens, network: network, seed: random.next(), at: now)
        pool.waker = agenda.waker(of: number.index)
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
            agenda.remove(number.index)
            roster.remove(number)
        }
    }

    /// When the next pool has work.
    var nextDeadline: Instant? { agenda.nextDeadline }

    /// Whether a pool has work before the next deadline.
    var hasWoken: Bool { agenda.nextDeadline == .distantPast }

    /// Moves the woken pools and those whose deadline has passed to ``due``.
    mutating func takeDue(at now: Instant) {
        agenda.takeDue(at: now)
    }

    /// - Returns: `false` if there is no such pool any more, whose connections may still have woken it.
    mutating func step(_ number: PoolID, at now: Moment) -> Bool {
        guard pools[number.index] != nil else { return false }
        self[number].step(at: now)
        let deadline = self[number].nextDeadline
        agenda.schedule(number.index, at: deadline)
        return true
    }

    /// The pool has events that are to be taken in the next turn.
    func wake(_ number: PoolID) {
        agenda.wake(number.index)
    }
}

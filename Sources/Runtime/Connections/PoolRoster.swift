package import Core
package import Pipeline

/// A worker's pools by number, and the handover from old pools to new ones.
///
/// A number is reused only after its pool was removed, because notifications in flight refer to it.
package struct PoolRoster<Pool> {
    /// The longest wait for a pool's first connection; then the pool takes over without one.
    package static var changeTimeout: Duration { .seconds(10) }

    private enum Stage {
        /// Takes over when its first connection is ready, or at the deadline.
        case opening(deadline: Instant)
        case inUse
        /// No app uses it any more; it drains.
        case leaving
    }

    /// A pending change of an app, for when its new pools are open.
    private struct PendingChange {
        let slot: AppID
        let app: PipelineApp
    }

    /// By number; `nil` for unused numbers.
    package private(set) var pools: [Pool?] = []
    private var plans: [PoolPlan?] = []
    private var stages: [Stage] = []
    private var pendingChanges: [PendingChange] = []
    private var leaving: [PoolID] = []

    package init() {}

    /// Whether a handover is pending, or a pool is draining.
    package var isChanging: Bool {
        !pendingChanges.isEmpty || !leaving.isEmpty
    }

    /// The number of a pool that can serve `plan` and is not leaving.
    package func number(serving plan: PoolPlan) -> PoolID? {
        let serving = pools.indices.first { index in
            if case .leaving = stages[index] { return false }
            return plans[index]?.serves(plan) ?? false
        }
        return serving.map(PoolID.init)
    }

    /// - Parameter opens: whether the handover waits for its first connection.
    package mutating func add(_ pool: Pool, _ plan: PoolPlan, opens: Bool, at now: Instant) -> PoolID {
        let stage = opens ? Stage.opening(deadline: now + Self.changeTimeout) : .inUse
        if let free = pools.firstIndex(where: { $0 == nil }) {
            pools[free] = pool
            plans[free] = plan
            stages[free] = stage
            return PoolID(free)
        }
        pools.append(pool)
        plans.append(plan)
        stages.append(stage)
        return PoolID(pools.count - 1)
    }

    /// A pool's connection is ready.
    package mutating func connected(_ number: PoolID) {
        if case .opening = stages[number.index] { stages[number.index] = .inUse }
    }

    // MARK: Handover

    /// Schedules the change of an app for when its new pools are open; replaces an earlier schedule for this app.
    package mutating func scheduleChange(_ slot: AppID, to app: PipelineApp) {
        cancelPendingChange(of: slot)
        pendingChanges.append(PendingChange(slot: slot, app: app))
    }

    package mutating func cancelPendingChange(of slot: AppID) {
        pendingChanges.removeAll { $0.slot == slot }
    }

    /// The apps that change now.
    package mutating func takeDueChanges(at now: Instant) -> [(slot: AppID, app: PipelineApp)] {
        guard !pendingChanges.isEmpty else { return [] }
        for number in stages.indices {
            if case .opening(let deadline) = stages[number], deadline <= now { stages[number] = .inUse }
        }
        let due = pendingChanges.filter { change in change.app.pools.all.allSatisfy { !isOpening($0) } }
        pendingChanges.removeAll { change in due.contains { $0.slot == change.slot } }
        return due.map { ($0.slot, $0.app) }
    }

    private func isOpening(_ number: PoolID) -> Bool {
        if case .opening = stages[number.index] { true } else { false }
    }

    /// The latest time at which ``takeDueChanges(at:)`` returns something.
    package var nextDeadline: Instant? {
        guard !pendingChanges.isEmpty else { return nil }
        return stages.compactMap { if case .opening(let deadline) = $0 { deadline } else { nil } }.min()
    }

    // MARK: Removal

    /// Marks the pools that no app uses or will use.
    ///
    /// - Parameter apps: the configured apps.
    /// - Returns: the pools to drain now.
    package mutating func retire(besides apps: [PipelineApp]) -> [Pool] {
        var used = Set(apps.flatMap(\.pools.all))
        for change in pendingChanges { used.formUnion(change.app.pools.all) }
        return pools.indices.compactMap { number in
            guard let pool = pools[number], !used.contains(PoolID(number)), !leaving.contains(PoolID(number)) else {
                return nil
            }
            stages[number] = .leaving
            leaving.append(PoolID(number))
            return pool
        }
    }

    /// Removes the leaving pools that have drained.
    ///
    /// - Returns: the removed pools.
    package mutating func removeLeaving(where isDrained: (Pool) -> Bool) -> [Pool] {
        let drained = leaving.filter { pools[$0.index].map(isDrained) ?? true }
        leaving.removeAll { drained.contains($0) }
        return drained.compactMap { number in
            plans[number.index] = nil
            return pools[number.index].take()
        }
    }
}

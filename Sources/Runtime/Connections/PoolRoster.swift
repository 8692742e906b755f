package import Core
package import Pipeline

/// A worker's pools by number, and the handover from old pools to new ones.
///
/// A number is reused only after its pool was removed, because notifications in flight refer to it.
package struct PoolRoster<Pool> {
    /// The longest wait for a pool's first connection; then the pool takes over without one.
    package static var handoverTimeout: Duration { .seconds(10) }

    private enum Stage {
        /// Takes over when its first connection is ready, or at the deadline.
        case opening(deadline: Instant)
        case inUse
        /// No app uses it any more; it drains.
        case leaving
    }

    /// A pending change of an app, for when its new pools are open.
    private struct Handover {
        let slot: AppID
        let app: PipelineApp
    }

    /// By number; `nil` for unused numbers.
    package private(set) var pools: [Pool?] = []
    private var plans: [PoolPlan?] = []
    private var stages: [Stage] = []
    private var handovers: [Handover] = []
    private var leavingCount = 0

    package init() {}

    /// Whether a handover is pending, or a pool is draining.
    package var isChanging: Bool {
        !handovers.isEmpty || leavingCount > 0
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
        let stage = opens ? Stage.opening(deadline: now + Self.handoverTimeout) : .inUse
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
    package mutating func handOver(_ slot: AppID, to app: PipelineApp) {
        cancelHandover(of: slot)
        handovers.append(Handover(slot: slot, app: app))
    }

    package mutating func cancelHandover(of slot: AppID) {
        handovers.removeAll { $0.slot == slot }
    }

    /// The apps that change now.
    package mutating func takeHandovers(at now: Instant) -> [(slot: AppID, app: PipelineApp)] {
        guard !handovers.isEmpty else { return [] }
        for number in stages.indices {
            if case .opening(let deadline) = stages[number], deadline <= now { stages[number] = .inUse }
        }
        let due = handovers.filter { handover in handover.app.pools.all.allSatisfy { !isOpening($0) } }
        handovers.removeAll { handover in due.contains { $0.slot == handover.slot } }
        return due.map { ($0.slot, $0.app) }
    }

    private func isOpening(_ number: PoolID) -> Bool {
        if case .opening = stages[number.index] { true } else { false }
    }

    /// The latest time at which ``takeHandovers(at:)`` returns something.
    package var nextDeadline: Instant? {
        guard !handovers.isEmpty else { return nil }
        return stages.compactMap { if case .opening(let deadline) = $0 { deadline } else { nil } }.min()
    }

    // MARK: Removal

    /// Marks the pools that no app uses or will use.
    ///
    /// - Parameter apps: the configured apps.
    /// - Returns: the pools to drain now.
    package mutating func retire(besides apps: [PipelineApp]) -> [Pool] {
        var used = Set(apps.flatMap(\.pools.all))
        for handover in handovers { used.formUnion(handover.app.pools.all) }
        var leaving: [Pool] = []
        for (number, pool) in pools.enumerated() where !used.contains(PoolID(number)) {
            if case .leaving = stages[number] { continue }
            guard let pool else { continue }
            stages[number] = .leaving
            leavingCount += 1
            leaving.append(pool)
        }
        return leaving
    }

    /// Removes the leaving pools that have drained.
    ///
    /// - Returns: the removed pools.
    package mutating func removeLeaving(where isDrained: (Pool) -> Bool) -> [Pool] {
        var removed: [Pool] = []
        for (number, pool) in pools.enumerated() {
            guard case .leaving = stages[number], let pool, isDrained(pool) else { continue }
            pools[number] = nil
            plans[number] = nil
            leavingCount -= 1
            removed.append(pool)
        }
        return removed
    }
}

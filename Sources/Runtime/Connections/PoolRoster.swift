package import Core
package import Pipeline

/// A worker's pools by number, and when a new one takes over from an old one.
///
/// A number is used again only after its pool was removed: what is in flight holds it.
package struct PoolRoster<Pool> {
    /// How long a pool's first connection is waited for, before the pool takes over without it.
    package static var handoverTimeout: Duration { .seconds(10) }

    private enum Stage {
        /// It takes over when its first connection is ready, or at the deadline.
        case opening(deadline: Instant)
        case inUse
        /// No app uses it any more.
        case leaving
    }

    /// What an app is to change to once its pools are open.
    private struct Handover {
        let slot: AppID
        let app: PipelineApp
    }

    /// By number; `nil` where there is none.
    package private(set) var pools: [Pool?] = []
    private var plans: [PoolPlan?] = []
    private var stages: [Stage] = []
    private var handovers: [Handover] = []
    private var leavingCount = 0

    package init() {}

    /// Whether a handover is to come, or a pool is leaving.
    package var isChanging: Bool {
        !handovers.isEmpty || leavingCount > 0
    }

    /// The number of a pool that carries what `plan` is for, unless it is leaving.
    package func number(serving plan: PoolPlan) -> PoolID? {
        let serving = pools.indices.first { index in
            if case .leaving = stages[index] { return false }
            return plans[index]?.serves(plan) ?? false
        }
        return serving.map(PoolID.init)
    }

    /// - Parameter opens: whether its first connection is worth waiting for.
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

    // MARK: Handing over

    /// An app is to change once the pools that it names are open; this takes the place of what was planned for it.
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

    /// When ``takeHandovers(at:)`` has something at the latest.
    package var nextDeadline: Instant? {
        guard !handovers.isEmpty else { return nil }
        return stages.compactMap { if case .opening(let deadline) = $0 { deadline } else { nil } }.min()
    }

    // MARK: Leaving

    /// Marks the pools that no app uses or is to use.
    ///
    /// - Parameter apps: those that are configured.
    /// - Returns: the pools that are to drain now.
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

    /// Forgets the leaving pools that have nothing left to do.
    ///
    /// - Returns: those.
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

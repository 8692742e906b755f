package import Core
package import Pipeline

/// The numbers of a worker's pools, and the handover from old pools to new ones.
///
/// A number is reused only after its pool was removed, because notifications in flight refer to it.
package struct PoolRoster {
    /// The longest wait for a pool's first connection; then the pool takes over without one.
    package static let changeTimeout = Duration.seconds(10)

    private struct Member {
        let plan: PoolPlan
        /// When it takes over at the latest; `nil` once it may.
        var opensBy: Instant?
    }

    /// By number; `nil` for unused numbers.
    private var members: [Member?] = []
    /// Changes of apps, for when their new pools are open.
    private var pendingChanges: [(slot: AppID, app: PipelineApp)] = []
    /// The pools that drain.
    package private(set) var leaving: [PoolID] = []

    /// Used and unused numbers.
    package var count: Int { members.count }

    package var numbers: [PoolID] { members.indices.filter { members[$0] != nil }.map(PoolID.init) }

    /// Whether a handover is pending, or a pool is draining.
    package var isChanging: Bool {
        !pendingChanges.isEmpty || !leaving.isEmpty
    }

    /// The number of a pool that can serve `plan` and is not leaving.
    package func number(serving plan: PoolPlan) -> PoolID? {
        let serving = members.indices.first { index in
            members[index]?.plan.serves(plan) == true && !leaving.contains(PoolID(index))
        }
        return serving.map(PoolID.init)
    }

    /// - Parameter opens: whether the handover waits for its first connection.
    package mutating func add(_ plan: PoolPlan, opens: Bool, at now: Instant) -> PoolID {
        let member = Member(plan: plan, opensBy: opens ? now + Self.changeTimeout : nil)
        guard let free = members.firstIndex(where: { $0 == nil }) else {
            members.append(member)
            return PoolID(members.count - 1)
        }
        members[free] = member
        return PoolID(free)
    }

    package mutating func connected(_ number: PoolID) {
        members[number.index]?.opensBy = nil
    }

    // MARK: Handover

    /// Schedules the change of an app for when its new pools are open; replaces an earlier schedule for this app.
    package mutating func scheduleChange(_ slot: AppID, to app: PipelineApp) {
        cancelPendingChange(of: slot)
        pendingChanges.append((slot, app))
    }

    package mutating func cancelPendingChange(of slot: AppID) {
        pendingChanges.removeAll { $0.slot == slot }
    }

    package mutating func takeDueChanges(at now: Instant) -> [(slot: AppID, app: PipelineApp)] {
        guard !pendingChanges.isEmpty else { return [] }
        for number in members.indices {
            if let deadline = members[number]?.opensBy, deadline <= now { members[number]?.opensBy = nil }
        }
        let due = pendingChanges.filter { change in
            change.app.pools.all.allSatisfy { members[$0.index]?.opensBy == nil }
        }
        pendingChanges.removeAll { change in due.contains { $0.slot == change.slot } }
        return due
    }

    /// The latest time at which ``takeDueChanges(at:)`` returns something.
    package var nextDeadline: Instant? {
        guard !pendingChanges.isEmpty else { return nil }
        return members.compactMap { $0?.opensBy }.min()
    }

    // MARK: Removal

    /// Marks the pools that no app uses or will use.
    ///
    /// - Parameter apps: the configured apps.
    /// - Returns: the pools to drain now.
    package mutating func retire(besides apps: [PipelineApp]) -> [PoolID] {
        var used = Set(apps.flatMap(\.pools.all))
        for change in pendingChanges { used.formUnion(change.app.pools.all) }
        let retired = numbers.filter { !used.contains($0) && !leaving.contains($0) }
        for number in retired { members[number.index]?.opensBy = nil }
        leaving += retired
        return retired
    }

    package mutating func remove(_ number: PoolID) {
        leaving.removeAll { $0 == number }
        members[number.index] = nil
    }
}

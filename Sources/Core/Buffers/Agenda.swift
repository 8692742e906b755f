/// Tracks which members of a group have work: woken members, and those whose deadline has passed. Idle members cost
/// nothing.
///
/// Members are small numbers, which their owner may reuse after ``remove(_:)``.
package struct Agenda: ~Copyable {
    private var woken: [Int] = []
    private var isWoken: [Bool] = []
    private var deadlines = DeadlineHeap()

    package init() {}

    package mutating func wake(_ member: Int) {
        while isWoken.count <= member { isWoken.append(false) }
        guard !isWoken[member] else { return }
        isWoken[member] = true
        woken.append(member)
    }

    /// Sets a member's deadline, which replaces the previous one; `nil` for none.
    package mutating func schedule(_ member: Int, at deadline: Instant?) {
        deadlines.schedule(member, at: deadline)
    }

    package mutating func remove(_ member: Int) {
        deadlines.schedule(member, at: nil)
        guard member < isWoken.count, isWoken[member] else { return }
        isWoken[member] = false
        woken.removeAll { $0 == member }
    }

    /// Removes a deadline that has passed, and wakes its member.
    ///
    /// - Returns: the member; `nil` when no passed deadline is left.
    package mutating func popDue(at now: Instant) -> Int? {
        guard deadlines.earliest <= now, let first = deadlines.popFirst() else { return nil }
        wake(first)
        return first
    }

    /// Replaces the content of `members` with the woken members, in order, and clears the list of woken members.
    ///
    /// Reusing the array from turn to turn avoids an allocation.
    package mutating func takeWoken(into members: inout [Int]) {
        members.removeAll(keepingCapacity: true)
        swap(&members, &woken)
        for member in members { isWoken[member] = false }
    }

    /// Replaces the content of `members` with the woken members and those whose deadline has passed.
    package mutating func takeDue(at now: Instant, into members: inout [Int]) {
        while popDue(at: now) != nil {}
        takeWoken(into: &members)
    }

    package var hasWoken: Bool { !woken.isEmpty }

    /// When the next member has work: in the past if one is woken, `nil` if none is scheduled.
    package var nextDeadline: Instant? {
        if hasWoken { return .distantPast }
        return deadlines.count == 0 ? nil : deadlines.earliest
    }
}

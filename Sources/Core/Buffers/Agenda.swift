/// Tracks which members of a group have work: woken members, and those whose deadline has passed. Idle members cost
/// nothing.
///
/// Members are small numbers, which their owner may reuse after ``remove(_:)``. Others wake one by its ``Waker``.
package struct Agenda: ~Copyable {
    private let woken = WokenMembers()
    private var deadlines = DeadlineQueue<Int>()
    /// Each member's deadline.
    private var dueTimes: [Instant?] = []
    /// The members that were taken last. The array is used again from turn to turn, which avoids an allocation.
    package private(set) var taken: [Int] = []

    package init() {}

    package func wake(_ member: Int) {
        woken.insert(member)
    }

    package func waker(of member: Int) -> Waker {
        Waker(member: member, woken: woken)
    }

    /// Sets a member's deadline, which replaces the previous one; `nil` for none.
    package mutating func schedule(_ member: Int, at deadline: Instant?) {
        while dueTimes.count <= member { dueTimes.append(nil) }
        guard dueTimes[member] != deadline else { return }
        if let previous = dueTimes[member] { deadlines.remove(member, due: previous) }
        if let deadline { deadlines.insert(member, due: deadline) }
        dueTimes[member] = deadline
    }

    package mutating func remove(_ member: Int) {
        schedule(member, at: nil)
        woken.remove(member)
    }

    /// Removes a deadline that has passed, and wakes its member.
    ///
    /// - Returns: the member; `nil` when no passed deadline is left.
    package mutating func popDue(at now: Instant) -> Int? {
        guard deadlines.earliest <= now, let first = deadlines.popFirst() else { return nil }
        dueTimes[first] = nil
        wake(first)
        return first
    }

    /// Replaces the content of ``taken`` with the woken members, in order, which are then no longer woken.
    package mutating func takeWoken() {
        taken.removeAll(keepingCapacity: true)
        if hasWoken { woken.take(into: &taken) }
    }

    /// Replaces the content of ``taken`` with the woken members and those whose deadline has passed.
    package mutating func takeDue(at now: Instant) {
        while popDue(at: now) != nil {}
        takeWoken()
    }

    package var hasWoken: Bool { !woken.isEmpty }

    /// When the next member has work: in the past if one is woken, `nil` if none is scheduled.
    package var nextDeadline: Instant? {
        if hasWoken { return .distantPast }
        return deadlines.count == 0 ? nil : deadlines.earliest
    }
}

/// Wakes one member of an ``Agenda``.
package struct Waker {
    package let member: Int
    fileprivate let woken: WokenMembers

    package func wake() {
        woken.insert(member)
    }
}

/// The woken members of an agenda, each once. An object, because the agenda and every ``Waker`` use it.
private final class WokenMembers {
    private struct Members {
        var inOrder: [Int] = []
        var isWoken: [Bool] = []

        mutating func insert(_ member: Int) {
            while isWoken.count <= member { isWoken.append(false) }
            guard !isWoken[member] else { return }
            isWoken[member] = true
            inOrder.append(member)
        }

        mutating func remove(_ member: Int) {
            guard member < isWoken.count, isWoken[member] else { return }
            isWoken[member] = false
            inOrder.removeAll { $0 == member }
        }

        mutating func take(into taken: inout [Int]) {
            swap(&taken, &inOrder)
            for member in taken { isWoken[member] = false }
        }
    }

    private var members = Members()
    /// Stored, because a turn asks several times, and access to the members is checked at run time.
    private(set) var isEmpty = true

    func insert(_ member: Int) {
        isEmpty = false
        members.insert(member)
    }

    func remove(_ member: Int) {
        members.remove(member)
        isEmpty = members.inOrder.isEmpty
    }

    // If the agenda itself called this, Swift 6.3.1 with the thread sanitizer would find an overlapping access.
    func take(into taken: inout [Int]) {
        isEmpty = true
        members.take(into: &taken)
    }
}

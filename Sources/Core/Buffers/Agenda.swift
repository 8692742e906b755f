/// Tracks which members of a group have work: woken members, and those whose deadline has passed. Idle members cost
/// nothing.
///
/// Members are small numbers, which their owner may reuse after ``remove(_:)``. Deadlines are in a binary heap that
/// knows each member's position: one entry each, O(log n) per change.
package struct Agenda: ~Copyable {
    private var woken: [Int] = []
    private var isWoken: [Bool] = []
    /// Members with a deadline, earliest first.
    private var heap: [Int] = []
    /// Each member's index in ``heap`` (or -1) and its deadline.
    private var places: [Int] = []
    private var deadlines: [Instant] = []

    package init() {}

    /// Marks a member as due now.
    package mutating func wake(_ member: Int) {
        admit(member)
        guard !isWoken[member] else { return }
        isWoken[member] = true
        woken.append(member)
    }

    /// Sets a member's deadline, which replaces the previous one; `nil` for none.
    package mutating func schedule(_ member: Int, at deadline: Instant?) {
        admit(member)
        let place = places[member]
        guard let deadline else {
            if place >= 0 { removeFromHeap(place) }
            return
        }
        if place >= 0 {
            guard deadlines[member] != deadline else { return }
            deadlines[member] = deadline
            settle(place)
        } else {
            deadlines[member] = deadline
            heap.append(member)
            places[member] = heap.count - 1
            siftUp(heap.count - 1)
        }
    }

    /// Removes a member; it is neither due nor woken afterwards.
    package mutating func remove(_ member: Int) {
        schedule(member, at: nil)
        guard isWoken[member] else { return }
        isWoken[member] = false
        woken.removeAll { $0 == member }
    }

    /// Removes a deadline that has passed, and wakes its member.
    ///
    /// - Returns: the member; `nil` when no passed deadline is left.
    package mutating func popDue(at now: Instant) -> Int? {
        guard let first = heap.first, deadlines[first] <= now else { return nil }
        removeFromHeap(0)
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

    package var hasWoken: Bool { !woken.isEmpty }

    /// When the next member has work: in the past if one is woken, `nil` if none is scheduled.
    package var nextDeadline: Instant? {
        hasWoken ? .distantPast : heap.first.map { deadlines[$0] }
    }

    private mutating func admit(_ member: Int) {
        guard member >= isWoken.count else { return }
        let missing = member + 1 - isWoken.count
        isWoken.append(contentsOf: repeatElement(false, count: missing))
        places.append(contentsOf: repeatElement(-1, count: missing))
        deadlines.append(contentsOf: repeatElement(.distantFuture, count: missing))
    }

    // MARK: Heap

    private mutating func removeFromHeap(_ place: Int) {
        let last = heap.count - 1
        if place != last { exchange(place, last) }
        places[heap.removeLast()] = -1
        if place != last { settle(place) }
    }

    /// Restores the heap order for the member at an index.
    private mutating func settle(_ place: Int) {
        let member = heap[place]
        siftUp(place)
        siftDown(places[member])
    }

    private mutating func siftUp(_ place: Int) {
        var child = place
        while child > 0 {
            let parent = (child - 1) / 2
            guard deadlines[heap[child]] < deadlines[heap[parent]] else { return }
            exchange(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(_ place: Int) {
        var parent = place
        while true {
            var earliest = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && deadlines[heap[child]] < deadlines[heap[earliest]] {
                earliest = child
            }
            guard earliest != parent else { return }
            exchange(earliest, parent)
            parent = earliest
        }
    }

    private mutating func exchange(_ one: Int, _ other: Int) {
        heap.swapAt(one, other)
        places[heap[one]] = one
        places[heap[other]] = other
    }
}

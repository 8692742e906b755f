/// Which members of a group have something to do: those that were woken, and those whose deadline has passed. A member
/// for which neither is true costs nothing.
///
/// Members are small numbers, which their owner may use again after ``remove(_:)``. Deadlines are in a binary heap that
/// knows the place of each member: one entry each, O(log n) for a change.
package struct Agenda {
    private var woken: [Int] = []
    private var isWoken: [Bool] = []
    /// Members with a deadline, the earliest first.
    private var heap: [Int] = []
    /// By member: its place in ``heap``, or -1, and its deadline if it has a place.
    private var places: [Int] = []
    private var deadlines: [Instant] = []

    package init() {}

    /// The member has something to do now.
    package mutating func wake(_ member: Int) {
        admit(member)
        guard !isWoken[member] else { return }
        isWoken[member] = true
        woken.append(member)
    }

    /// The member has something to do at `deadline`, and not before unless it is woken; `nil` for no time.
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
            rise(heap.count - 1)
        }
    }

    /// The member is gone: it is neither due nor woken any more.
    package mutating func remove(_ member: Int) {
        schedule(member, at: nil)
        guard isWoken[member] else { return }
        isWoken[member] = false
        woken.removeAll { $0 == member }
    }

    /// Takes the deadline of a member whose deadline has passed, and wakes it.
    ///
    /// - Returns: the member; `nil` when no deadline has passed any more.
    package mutating func popDue(at now: Instant) -> Int? {
        guard let first = heap.first, deadlines[first] <= now else { return nil }
        removeFromHeap(0)
        wake(first)
        return first
    }

    /// Puts those that were woken in the place of what `members` has, in their order; from now on none is woken.
    ///
    /// An array that is kept from turn to turn costs no allocation.
    package mutating func takeWoken(into members: inout [Int]) {
        members.removeAll(keepingCapacity: true)
        swap(&members, &woken)
        for member in members { isWoken[member] = false }
    }

    package var hasWoken: Bool { !woken.isEmpty }

    /// When a member has something to do: long past while one is woken, `nil` for no time.
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

    // MARK: The heap

    private mutating func removeFromHeap(_ place: Int) {
        let last = heap.count - 1
        if place != last { exchange(place, last) }
        places[heap.removeLast()] = -1
        if place != last { settle(place) }
    }

    /// Moves the member at a place to where its deadline belongs.
    private mutating func settle(_ place: Int) {
        let member = heap[place]
        rise(place)
        sink(places[member])
    }

    private mutating func rise(_ place: Int) {
        var child = place
        while child > 0 {
            let parent = (child - 1) / 2
            guard deadlines[heap[child]] < deadlines[heap[parent]] else { return }
            exchange(child, parent)
            child = parent
        }
    }

    private mutating func sink(_ place: Int) {
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

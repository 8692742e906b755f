/// Small numbers with a deadline each, earliest first: a binary heap that knows each number's position.
///
/// One entry per number, O(log n) per change. Numbers with the same deadline are in the order of scheduling.
struct DeadlineHeap {
    private struct Slot {
        /// The index in ``heap``; -1 without a deadline.
        var place = -1
        var due = Instant.distantFuture
        var order: UInt64 = 0
    }

    private var heap: [Int] = []
    /// By number.
    private var slots: [Slot] = []
    private var scheduled: UInt64 = 0
    /// ``Instant/distantFuture`` while it is empty.
    private(set) var earliest = Instant.distantFuture

    var count: Int { heap.count }

    mutating func schedule(_ number: Int, at deadline: Instant?) {
        while slots.count <= number { slots.append(Slot()) }
        let place = slots[number].place
        guard let deadline else {
            if place >= 0 { remove(place) }
            return
        }
        guard place < 0 || slots[number].due != deadline else { return }
        slots[number].due = deadline
        slots[number].order = scheduled
        scheduled += 1
        if place < 0 {
            slots[number].place = heap.count
            heap.append(number)
        }
        settle(slots[number].place)
    }

    mutating func popFirst() -> Int? {
        guard let first = heap.first else { return nil }
        remove(0)
        return first
    }

    private mutating func remove(_ place: Int) {
        exchange(place, heap.count - 1)
        slots[heap.removeLast()].place = -1
        settle(place)
    }

    /// Restores the heap order for the number at an index, if there is one.
    private mutating func settle(_ place: Int) {
        if place < heap.count { siftDown(siftUp(place)) }
        earliest = heap.first.map { slots[$0].due } ?? .distantFuture
    }

    private mutating func siftUp(_ place: Int) -> Int {
        var child = place
        while child > 0, precedes(child, (child - 1) / 2) {
            exchange(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
        return child
    }

    private mutating func siftDown(_ place: Int) {
        var parent = place
        while true {
            var first = parent
            if 2 * parent + 1 < heap.count, precedes(2 * parent + 1, first) { first = 2 * parent + 1 }
            if 2 * parent + 2 < heap.count, precedes(2 * parent + 2, first) { first = 2 * parent + 2 }
            guard first != parent else { return }
            exchange(first, parent)
            parent = first
        }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        let (one, other) = (slots[heap[left]], slots[heap[right]])
        return (one.due, one.order) < (other.due, other.order)
    }

    private mutating func exchange(_ one: Int, _ other: Int) {
        heap.swapAt(one, other)
        slots[heap[one]].place = one
        slots[heap[other]].place = other
    }
}

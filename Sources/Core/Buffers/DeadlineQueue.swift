/// Elements by due time, earliest first: a binary heap with O(log n) insertion and removal of the earliest.
package struct DeadlineQueue<Element> {
    private var heap: [(due: Instant, order: UInt64, element: Element)] = []
    private var inserted: UInt64 = 0
    /// When the earliest element is due; ``Instant/distantFuture`` while the queue is empty.
    ///
    /// It is stored, because every turn of a loop reads it. A method of a generic type in another module would look up
    /// its types on each call.
    package private(set) var earliest = Instant.distantFuture

    package init() {}

    package var count: Int { heap.count }

    /// Every element, in no particular order.
    package var elements: [Element] { heap.map(\.element) }

    /// Elements with the same instant are removed in the order of insertion.
    package mutating func insert(_ element: Element, due: Instant) {
        heap.append((due, inserted, element))
        inserted += 1
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard precedes(child, parent) else { break }
            heap.swapAt(child, parent)
            child = parent
        }
        earliest = heap[0].due
    }

    /// Removes the earliest element, due or not.
    package mutating func popFirst() -> Element? {
        guard !heap.isEmpty else { return nil }
        heap.swapAt(0, heap.count - 1)
        let first = heap.removeLast().element
        siftDownFirst()
        earliest = heap.first?.due ?? .distantFuture
        return first
    }

    private mutating func siftDownFirst() {
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && precedes(child, smallest) {
                smallest = child
            }
            guard smallest != parent else { return }
            heap.swapAt(smallest, parent)
            parent = smallest
        }
    }

    /// Removes all elements for which `isRemoved` is true, in O(n log n).
    package mutating func removeAll(where isRemoved: (Element) -> Bool) {
        heap.removeAll { isRemoved($0.element) }
        // A sorted array is a valid heap.
        heap.sort { ($0.due, $0.order) < ($1.due, $1.order) }
        earliest = heap.first?.due ?? .distantFuture
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].due, heap[left].order) < (heap[right].due, heap[right].order)
    }
}

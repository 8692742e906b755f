/// Things to do later, earliest first: a binary heap with O(log n) insertion and removal of the earliest.
///
/// What every turn asks is inlinable: a generic of another module looks its types up at run time, on each call.
package struct DeadlineQueue<Element> {
    @usableFromInline var heap: [(due: Instant, order: UInt64, element: Element)] = []
    private var inserted: UInt64 = 0

    package init() {}

    package var count: Int { heap.count }

    /// Every element, in no particular order.
    package var elements: [Element] { heap.map(\.element) }

    /// When the earliest element is due.
    @inlinable package var earliest: Instant? { heap.first?.due }

    /// Elements with the same instant come out in the order in which they were inserted.
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
    }

    /// Removes the earliest element if it is due at `now`.
    @inlinable
    package mutating func popDue(at now: Instant) -> Element? {
        guard let first = heap.first, first.due <= now else { return nil }
        removeFirst()
        return first.element
    }

    @usableFromInline
    mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
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
        // What is sorted is a heap.
        heap.sort { ($0.due, $0.order) < ($1.due, $1.order) }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].due, heap[left].order) < (heap[right].due, heap[right].order)
    }
}

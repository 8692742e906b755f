/// Elements by due time, earliest first, with O(log n) insertion and removal of the earliest.
package struct DeadlineQueue<Element> {
    private var deadlines = DeadlineHeap()
    private var slab = Slab<Element>()
    /// When the earliest element is due; ``Instant/distantFuture`` while the queue is empty.
    ///
    /// It is stored, because every turn of a loop reads it. A method of a generic type in another module would look up
    /// its types on each call.
    package private(set) var earliest = Instant.distantFuture

    package init() {}

    package var count: Int { slab.count }

    /// Every element, in no particular order.
    package var elements: [Element] { slab.handles.map { slab[$0] } }

    /// Elements with the same instant are removed in the order of insertion.
    package mutating func insert(_ element: Element, due: Instant) {
        deadlines.schedule(slab.insert(element).index, at: due)
        earliest = deadlines.earliest
    }

    package mutating func popFirst() -> Element? {
        guard let first = deadlines.popFirst() else { return nil }
        earliest = deadlines.earliest
        return slab.remove(Handle(UInt32(first)))
    }

    /// Removes all elements for which `isRemoved` is true, in O(n log n).
    package mutating func removeAll(where isRemoved: (Element) -> Bool) -> [Element] {
        let removed = slab.handles.filter { isRemoved(slab[$0]) }
        for handle in removed { deadlines.schedule(handle.index, at: nil) }
        earliest = deadlines.earliest
        return removed.map { slab.remove($0) }
    }
}

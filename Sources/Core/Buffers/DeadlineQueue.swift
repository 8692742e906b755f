import DequeModule

/// Elements by due time, earliest first.
///
/// A sorted ring: a binary search finds an element's place, and the elements on its shorter side move. Most elements
/// are due last, and are appended.
package struct DeadlineQueue<Element> {
    private var entries = Deque<(due: Instant, element: Element)>()
    /// When the earliest element is due; ``Instant/distantFuture`` while the queue is empty.
    ///
    /// It is stored, because every turn of a loop reads it. A method of a generic type in another module would look up
    /// its types on each call.
    package private(set) var earliest = Instant.distantFuture

    package init() {}

    package var count: Int { entries.count }

    /// Every element, earliest first.
    package var elements: [Element] { entries.map(\.element) }

    /// Elements with the same instant are removed in the order of insertion.
    package mutating func insert(_ element: Element, due: Instant) {
        let place = firstIndex { due < $0 }
        entries.insert((due, element), at: place)
        noteEarliest()
    }

    package mutating func popFirst() -> Element? {
        let first = entries.popFirst()
        noteEarliest()
        return first?.element
    }

    /// Removes all elements for which `isRemoved` is true, in O(n).
    package mutating func removeAll(where isRemoved: (Element) -> Bool) -> [Element] {
        let removed = elements.filter(isRemoved)
        entries.removeAll { isRemoved($0.element) }
        noteEarliest()
        return removed
    }

    private mutating func noteEarliest() {
        earliest = entries.first?.due ?? .distantFuture
    }

    /// The index of the first entry whose due time meets a condition, as all later ones do: a binary search.
    private func firstIndex(where isMet: (Instant) -> Bool) -> Int {
        var range = 0..<entries.count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            range = isMet(entries[middle].due) ? range.lowerBound..<middle : (middle + 1)..<range.upperBound
        }
        return range.lowerBound
    }
}

extension DeadlineQueue<Int> {
    /// Removes a number that was inserted with this due time.
    mutating func remove(_ number: Int, due: Instant) {
        var place = firstIndex { due <= $0 }
        while entries[place].element != number { place += 1 }
        entries.remove(at: place)
        noteEarliest()
    }
}

/// Elements with consecutive numbers, removed in any order: deliveries, publishes that wait for their confirm, open
/// streams.
///
/// A ring that grows to the largest span between the oldest and the newest number; insertion, lookup and removal are
/// O(1).
@usableFromInline
package struct SequenceTable<Element> {
    /// An element's index is its number modulo the capacity, a power of two.
    @usableFromInline var ring: [Element?] = Array(repeating: nil, count: 64)
    /// The lowest number with an element; ``next`` if there is none.
    @usableFromInline
    package internal(set) var oldest: UInt64
    /// The number after the newest one.
    @usableFromInline
    package internal(set) var next: UInt64

    @usableFromInline
    package internal(set) var count = 0

    /// - Parameter first: the first ``next``; an empty table may resume at any number.
    package init(first: UInt64 = 0) {
        oldest = first
        next = first
    }

    package var capacity: Int { ring.count }

    /// While the table is not empty, each number must follow its predecessor.
    @inlinable
    @inline(__always)
    package mutating func insert(_ element: consuming Element, at sequence: UInt64) {
        if count == 0 {
            oldest = sequence
        } else {
            precondition(sequence == next, "elements are numbered one after the other")
        }
        next = sequence + 1
        if next - oldest > UInt64(ring.count) { grow() }
        ring[slot(sequence)] = element
        count += 1
    }

    @inlinable
    package mutating func remove(_ sequence: UInt64) -> Element {
        guard let element = take(sequence) else { preconditionFailure("an element is removed once") }
        return element
    }

    /// Removes the element with this number; `nil` if there is none.
    @inlinable
    @inline(__always)
    @discardableResult
    package mutating func take(_ sequence: UInt64) -> Element? {
        guard sequence >= oldest, sequence < next, let element = ring[slot(sequence)].take() else { return nil }
        count -= 1
        while oldest < next, ring[slot(oldest)] == nil { oldest += 1 }
        return element
    }

    /// Replaces the element with this number.
    @inlinable
    package mutating func replace(_ sequence: UInt64, with element: consuming Element) {
        precondition(self[sequence] != nil, "only an element can be replaced")
        ring[slot(sequence)] = element
    }

    /// The element with this number; `nil` if there is none.
    @inlinable
    package subscript(sequence: UInt64) -> Element? {
        sequence >= oldest && sequence < next ? ring[slot(sequence)] : nil
    }

    /// Every element, oldest first.
    package var elements: [Element] {
        (oldest..<next).compactMap { ring[slot($0)] }
    }

    /// The numbers of the elements, oldest first.
    package var sequences: [UInt64] {
        (oldest..<next).filter { ring[slot($0)] != nil }
    }

    @inlinable
    func slot(_ sequence: UInt64) -> Int {
        Int(truncatingIfNeeded: sequence) & (ring.count - 1)
    }

    @usableFromInline
    mutating func grow() {
        let old = ring
        ring = Array(repeating: nil, count: old.count * 2)
        for sequence in oldest..<(next - 1) {
            ring[slot(sequence)] = old[Int(truncatingIfNeeded: sequence) & (old.count - 1)]
        }
    }
}

/// Elements with consecutive numbers, removed in any order: deliveries, publishes that wait for their confirm, open
/// streams.
///
/// A ring of the newest numbers; insertion, lookup and removal are O(1). A few old elements, whose successors have been
/// removed, move out of the ring, so that they do not make it grow.
@usableFromInline
package struct SequenceTable<Element> {
    /// An element's index is its number modulo the capacity, a power of two.
    @usableFromInline var ring: [Element?] = Array(repeating: nil, count: 64)
    /// The lowest number with an element in the ring; ``next`` if there is none.
    @usableFromInline var start: UInt64
    /// The elements before ``start``, oldest first.
    @usableFromInline var stragglers: [(sequence: UInt64, element: Element)] = []
    /// The number after the newest one.
    @usableFromInline
    package internal(set) var next: UInt64

    @usableFromInline
    package internal(set) var count = 0

    /// - Parameter first: the first ``next``; an empty table may resume at any number.
    package init(first: UInt64 = 0) {
        start = first
        next = first
    }

    package var capacity: Int { ring.count }

    /// The lowest number with an element; ``next`` if there is none.
    @inlinable
    package var oldest: UInt64 { stragglers.isEmpty ? start : stragglers[0].sequence }

    /// While the table is not empty, each number must follow its predecessor.
    @inlinable
    @inline(__always)
    package mutating func insert(_ element: consuming Element, at sequence: UInt64) {
        if count == 0 {
            start = sequence
        } else {
            precondition(sequence == next, "elements are numbered one after the other")
        }
        next = sequence + 1
        if next - start > UInt64(ring.count) { makeRoom() }
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
        guard sequence >= start else {
            guard let index = straggler(sequence) else { return nil }
            count -= 1
            return stragglers.remove(at: index).element
        }
        guard sequence < next, let element = ring[slot(sequence)].take() else { return nil }
        count -= 1
        while start < next, ring[slot(start)] == nil { start += 1 }
        return element
    }

    @inlinable
    package mutating func replace(_ sequence: UInt64, with element: consuming Element) {
        precondition(self[sequence] != nil, "only an element can be replaced")
        if let index = straggler(sequence) {
            stragglers[index].element = element
        } else {
            ring[slot(sequence)] = element
        }
    }

    /// The element with this number; `nil` if there is none.
    @inlinable
    package subscript(sequence: UInt64) -> Element? {
        if sequence >= start { return sequence < next ? ring[slot(sequence)] : nil }
        return straggler(sequence).map { stragglers[$0].element }
    }

    /// The lowest number with an element that is at least `sequence`; `nil` if there is none.
    @inlinable
    package func first(from sequence: UInt64) -> UInt64? {
        let index = firstStraggler(from: sequence)
        if index < stragglers.count { return stragglers[index].sequence }
        var number = max(sequence, start)
        while number < next, ring[slot(number)] == nil { number += 1 }
        return number < next ? number : nil
    }

    /// Every element, oldest first.
    package var elements: [Element] {
        stragglers.map(\.element) + (start..<next).compactMap { ring[slot($0)] }
    }

    package var sequences: [UInt64] {
        stragglers.map(\.sequence) + (start..<next).filter { ring[slot($0)] != nil }
    }

    @inlinable
    func slot(_ sequence: UInt64) -> Int {
        Int(truncatingIfNeeded: sequence) & (ring.count - 1)
    }

    @inlinable
    func straggler(_ sequence: UInt64) -> Int? {
        let index = firstStraggler(from: sequence)
        return index < stragglers.count && stragglers[index].sequence == sequence ? index : nil
    }

    /// The index of the first straggler with at least this number: a binary search.
    @inlinable
    func firstStraggler(from sequence: UInt64) -> Int {
        var range = 0..<stragglers.count
        while let middle = range.isEmpty ? nil : (range.lowerBound + range.upperBound) / 2 {
            range = stragglers[middle].sequence < sequence ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    @usableFromInline
    mutating func makeRoom() {
        guard count - stragglers.count > ring.count / 4 else {
            // The slot of the newest number is still that of an older one.
            while start < next - UInt64(ring.count / 2) {
                if let element = ring[slot(start)].take() { stragglers.append((start, element)) }
                start += 1
            }
            while start < next - 1, ring[slot(start)] == nil { start += 1 }
            return
        }
        let old = ring
        ring = Array(repeating: nil, count: old.count * 2)
        for sequence in start..<(next - 1) {
            ring[slot(sequence)] = old[Int(truncatingIfNeeded: sequence) & (old.count - 1)]
        }
    }
}

/// Elements with consecutive numbers, removed in any order: publishes that wait for their confirm.
///
/// A ring that grows to the largest span between the oldest and the newest number; both operations are O(1).
struct SequenceTable<Element> {
    private var ring: [Element?] = Array(repeating: nil, count: 64)
    private var oldest: UInt64 = 0
    private var next: UInt64 = 0

    init() {}

    private(set) var count = 0

    /// While the table is not empty, each number must follow its predecessor.
    mutating func insert(_ element: consuming Element, at sequence: UInt64) {
        if count == 0 {
            oldest = sequence
        } else {
            precondition(sequence == next, "publishes are numbered one after the other")
        }
        next = sequence + 1
        if next - oldest > UInt64(ring.count) { grow() }
        ring[slot(sequence)] = element
        count += 1
    }

    mutating func remove(_ sequence: UInt64) -> Element {
        guard sequence >= oldest, sequence < next, let element = ring[slot(sequence)].take() else {
            preconditionFailure("each publish ends once")
        }
        count -= 1
        while oldest < next, ring[slot(oldest)] == nil { oldest += 1 }
        return element
    }

    /// Every element, oldest first.
    var elements: [Element] {
        (oldest..<next).compactMap { ring[slot($0)] }
    }

    private func slot(_ sequence: UInt64) -> Int {
        Int(truncatingIfNeeded: sequence) & (ring.count - 1)
    }

    private mutating func grow() {
        let old = ring
        ring = Array(repeating: nil, count: old.count * 2)
        for sequence in oldest..<(next - 1) {
            ring[slot(sequence)] = old[Int(truncatingIfNeeded: sequence) & (old.count - 1)]
        }
    }
}

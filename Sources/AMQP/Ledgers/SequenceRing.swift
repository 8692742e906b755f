/// A ring buffer indexed by sequence number. It grows to the widest span of numbers in use.
///
/// The owner tracks which numbers are in use. All operations but growing are O(1).
struct SequenceRing<Element> {
    /// An element's index is its number modulo the capacity, a power of two.
    private var slots: [Element]
    private let vacant: Element

    /// - Parameter vacant: the value of an unused slot.
    init(vacant: Element) {
        slots = Array(repeating: vacant, count: 64)
        self.vacant = vacant
    }

    var capacity: Int { slots.count }

    subscript(number: UInt64) -> Element {
        @inline(__always) get { slots[Int(truncatingIfNeeded: number) & (slots.count - 1)] }
        @inline(__always) _modify { yield &slots[Int(truncatingIfNeeded: number) & (slots.count - 1)] }
    }

    /// Makes room for the number `next`; the numbers from `first` on are in use.
    @inline(__always)
    mutating func makeRoom(from first: UInt64, for next: UInt64) {
        if Int(next - first) == slots.count { grow(first..<next) }
    }

    @inline(never)
    private mutating func grow(_ used: Range<UInt64>) {
        let old = slots
        slots = Array(repeating: vacant, count: old.count * 2)
        for number in used { self[number] = old[Int(truncatingIfNeeded: number) & (old.count - 1)] }
    }
}

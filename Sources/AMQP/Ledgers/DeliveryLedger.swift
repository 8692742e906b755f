package import Core

/// Tracks the held deliveries of one connection and the acks that are due.
///
/// Deliveries are settled in any order, but an ack with `multiple` covers all up to its tag. The ledger joins
/// neighbours into one multiple ack and delays it to join more, but not while the broker waits for it. Settled
/// deliveries behind a held one are islands; after a time limit they are acked individually. A ledger belongs to one
/// epoch and refuses tags of another.
package struct DeliveryLedger {
    /// This many neighbours are acked without further delay.
    static let batch = 64
    /// The longest time that a settled delivery waits for neighbours.
    static let delay = Duration.milliseconds(5)
    /// The longest time that islands wait for the delivery before them.
    static let headOfLine = Duration.milliseconds(250)

    package enum Acknowledgement: Equatable, Sendable {
        case one(UInt64)
        case upTo(UInt64)
    }

    private enum State: UInt8 {
        case held
        case settled
    }

    /// Settled deliveries behind one that is still held.
    private struct Islands {
        var count = 0
        /// A lower bound for the first island's tag.
        var first: UInt64
    }

    /// Since when there have been neighbours and islands; `nil` for none. Read without a copy of the ledger.
    struct Since {
        var neighbours: Instant?
        var islands: Instant?

        var deadline: Instant? {
            let first = neighbours.map { $0 + DeliveryLedger.delay }
            guard let second = islands.map({ $0 + DeliveryLedger.headOfLine }) else { return first }
            return first.map { min($0, second) } ?? second
        }
    }

    package let epoch: UInt32
    package let first: UInt64

    /// The tags from the lowest held one on that are not acked or rejected.
    private var states: SequenceTable<State>
    package private(set) var next: UInt64
    /// The highest settled but unacked tag before `head`, and the number of such deliveries.
    private var lastNeighbour: UInt64 = 0
    private var neighbours = 0
    private(set) var since = Since()
    private var islands: Islands
    private var isFlushing = false
    /// The number of unacked deliveries at which the broker pauses.
    var prefetch = UInt16.max

    /// The number of unsettled deliveries.
    package private(set) var held = 0

    /// - Parameter first: the number of the first delivery; numbers continue from one channel to the next.
    package init(epoch: UInt32, first: UInt64 = 1) {
        self.epoch = epoch
        self.first = first
        states = SequenceTable(first: first)
        next = first
        islands = Islands(first: first)
    }

    /// The lowest held tag; all tags before it are settled or rejected.
    private var head: UInt64 { states.oldest }

    /// The number of settled deliveries whose ack is not sent yet.
    package var waiting: Int { neighbours + islands.count }

    /// Records a delivery. Returns false when its tag is not the next one, which is a protocol violation.
    package mutating func deliveryReceived(_ tag: UInt64) -> Bool {
        guard tag == next else { return false }
        states.insert(.held, at: tag)
        next += 1
        held += 1
        return true
    }

    /// Settles a delivery. Returns false when it is not held in this epoch; then no ack must be sent for it.
    @discardableResult
    package mutating func settle(_ tag: UInt64, epoch: UInt32, at now: Instant) -> Bool {
        guard epoch == self.epoch, holds(tag) else { return false }
        held -= 1
        if tag == head {
            joinNeighbours(at: now)
            advance(at: now)
        } else {
            states.replace(tag, with: .settled)
            islands.count += 1
            islands.first = min(islands.first, tag)
            if since.islands == nil { since.islands = now }
        }
        if 2 * waiting >= prefetch { isFlushing = true }
        return true
    }

    /// Records a nack, which the caller sends. Returns false when the delivery is not held in this epoch.
    package mutating func reject(_ tag: UInt64, epoch: UInt32, at now: Instant) -> Bool {
        guard epoch == self.epoch, holds(tag) else { return false }
        held -= 1
        let isHead = tag == head
        states.take(tag)
        if isHead { advance(at: now) }
        return true
    }

    /// Whether a tag is delivered and not settled.
    package func holds(_ tag: UInt64) -> Bool {
        states[tag] == .held
    }

    /// Makes the acks of all settled deliveries due.
    package mutating func flush() {
        isFlushing = waiting > 0
    }

    package mutating func nextAcknowledgement(at now: Instant) -> Acknowledgement? {
        if let start = since.neighbours,
            isFlushing || neighbours >= Self.batch || held == 0 || now >= start + Self.delay
        {
            let tag = lastNeighbour
            let count = neighbours
            neighbours = 0
            since.neighbours = nil
            if waiting == 0 { isFlushing = false }
            return count == 1 ? .one(tag) : .upTo(tag)
        }
        if let start = since.islands, isFlushing || now >= start + Self.headOfLine { return acknowledgeIsland() }
        return nil
    }

    // Rare: inlined, it would slow every call of its caller.
    @inline(never)
    private mutating func acknowledgeIsland() -> Acknowledgement? {
        // A later search starts at the island just found, so a burst of islands costs one pass through the ring.
        for tag in max(head, islands.first)..<next where states[tag] == .settled {
            islands.first = tag + 1
            states.take(tag)
            islands.count -= 1
            if islands.count == 0 {
                since.islands = nil
                isFlushing = false
            }
            return .one(tag)
        }
        preconditionFailure("every island must lie between the head and the end")
    }

    /// Moves the head to the next held tag; settled tags before it become neighbours.
    @inline(__always)
    private mutating func advance(at now: Instant) {
        while islands.count > 0, states[head] == .settled {
            islands.count -= 1
            joinNeighbours(at: now)
        }
        if islands.count == 0 { since.islands = nil }
    }

    @inline(__always)
    private mutating func joinNeighbours(at now: Instant) {
        neighbours += 1
        lastNeighbour = head
        if since.neighbours == nil { since.neighbours = now }
        states.take(head)
    }
}

package import Core

/// Which deliveries of one connection are held, and which acks are due.
///
/// Deliveries end in any order, the broker takes acks "up to here": the ledger joins neighbours into one multiple ack
/// and lets it wait for more of them. Settled deliveries behind one that is still held are islands; when that one takes
/// too long they are acked singly. A ledger belongs to one epoch and refuses tags of another.
///
/// Conservation: delivered = held + waiting + acknowledged + rejected.
package struct DeliveryLedger {
    /// When acks are sent.
    package struct Limits: Sendable {
        /// This many neighbours are acked without waiting for more.
        package var batch = 64
        /// A settled delivery waits for neighbours no longer than this.
        package var delay = Duration.milliseconds(5)
        /// Islands wait for the delivery before them no longer than this.
        package var headOfLine = Duration.milliseconds(250)

        package init() {}
    }

    /// An ack to send.
    package enum Acknowledgement: Equatable, Sendable {
        case one(UInt64)
        case upTo(UInt64)
    }

    private enum State: UInt8 {
        case held
        case settled
        case ended
    }

    /// Settled deliveries behind one that is still held.
    private struct Islands {
        var count = 0
        /// Since when they have waited for the delivery at the head; `nil` where there is none.
        var since: Instant?
        /// No island lies before this tag.
        var first: UInt64
    }

    package let epoch: UInt32
    package let limits: Limits
    /// The number of the first delivery.
    package let first: UInt64

    /// The states of the tags from `head` to `next`.
    private var states = SequenceRing(vacant: State.ended)
    /// The lowest tag that is held; everything before it is settled or rejected.
    private var head: UInt64
    /// The number that the next delivery gets.
    package private(set) var next: UInt64
    /// The highest settled tag before `head` that is not acked yet, and how many they are.
    private var mark: UInt64 = 0
    private var neighbours = 0
    private var neighboursSince: Instant?
    private var islands: Islands
    private var isFlushing = false

    /// Delivered and not settled.
    package private(set) var held = 0
    package private(set) var acknowledged = 0
    package private(set) var rejected = 0

    /// - Parameter first: the number of the first delivery, so that numbers go on where a channel follows another.
    package init(epoch: UInt32, limits: Limits = Limits(), first: UInt64 = 1) {
        self.epoch = epoch
        self.limits = limits
        self.first = first
        head = first
        next = first
        islands = Islands(first: first)
    }

    package var delivered: Int { Int(next - first) }

    /// Settled, with an ack that is not sent yet.
    package var waiting: Int { neighbours + islands.count }

    package var isConserved: Bool {
        delivered == held + waiting + acknowledged + rejected
    }

    /// A delivery came; false when its tag is not the next one, which no broker does.
    package mutating func deliveryReceived(_ tag: UInt64) -> Bool {
        guard tag == next else { return false }
        states.makeRoom(from: head, for: next)
        next += 1
        states[tag] = .held
        held += 1
        return true
    }

    /// A delivery is done with; false when it is not held in this epoch, and then nothing is to be sent for it.
    @discardableResult
    package mutating func settle(_ tag: UInt64, epoch: UInt32, at now: Instant) -> Bool {
        guard epoch == self.epoch, holds(tag) else { return false }
        held -= 1
        states[tag] = .settled
        islands.count += 1
        islands.first = min(islands.first, tag)
        if tag == head {
            advance(at: now)
        } else if islands.since == nil {
            islands.since = now
        }
        return true
    }

    /// A delivery goes back by a nack that the caller sends; false when it is not held in this epoch.
    package mutating func reject(_ tag: UInt64, epoch: UInt32, at now: Instant) -> Bool {
        guard epoch == self.epoch, holds(tag) else { return false }
        held -= 1
        rejected += 1
        states[tag] = .ended
        if tag == head { advance(at: now) }
        return true
    }

    /// Whether a tag is delivered and not settled.
    package func holds(_ tag: UInt64) -> Bool {
        tag >= head && tag < next && states[tag] == .held
    }

    /// Everything that is settled becomes due: nothing is to wait any longer.
    package mutating func flush() {
        isFlushing = waiting > 0
    }

    /// The next ack that is due.
    package mutating func nextAcknowledgement(at now: Instant) -> Acknowledgement? {
        if neighbours > 0, neighboursAreDue(at: now) {
            let tag = mark
            let count = neighbours
            acknowledged += count
            neighbours = 0
            neighboursSince = nil
            if waiting == 0 { isFlushing = false }
            return count == 1 ? .one(tag) : .upTo(tag)
        }
        if islands.count > 0, islandsAreDue(at: now) { return acknowledgeIsland() }
        return nil
    }

    package var nextDeadline: Instant? {
        let first = neighboursSince.map { $0 + limits.delay }
        guard let second = islands.since.map({ $0 + limits.headOfLine }) else { return first }
        return first.map { min($0, second) } ?? second
    }

    private func neighboursAreDue(at now: Instant) -> Bool {
        if isFlushing || neighbours >= limits.batch || held == 0 { return true }
        guard let neighboursSince else { return false }
        return now >= neighboursSince + limits.delay
    }

    private func islandsAreDue(at now: Instant) -> Bool {
        if isFlushing { return true }
        guard let since = islands.since else { return false }
        return now >= since + limits.headOfLine
    }

    private mutating func acknowledgeIsland() -> Acknowledgement? {
        // What one island is searched for is not searched again: a burst of them costs one way through the ring.
        for tag in max(head, islands.first)..<next where states[tag] == .settled {
            islands.first = tag + 1
            states[tag] = .ended
            islands.count -= 1
            acknowledged += 1
            if islands.count == 0 {
                islands.since = nil
                isFlushing = false
            }
            return .one(tag)
        }
        preconditionFailure("every island lies between the head and the end")
    }

    /// Moves the head to the next held tag; settled ones on the way become neighbours.
    private mutating func advance(at now: Instant) {
        while head < next, states[head] != .held {
            if states[head] == .settled {
                islands.count -= 1
                neighbours += 1
                mark = head
                if neighboursSince == nil { neighboursSince = now }
            }
            head += 1
        }
        // The head is another one, and has its own time.
        islands.since = islands.count > 0 ? now : nil
    }
}

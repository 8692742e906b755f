import AMQP
import Core
import Testing

@Suite("Delivery ledger")
struct DeliveryLedgerTests {
    /// The broker's view of the acks.
    struct Sent {
        var open: Set<UInt64> = []
        var wrong = 0

        mutating func receive(_ acknowledgement: DeliveryLedger.Acknowledgement) -> Set<UInt64> {
            var closed: Set<UInt64>
            switch acknowledgement {
            case .one(let tag): closed = [tag]
            case .upTo(let tag):
                if !open.contains(tag) { wrong += 1 }
                closed = open.filter { $0 <= tag }
            }
            if !closed.isSubset(of: open) { wrong += 1 }
            open.subtract(closed)
            return closed
        }
    }

    static let start = Instant(nanoseconds: 0)

    @Test("Random walks conserve deliveries, and no ack covers an unsettled one")
    func randomWalks() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<50 {
            var ledger = DeliveryLedger(epoch: 3)
            var sent = Sent()
            var held: [UInt64] = []
            var settled: Set<UInt64> = []
            var next: UInt64 = 1
            var now = Self.start
            for _ in 0..<1000 {
                now = now + .microseconds(Int.random(in: 0...20_000, using: &random))
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    try #require(ledger.deliveryReceived(next) == true)
                    held.append(next)
                    sent.open.insert(next)
                    next += 1
                case 5..<8 where !held.isEmpty:
                    let tag = held.remove(at: Int.random(in: 0..<held.count, using: &random))
                    try #require(ledger.settle(tag, epoch: 3, at: now) == true)
                    try #require(ledger.settle(tag, epoch: 3, at: now) == false)
                    settled.insert(tag)
                case 8 where !held.isEmpty:
                    let tag = held.remove(at: Int.random(in: 0..<held.count, using: &random))
                    try #require(ledger.reject(tag, epoch: 3, at: now) == true)
                    sent.open.remove(tag)
                default:
                    let tag = UInt64.random(in: 0...next + 5, using: &random)
                    try #require(ledger.settle(tag, epoch: 2, at: now) == false)
                }
                if Int.random(in: 0..<20, using: &random) == 0 { ledger.flush() }
                while let acknowledgement = ledger.nextAcknowledgement(at: now) {
                    try #require(sent.receive(acknowledgement).isSubset(of: settled), "seed \(seed)")
                }
                try #require(ledger.held + ledger.waiting == sent.open.count, "seed \(seed)")
                try #require(ledger.held == held.count)
            }
            for tag in held { ledger.settle(tag, epoch: 3, at: now) }
            ledger.flush()
            while let acknowledgement = ledger.nextAcknowledgement(at: now) { _ = sent.receive(acknowledgement) }
            try #require(sent.open.isEmpty, "seed \(seed)")
            try #require(sent.wrong == 0, "seed \(seed)")
            try #require(ledger.held == 0 && ledger.waiting == 0)
        }
    }

    @Test("64 adjacent deliveries are acked by one ack, at once")
    func batch() {
        var ledger = DeliveryLedger(epoch: 1)
        for tag: UInt64 in 1...100 { #expect(ledger.deliveryReceived(tag) == true) }
        for tag: UInt64 in 1...63 { ledger.settle(tag, epoch: 1, at: Self.start) }
        #expect(ledger.nextAcknowledgement(at: Self.start) == nil)
        ledger.settle(64, epoch: 1, at: Self.start)
        #expect(ledger.nextAcknowledgement(at: Self.start) == .upTo(64))
        #expect(ledger.nextAcknowledgement(at: Self.start) == nil)
    }

    @Test("A flush with a held tag between settled ones acks up to the held one, and those behind it singly")
    func flushAroundHeld() {
        var ledger = DeliveryLedger(epoch: 1)
        for tag: UInt64 in 1...6 { #expect(ledger.deliveryReceived(tag) == true) }
        for tag: UInt64 in [1, 2, 4, 5] { #expect(ledger.settle(tag, epoch: 1, at: Self.start) == true) }
        ledger.flush()
        var acks: [DeliveryLedger.Acknowledgement] = []
        while let acknowledgement = ledger.nextAcknowledgement(at: Self.start) { acks.append(acknowledgement) }
        #expect(acks == [.upTo(2), .one(4), .one(5)])
        #expect(ledger.holds(3) && ledger.holds(6) && ledger.held == 2 && ledger.waiting == 0)
    }

    @Test("A tag that is out of order, in the future or of another epoch is refused")
    func strangers() {
        var ledger = DeliveryLedger(epoch: 1)
        #expect(ledger.deliveryReceived(2) == false)
        #expect(ledger.deliveryReceived(1) == true)
        #expect(ledger.settle(1, epoch: 0, at: Self.start) == false)
        #expect(ledger.settle(2, epoch: 1, at: Self.start) == false)
        #expect(ledger.settle(0, epoch: 1, at: Self.start) == false)
        #expect(ledger.reject(1, epoch: 2, at: Self.start) == false)
        #expect(ledger.holds(1))
    }

    @Test("Settled deliveries among held ones are acked in one pass, however many there are", .timeLimit(.minutes(15)))
    func islands() {
        let count: UInt64 = 200_000
        var ledger = DeliveryLedger(epoch: 1)
        for tag in 1...count { _ = ledger.deliveryReceived(tag) }
        // Every second one, from both ends; the first stays held.
        let even = stride(from: UInt64(2), through: count, by: 2)
        for tag in Array(even) { ledger.settle(tag, epoch: 1, at: Self.start) }
        let due = Self.start + .milliseconds(250)
        var acked: [UInt64] = []
        while case .one(let tag) = ledger.nextAcknowledgement(at: due) {
            acked.append(tag)
            // A delivery that is settled behind the search position is found too.
            if tag == count / 2 { ledger.settle(3, epoch: 1, at: due) }
        }
        #expect(acked.count == Int(count / 2) + 1)
        #expect(Set(acked) == Set(even).union([3]))
        #expect(ledger.held == Int(count) - acked.count && ledger.waiting == 0)
    }

    @Test("An island waits no longer although the head moves on, twice in a row")
    func movingHead() {
        var ledger = DeliveryLedger(epoch: 1)
        var now = Self.start
        for tag in 1...40 as ClosedRange<UInt64> { _ = ledger.deliveryReceived(tag) }
        for (island, first) in [(20, 1), (40, 21)] as [(UInt64, UInt64)] {
            ledger.settle(island, epoch: 1, at: now)
            let since = now
            var sent: [DeliveryLedger.Acknowledgement] = []
            for step in 0..<10 as Range<UInt64> {
                now = since + .milliseconds(30) * Int(step)
                ledger.settle(first + step, epoch: 1, at: now)
                while let acknowledgement = ledger.nextAcknowledgement(at: now) { sent.append(acknowledgement) }
                #expect(sent.contains(.one(island)) == (now - since >= .milliseconds(250)), "\(step)")
            }
            for tag in first + 10..<island { ledger.settle(tag, epoch: 1, at: now) }
        }
    }
}

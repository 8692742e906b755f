import AMQP
import Core
import TestSupport
import Testing

@Suite("Confirm ledger")
struct ConfirmLedgerTests {
    /// The ledger's contract in its simplest form: each call searches all publishes.
    private struct NaiveLedger {
        struct Publish {
            let sequence: UInt64
            let fingerprint: UInt64
            var returned: AMQP.Confirmation?
        }

        let first: UInt64
        var published: UInt64 = 0
        var waiting: [Publish] = []

        mutating func publish(_ fingerprint: UInt64) {
            waiting.append(Publish(sequence: first + published, fingerprint: fingerprint))
            published += 1
        }

        mutating func giveBack(_ fingerprint: UInt64, _ text: String) -> Bool {
            guard let index = waiting.firstIndex(where: { $0.fingerprint == fingerprint && $0.returned == nil }) else {
                return false
            }
            waiting[index].returned = .returned(code: 312, text: text)
            return true
        }

        mutating func confirm(_ tag: UInt64, multiple: Bool, acked: Bool) -> [UInt64: AMQP.Confirmation] {
            let all = tag == 0 && multiple
            guard all || 1...max(published, 1) ~= tag, published > 0 else { return [:] }
            let last = all ? .max : first + tag - 1
            let ends = waiting.filter { multiple ? $0.sequence <= last : $0.sequence == last }
            waiting.removeAll { publish in ends.contains { $0.sequence == publish.sequence } }
            return Dictionary(uniqueKeysWithValues: ends.map { ($0.sequence, acked ? $0.returned ?? .acked : .nacked) })
        }
    }

    @Test("Random confirms, returns and losses end each publish once, with the broker's outcome")
    func randomWalks() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<50 {
            let first = UInt64.random(in: 1...1000, using: &random)
            let kinds = ([1, 3, 100, .max] as [UInt64]).randomElement(using: &random) ?? 1
            var ledger = ConfirmLedger(first: first)
            var naive = NaiveLedger(first: first)
            for step in 0..<1000 {
                var ends: [UInt64: AMQP.Confirmation] = [:]
                var count = 0
                func end(_ sequence: UInt64, _ confirmation: AMQP.Confirmation) {
                    ends[sequence] = confirmation
                    count += 1
                }
                var expected: [UInt64: AMQP.Confirmation] = [:]
                switch Int.random(in: 0..<9, using: &random) {
                case 0..<4:
                    let fingerprint = UInt64.random(in: 0..<kinds, using: &random)
                    try #require(
                        ledger.publishSent(fingerprint: fingerprint) == first + naive.published, "seed \(seed)")
                    naive.publish(fingerprint)
                case 4, 5:
                    let known = naive.waiting.randomElement(using: &random)?.fingerprint
                    let fingerprint = known ?? UInt64.random(in: 0..<kinds, using: &random)
                    let text = "NO_ROUTE \(step)"
                    let isTaken = ledger.returnReceived(fingerprint: fingerprint, code: 312, text: text)
                    try #require(isTaken == naive.giveBack(fingerprint, text), "seed \(seed)")
                default:
                    // Also tags that were confirmed before, and some that were never assigned.
                    let tag = UInt64.random(in: 0...naive.published + 3, using: &random)
                    let isMultiple = Int.random(in: 0..<8, using: &random) == 0
                    let isAcked = Bool.random(using: &random)
                    expected = naive.confirm(tag, multiple: isMultiple, acked: isAcked)
                    ledger.confirmReceived(tag: tag, multiple: isMultiple, acked: isAcked, end)
                }
                try #require(ends == expected && count == ends.count, "seed \(seed)")
                try #require(ledger.unconfirmed == naive.waiting.count, "seed \(seed)")
            }
            var lost: [UInt64] = []
            var isAllLost = true
            ledger.connectionLost { sequence, confirmation in
                lost.append(sequence)
                if confirmation != .lost { isAllLost = false }
            }
            try #require(isAllLost && lost == naive.waiting.map(\.sequence), "seed \(seed)")
            try #require(ledger.unconfirmed == 0, "seed \(seed)")
        }
    }

    @Test("Eight times as many unroutable publishes cost about eight times as much", arguments: [false, true])
    func manyReturns(areAlike: Bool) {
        func seconds(_ count: UInt64) -> Double {
            var ledger = ConfirmLedger()
            let begin = threadTime()
            for sequence in 1...count { _ = ledger.publishSent(fingerprint: areAlike ? 0 : sequence) }
            // As in RabbitMQ, each return is followed by its confirm, here the newest first.
            var returned = 0
            for sequence in (1...count).reversed() {
                if ledger.returnReceived(fingerprint: areAlike ? 0 : sequence, code: 312, text: "") { returned += 1 }
                guard sequence.isMultiple(of: 2) else { continue }
                ledger.confirmReceived(tag: sequence, multiple: false, acked: true) { _, _ in }
            }
            let taken = threadTime() - begin
            #expect(returned > Int(count) / 2)
            return taken / .seconds(1)
        }
        _ = seconds(1000)
        let few = (0..<5).map { _ in seconds(1000) }.min() ?? 0
        let many = (0..<3).map { _ in seconds(8000) }.min() ?? 0
        // A linear search would take 64 times as long.
        #expect(many < 24 * few, "\(few) s and \(many) s")
    }
}

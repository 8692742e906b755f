import AMQP
import Core
import Testing

@Suite("Confirm ledger")
struct ConfirmLedgerTests {
    @Test("Random confirms, returns and losses end each publish once")
    func randomWalks() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<50 {
            let first = UInt64.random(in: 1...1000, using: &random)
            var ledger = ConfirmLedger(first: first)
            var ends: [UInt64: AMQP.Confirmation] = [:]
            var returned: Set<UInt64> = []
            func end(_ sequence: UInt64, _ confirmation: AMQP.Confirmation) {
                #expect(ends.updateValue(confirmation, forKey: sequence) == nil, "seed \(seed)")
            }
            for _ in 0..<1000 {
                let last = ledger.nextSequence - first
                switch Int.random(in: 0..<8, using: &random) {
                case 0..<4:
                    let sequence = ledger.nextSequence
                    #expect(ledger.publishSent(fingerprint: sequence) == sequence)
                case 4 where last > 0:
                    let sequence = first + UInt64.random(in: 0..<last, using: &random)
                    let isNew = ends[sequence] == nil && !returned.contains(sequence)
                    #expect(ledger.returnReceived(fingerprint: sequence, code: 312, text: "NO_ROUTE") == isNew)
                    if isNew { returned.insert(sequence) }
                case 5, 6:
                    // Also tags that were confirmed before, and some that were never given.
                    let tag = UInt64.random(in: 0...last + 3, using: &random)
                    ledger.confirmReceived(tag: tag, multiple: false, acked: .random(using: &random), end)
                default:
                    guard last > 0, Int.random(in: 0..<10, using: &random) == 0 else { break }
                    let tag = UInt64.random(in: 1...last, using: &random)
                    ledger.confirmReceived(tag: tag, multiple: true, acked: true, end)
                }
                #expect(ledger.isConserved, "seed \(seed)")
                #expect(ledger.ended == ends.count, "seed \(seed)")
            }
            ledger.connectionLost(end)
            #expect(ledger.unconfirmed == 0)
            #expect(ends.count == ledger.published, "seed \(seed)")
            #expect(!returned.contains { ends[$0] == .acked }, "seed \(seed)")
        }
    }

    @Test("Every order of confirming four publishes ends each once", arguments: [false, true])
    func everyOrder(multiple: Bool) {
        for first: UInt64 in 1...4 {
            for second: UInt64 in 1...4 {
                for third: UInt64 in 1...4 {
                    var ledger = ConfirmLedger()
                    for _ in 0..<4 { _ = ledger.publishSent(fingerprint: 0) }
                    var ended: [UInt64] = []
                    for tag in [first, second, third] {
                        ledger.confirmReceived(tag: tag, multiple: multiple, acked: true) { sequence, _ in
                            ended.append(sequence)
                        }
                    }
                    let expected = multiple ? Set(1...max(first, second, third)) : [first, second, third]
                    #expect(Set(ended) == expected)
                    #expect(ended.count == expected.count)
                    #expect(ledger.unconfirmed == 4 - expected.count)
                }
            }
        }
    }

    @Test("A return waits for the confirm of its publish, and of two alike the older gets it")
    func returns() {
        var ledger = ConfirmLedger()
        for fingerprint: UInt64 in [5, 6, 6] { _ = ledger.publishSent(fingerprint: fingerprint) }
        #expect(ledger.returnReceived(fingerprint: 6, code: 312, text: "NO_ROUTE") == true)
        #expect(ledger.returnReceived(fingerprint: 7, code: 312, text: "NO_ROUTE") == false)
        var ends: [AMQP.Confirmation] = []
        ledger.confirmReceived(tag: 0, multiple: true, acked: true) { _, confirmation in ends.append(confirmation) }
        #expect(ends == [.acked, .returned(code: 312, text: "NO_ROUTE"), .acked])
    }

    @Test("A returned message that is nacked counts as nacked")
    func returnedAndNacked() {
        var ledger = ConfirmLedger()
        _ = ledger.publishSent(fingerprint: 1)
        #expect(ledger.returnReceived(fingerprint: 1, code: 312, text: "NO_ROUTE") == true)
        ledger.confirmReceived(tag: 1, multiple: false, acked: false) { #expect(($0, $1) == (1, .nacked)) }
        #expect(ledger.ended == 1)
    }
}

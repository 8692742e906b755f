import TestSupport
import Testing

extension ProcessTests {
    /// Requests under every class of faults, half through a quorum queue and half through a classic one. Afterwards
    /// each request is a result, a dead letter, or still queued.
    @Suite("The ledger")
    struct LedgerTests {
        /// In total; `make ledger` has 100,000.
        private static let requests = TestEnvironment.ledgerRequests ?? 3_000

        @Test("no fault loses a request, and duplicates stay within what the fault explains")
        func everyFault() throws {
            // The broker detects a delivery timeout at the channels' ticks, a minute apart.
            let broker = try PrivateBroker(["advanced.config": "[{rabbit, [{channel_tick_interval, 500}]}]."])
            let all = Fault.all
            // An even number, for the two queues.
            let count = (Self.requests / all.count + 2) / 2 * 2
            var rows: [LedgerRow] = []
            for fault in all where TestEnvironment.ledgerFault.map({ fault.name.contains($0) }) ?? true {
                do {
                    rows.append(try fault.run(count, broker: broker))
                } catch {
                    Issue.record(error, "\(fault.name)")
                }
            }
            print(LedgerRow.table(rows))
            #expect(!rows.isEmpty)
        }
    }
}

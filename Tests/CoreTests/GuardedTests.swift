import Core
import Testing

@Suite("Guarded")
struct GuardedTests {
    private enum Refusal: Error { case refused }

    private struct Counter: ~Copyable, Sendable {
        let count = Guarded(0)
    }

    @Test("A change is kept, and a thrown error is rethrown")
    func change() {
        let counter = Counter()
        counter.count.withLock { $0 += 1 }
        #expect(throws: Refusal.refused) {
            try counter.count.withLock { count throws(Refusal) in
                count += 1
                throw .refused
            }
        }
        #expect(counter.count.withLock { $0 } == 2)
    }
}

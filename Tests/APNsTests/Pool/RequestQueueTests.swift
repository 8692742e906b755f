import APNs
import Core
import TestSupport
import Testing

@Suite("RequestQueue")
struct RequestQueueTests {
    /// Removes all requests, or `count` of them.
    private func drain(_ queue: inout RequestQueue, _ count: Int = .max) -> [Handle] {
        var taken: [Handle] = []
        while taken.count < count, let handle = queue.popFirst() { taken.append(handle) }
        return taken
    }

    @Test(
        "Higher ranks go first, each rank in FIFO order, and resends go before all",
        arguments: [
            ([0, 1, 2], [Handle](), [2, 1, 0] as [Handle]), ([5, 5, 5], [], [0, 1, 2]),
            ([0, 0, 4, 9, 4], [], [3, 2, 4, 0, 1]), ([0, 9, 0, 4], [2, 0], [2, 0, 1, 3]),
            ([8, 9, 255, 10], [], [1, 2, 3, 0]),
        ] as [([UInt8], [Handle], [Handle])])
    func order(ranks: [UInt8], ahead: [Handle], expected: [Handle]) {
        var queue = RequestQueue()
        for (handle, rank) in ranks.enumerated() where !ahead.contains(Handle(handle)) {
            queue.append(Handle(handle), rank: rank)
        }
        for handle in ahead { queue.appendAhead(handle) }
        #expect(queue.count == ranks.count)
        #expect(drain(&queue) == expected)
        #expect(queue.count == 0 && queue.first == nil)
    }

    @Test("When three ranks always wait, one of 17 is of the lowest, and one of 17 of the others of the middle")
    func shares() {
        var queue = RequestQueue()
        let ranks: [UInt8] = [9, 4, 0]
        var counts: [Int] = [0, 0, 0]
        for handle in 0..<30 { queue.append(Handle(handle), rank: ranks[handle % 3]) }
        for _ in 0..<17 * 17 * 100 {
            guard let handle = queue.popFirst() else { break }
            counts[handle.index % 3] += 1
            queue.append(handle, rank: ranks[handle.index % 3])
        }
        #expect(counts == [16 * 16 * 100, 16 * 100, 17 * 100])
    }

    @Test("A request that joins a passed-over rank late does not profit from its waiting time")
    func lateComer() {
        var queue = RequestQueue()
        queue.append(100, rank: 0)
        for handle in 0..<40 { queue.append(Handle(handle), rank: 1) }
        #expect(drain(&queue, 16) == Array(0..<16))
        queue.remove(100)
        queue.append(101, rank: 0)
        #expect(drain(&queue, 17) == Array(16..<32) + [101])
    }

    @Test("Resends do not count as turns, so they do not change how long other ranks wait")
    func resent() {
        var queue = RequestQueue()
        queue.append(100, rank: 0)
        for handle in 0..<20 { queue.append(Handle(handle), rank: 9) }
        _ = drain(&queue, 10)
        for handle in 200..<300 { queue.appendAhead(Handle(handle)) }
        #expect(drain(&queue, 100) == Array(200..<300))
        #expect(drain(&queue, 7) == [10, 11, 12, 13, 14, 15, 100])
    }

    @Test("In any sequence nothing is lost, and no rank is passed over for longer than the limit")
    func walk() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        var queue = RequestQueue()
        var model: [UInt8: [Handle]] = [:]
        var ahead: [Handle] = []
        var passed: [UInt8: Int] = [:]
        var next = Handle(0)
        for _ in 0..<20_000 {
            let rank = UInt8.random(in: 0...RequestQueue.highestRank, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9:
                if model[rank, default: []].isEmpty { passed[rank] = 0 }
                queue.append(next, rank: rank)
                model[rank, default: []].append(next)
                next += 1
            case 9:
                queue.appendAhead(next)
                ahead.append(next)
                next += 1
            case 10:
                guard let handle = model[rank]?.randomElement(using: &random) else { continue }
                queue.remove(handle)
                model[rank]?.removeAll { $0 == handle }
            default:
                let expected = queue.first
                let taken = queue.popFirst()
                try #require(taken == expected, "seed \(seed)")
                guard let taken else { continue }
                if !ahead.isEmpty {
                    try #require(ahead.removeFirst() == taken, "seed \(seed)")
                    continue
                }
                let own = try #require(model.first { $0.value.first == taken }?.key, "seed \(seed)")
                model[own]?.removeFirst()
                passed[own] = 0
                for lower in model.keys where lower < own { passed[lower, default: 0] += 1 }
                let isStillThere = queue.remove(taken)
                try #require(!isStillThere, "seed \(seed)")
            }
            try #require(queue.count == ahead.count + model.values.reduce(0) { $0 + $1.count }, "seed \(seed)")
            for (rank, waiting) in model where !waiting.isEmpty {
                try #require(passed[rank, default: 0] <= RequestQueue.maximumPasses, "seed \(seed)")
            }
        }
    }
}

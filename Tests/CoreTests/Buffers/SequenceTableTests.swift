import Core
import Testing

@Suite("Sequence table")
struct SequenceTableTests {
    @Test("An empty table resumes at any number")
    func restart() {
        var table = SequenceTable<Int>()
        table.insert(1, at: 100)
        #expect(table.remove(100) == 1 && table.oldest == 101)
        table.insert(2, at: 7)
        #expect(table.elements == [2] && table.oldest == 7 && table.next == 8)
    }

    @Test("A number without an element has nothing to take, and an element is replaced in its place")
    func absent() {
        var table = SequenceTable<Int>(first: 3)
        #expect(table.next == 3 && table.take(3) == nil)
        for number: UInt64 in 3..<6 { table.insert(Int(number), at: number) }
        table.replace(4, with: 40)
        #expect(table.take(3) == 3 && table.take(3) == nil && table.take(2) == nil && table.take(6) == nil)
        #expect(table.elements == [40, 5] && table.oldest == 4)
    }

    @Test("One old element does not make the table grow, and keeps its place", arguments: 1...2)
    func straggler(round: Int) {
        var table = SequenceTable<UInt64>()
        for _ in 0..<round {
            let old = table.next
            table.insert(old, at: old)
            for number in (old + 1)...(old + 100_000) {
                table.insert(number, at: number)
                #expect(table.take(number) == number)
            }
            table.insert(old + 100_001, at: old + 100_001)
            #expect(table.capacity <= 128)
            #expect(table[old] == old && table.oldest == old)
            #expect(table.first(from: 0) == old && table.first(from: old + 1) == old + 100_001)
            table.replace(old, with: 7)
            #expect(table.elements == [7, old + 100_001] && table.sequences == [old, old + 100_001])
            #expect(table.take(old) == 7 && table.take(old) == nil && table.take(old + 100_001) != nil)
            #expect(table.count == 0 && table.first(from: 0) == nil)
        }
    }

    @Test("Random walks agree with a dictionary")
    func randomWalks() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<50 {
            var table = SequenceTable<Int>()
            var model: [UInt64: Int] = [:]
            var next = UInt64.random(in: 0...1000, using: &random)
            for step in 0..<600 {
                if Int.random(in: 0..<10, using: &random) < (step < 300 ? 7 : 3) {
                    let element = Int.random(in: 0...Int.max, using: &random)
                    table.insert(element, at: next)
                    model[next] = element
                    next += 1
                } else if let number = model.keys.sorted().randomElement(using: &random) {
                    try #require(table.remove(number) == model.removeValue(forKey: number), "seed \(seed)")
                }
                try #require(table.count == model.count, "seed \(seed)")
                let number = UInt64.random(in: 0...next + 100, using: &random)
                try #require(table[number] == model[number], "seed \(seed)")
                try #require(table[next] == nil && table.take(next) == nil, "seed \(seed)")
            }
            try #require(table.sequences == model.keys.sorted(), "seed \(seed)")
            try #require(table.elements == model.sorted { $0.key < $1.key }.map(\.value), "seed \(seed)")
        }
    }
}

import Core
import Testing

@Suite("Handle table")
struct HandleTableTests {
    @Test("Random walks agree with a dictionary")
    func randomWalks() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        var table = HandleTable<Int>()
        var model: [Handle: Int] = [:]
        for step in 0..<5000 {
            let handle = Handle(UInt32.random(in: 0..<100, using: &random))
            try #require(table[handle] == model[handle], "seed \(seed)")
            if model[handle] == nil {
                table.insert(step, at: handle)
                model[handle] = step
            } else {
                try #require(table.remove(handle) == model.removeValue(forKey: handle), "seed \(seed)")
                try #require(table.remove(handle) == nil, "seed \(seed)")
            }
            try #require(table.count == model.count, "seed \(seed)")
        }
        #expect(table.handles == model.keys.sorted(), "seed \(seed)")
        #expect(table[Handle(5000)] == nil)
    }
}

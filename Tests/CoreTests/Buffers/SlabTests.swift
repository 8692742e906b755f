import Core
import TestSupport
import Testing

@Suite("Slab")
struct SlabTests {
    @Test("handles are reused only after removal, and every element is found by its own handle")
    func handles() throws {
        var slab = Slab<Int>()
        var model: [Handle: Int] = [:]
        var random = SplitMix64(seed: 11)
        var peak = 0
        for step in 0..<5000 {
            if Bool.random(using: &random) || model.isEmpty {
                let handle = slab.insert(step)
                try #require(model[handle] == nil && handle.index <= peak)
                model[handle] = step
                peak = max(peak, model.count)
            } else {
                let handle = model.keys.sorted().randomElement(using: &random)!
                slab.update(handle) { $0 += 1 }
                try #require(slab.remove(handle) == model.removeValue(forKey: handle).map { $0 + 1 })
                try #require(!slab.contains(handle))
            }
            try #require(slab.count == model.count)
        }
        try #require(Set(slab.handles) == Set(model.keys))
    }

    @Test("with another table's handles, random walks agree with a dictionary")
    func foreignHandles() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        var slab = Slab<Int>(givesHandles: false)
        var model: [Handle: Int] = [:]
        for step in 0..<5000 {
            let handle = Handle(UInt32.random(in: 0..<100, using: &random))
            try #require(slab.contains(handle) == (model[handle] != nil), "seed \(seed)")
            if let expected = model.removeValue(forKey: handle) {
                try #require(slab[handle] == expected, "seed \(seed)")
                try #require(slab.remove(handle) == expected, "seed \(seed)")
                try #require(!slab.contains(handle), "seed \(seed)")
            } else {
                slab.insert(step, at: handle)
                model[handle] = step
            }
            try #require(slab.count == model.count, "seed \(seed)")
        }
        #expect(slab.handles == model.keys.sorted(), "seed \(seed)")
        #expect(!slab.contains(Handle(5000)))
    }
}

import Core
import Testing

@Suite("Slab")
struct SlabTests {
    @Test("handles are reused only after removal, and every element is found by its own handle")
    func handles() throws {
        var slab = Slab<Int>()
        var model: [Handle: Int] = [:]
        var random = SplitMix64(seed: 11)
        for step in 0..<5000 {
            if Bool.random(using: &random) || model.isEmpty {
                let handle = slab.insert(step)
                try #require(model[handle] == nil)
                model[handle] = step
            } else {
                let handle = model.keys.sorted().randomElement(using: &random)!
                slab.update(handle) { $0 += 1 }
                let removed = slab.remove(handle)
                let expected = model.removeValue(forKey: handle)
                try #require(removed == expected.map { $0 + 1 })
                try #require(!slab.contains(handle))
            }
            try #require(slab.count == model.count)
        }
        try #require(Set(slab.handles) == Set(model.keys))
    }
}

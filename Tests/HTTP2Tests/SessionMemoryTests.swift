import CNghttp2
import Core
import Testing

@testable import HTTP2

@Suite("The memory of a session")
struct SessionMemoryTests {
    @Test("keeps what was written in every block, whatever is taken, resized and given back in between")
    func randomWalk() {
        @safe
        struct Block {
            let start: UnsafeMutableRawPointer
            let size: Int
            let mark: UInt8
        }
        let memory = SessionMemory()
        let functions = unsafe memory.functions
        var random = SplitMix64(seed: 512)
        var blocks: [Block] = []
        var mark: UInt8 = 0
        func fill(_ start: UnsafeMutableRawPointer, _ size: Int) {
            mark &+= 1
            unsafe start.initializeMemory(as: UInt8.self, repeating: mark, count: size)
            unsafe blocks.append(Block(start: start, size: size, mark: mark))
        }
        func holds(_ block: Block, _ count: Int) -> Bool {
            unsafe UnsafeRawBufferPointer(start: block.start, count: count).allSatisfy { $0 == block.mark }
        }
        for _ in 0..<20_000 {
            let size = [0, 1, 15, 16, 17, 100, 511, 512, 513, 5000].randomElement(using: &random)!
            switch Int.random(in: 0..<(blocks.count < 900 ? 4 : 3), using: &random) {
            case 0 where !blocks.isEmpty:
                let block = blocks.remove(at: Int.random(in: blocks.indices, using: &random))
                #expect(holds(block, block.size))
                unsafe functions.free(block.start, functions.mem_user_data)
            case 1 where !blocks.isEmpty:
                let block = blocks.remove(at: Int.random(in: blocks.indices, using: &random))
                let moved = unsafe functions.realloc(block.start, size, functions.mem_user_data)!
                let isKept = unsafe holds(Block(start: moved, size: size, mark: block.mark), min(size, block.size))
                #expect(isKept)
                unsafe fill(moved, size)
            case 2:
                let start = unsafe functions.calloc(size, 1, functions.mem_user_data)!
                let isEmpty = unsafe holds(Block(start: start, size: size, mark: 0), size)
                #expect(isEmpty)
                unsafe fill(start, size)
            default:
                let start = unsafe functions.malloc(size, functions.mem_user_data)!
                #expect(UInt(bitPattern: start) % 16 == 0)
                unsafe fill(start, size)
            }
        }
        for block in blocks {
            #expect(holds(block, block.size))
            unsafe functions.free(block.start, functions.mem_user_data)
        }
        #expect(memory.waiting > 0)
    }

    @Test("gives a block back that was returned last, and keeps no more of one size than its limit")
    func reuse() {
        let memory = SessionMemory()
        let functions = unsafe memory.functions
        let count = SessionMemory.maximumWaiting + 10
        let blocks = unsafe (0..<count).map { _ in unsafe functions.malloc(40, functions.mem_user_data)! }
        #expect(memory.waiting == 0)
        for index in 0..<count { unsafe functions.free(blocks[index], functions.mem_user_data) }
        #expect(memory.waiting == SessionMemory.maximumWaiting)
        #expect(unsafe functions.malloc(48, functions.mem_user_data) == blocks[SessionMemory.maximumWaiting - 1])
        #expect(unsafe functions.calloc(.max, 2, functions.mem_user_data) == nil, "more than there can be")
        #expect(unsafe functions.calloc(.max, 1, functions.mem_user_data) == nil)
        #expect(unsafe functions.malloc(-1, functions.mem_user_data) == nil, "SIZE_MAX")
        #expect(unsafe functions.realloc(blocks[0], .max, functions.mem_user_data) == nil)
        unsafe functions.free(blocks[SessionMemory.maximumWaiting - 1], functions.mem_user_data)
        unsafe functions.free(nil, functions.mem_user_data)
        #expect(memory.waiting == SessionMemory.maximumWaiting)
    }

    @Test("serves a session, which gives back what its streams took")
    func session() throws {
        let pair = try Pair()
        for round in 0..<3 {
            for handle in 0..<100 { try pair.post(UInt32(round * 100 + handle), body: payload(300)) }
            try pair.settle()
            for (stream, _) in pair.requests() { try pair.server.respond(stream: stream, status: 200) }
            try pair.settle()
            #expect(pair.endings().count == 100)
        }
        #expect(pair.client.raw.memory.waiting >= 100)
    }
}

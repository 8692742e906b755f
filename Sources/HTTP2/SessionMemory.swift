import CNghttp2
import Glibc

/// The memory of one session of nghttp2, which takes and gives back the same few sizes for every stream: blocks that it gives
/// back wait for the next stream.
///
/// An allocator has such lists as well, of fewer blocks, which all that a thread allocates goes through: a turn that ends a
/// hundred streams overflows them (docs/benchmarks.md has what that costs). Not for more than one thread.
@safe
struct SessionMemory: ~Copyable {
    /// Sizes are rounded up to multiples of this, in bytes, which is also what comes before each block: its list's number.
    private static let step = 16
    /// Blocks above `step` times so many bytes are malloc's alone; nghttp2's few buffers for frames and tables are.
    private static let lists = 32
    /// The most blocks that wait in one list: those of all lists together are 1.1 MiB at the very most, and a stream takes blocks of
    /// a few sizes only.
    static let maximumWaiting = 128

    @unsafe
    private struct List {
        /// The block that was given back last; each has the one before it in its first bytes.
        var last: UnsafeMutableRawPointer?
        var count = 0
    }

    /// One for each size; the first one is that of larger blocks, and stays empty.
    private let state: UnsafeMutablePointer<List>

    init() {
        unsafe state = .allocate(capacity: Self.lists + 1)
        unsafe state.initialize(repeating: List(), count: Self.lists + 1)
    }

    /// After the session has ended.
    deinit {
        for number in 0...Self.lists {
            while let block = unsafe Self.pop(&state[number]) { unsafe Glibc.free(block - Self.step) }
        }
        unsafe state.deallocate()
    }

    /// How many blocks wait.
    var waiting: Int {
        unsafe UnsafeBufferPointer(start: state, count: Self.lists + 1).reduce(0) { unsafe $0 + $1.count }
    }

    /// What nghttp2 calls. It is of use for as long as this value lives.
    var functions: nghttp2_mem {
        unsafe nghttp2_mem(
            mem_user_data: state,
            malloc: { size, state in unsafe SessionMemory.allocate(size, state!) },
            free: { block, state in unsafe SessionMemory.release(block, state!) },
            calloc: { count, size, state in
                let (total, overflow) = count.multipliedReportingOverflow(by: size)
                guard !overflow, let block = unsafe SessionMemory.allocate(total, state!) else { return nil }
                return unsafe memset(block, 0, total)
            },
            realloc: { block, size, state in unsafe SessionMemory.resize(block, size, state!) })
    }

    private static func pop(_ list: inout List) -> UnsafeMutableRawPointer? {
        guard let block = unsafe list.last else { return nil }
        unsafe list.last = block.load(as: UnsafeMutableRawPointer?.self)
        unsafe list.count -= 1
        return unsafe block
    }

    private static func number(of block: UnsafeMutableRawPointer) -> Int {
        unsafe (block - step).load(as: Int.self)
    }

    private static func allocate(_ size: Int, _ state: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        // What is negative was more than there can be.
        guard size >= 0, size <= .max - step else { return nil }
        guard size <= lists * step else { return unsafe claim(size, number: 0) }
        let number = max(size + step - 1, step) / step
        let list = unsafe state.assumingMemoryBound(to: List.self) + number
        return unsafe pop(&list.pointee) ?? claim(number * step, number: number)
    }

    private static func claim(_ size: Int, number: Int) -> UnsafeMutableRawPointer? {
        guard let start = unsafe Glibc.malloc(size + step) else { return nil }
        unsafe start.storeBytes(of: number, as: Int.self)
        return unsafe start + step
    }

    private static func release(_ block: UnsafeMutableRawPointer?, _ state: UnsafeMutableRawPointer) {
        guard let block = unsafe block else { return }
        let number = unsafe number(of: block)
        let list = unsafe state.assumingMemoryBound(to: List.self) + number
        guard number > 0, unsafe list.pointee.count < maximumWaiting else { return unsafe Glibc.free(block - step) }
        unsafe block.storeBytes(of: list.pointee.last, as: UnsafeMutableRawPointer?.self)
        unsafe list.pointee.last = block
        unsafe list.pointee.count += 1
    }

    private static func resize(
        _ block: UnsafeMutableRawPointer?, _ size: Int, _ state: UnsafeMutableRawPointer
    ) -> UnsafeMutableRawPointer? {
        guard let block = unsafe block, size >= 0, size <= .max - step else { return unsafe allocate(size, state) }
        let number = unsafe number(of: block)
        if number > 0, size <= number * step { return unsafe block }
        if number == 0, size > lists * step {
            guard let start = unsafe Glibc.realloc(block - step, size + step) else { return nil }
            return unsafe start + step
        }
        guard let moved = unsafe allocate(size, state) else { return nil }
        // One of the two is in a list, and it is the smaller one whose size is known.
        unsafe moved.copyMemory(from: block, byteCount: number > 0 ? number * step : size)
        unsafe release(block, state)
        return unsafe moved
    }
}

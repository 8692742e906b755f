import Core
import Glibc
import Testing

@testable import System

@Suite("A thread")
struct ThreadTests {
    @Test("bears the first 15 bytes of its name")
    func name() throws {
        let name = try Thread.run("a long name for a thread") {
            String(decoding: try WholeFile.read("/proc/thread-self/comm", upTo: 64), as: UTF8.self)
        }
        #expect(name == "a long name for\n")
    }

    @Test("has the stack that it was given")
    func stack() throws {
        // Beyond the 8 MiB of a usual thread; AddressSanitizer enlarges the frames to nearly all of this one's stack.
        let depth = try Thread.run("deep", stackSize: Thread.workerStackSize) { Self.descend(levels: 2200) }
        #expect(depth == 2200)
    }

    @Test("is waited for up to a deadline, and can be joined afterwards")
    func deadline() throws {
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        let (blocking, writing) = (ends[0], ends[1])
        let thread = try Thread.start(name: "waiting") {
            var byte: UInt8 = 0
            _ = unsafe read(blocking, &byte, 1)
            // So that the last wait begins before the thread ends.
            usleep(100_000)
        }
        let start = ContinuousClock.now
        let isEarly = thread.join(until: SystemClock.now().instant + .milliseconds(50))
        #expect(!isEarly && ContinuousClock.now - start >= .milliseconds(50))
        close(writing)
        let hasEnded = thread.join(until: SystemClock.now().instant + .seconds(60))
        #expect(hasEnded)
        close(blocking)
    }

    /// Uses 4 KiB of stack for each of `levels`, and counts them on return.
    @inline(never)
    static func descend(levels: Int) -> Int {
        unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { room in
            guard levels > 0 else { return 0 }
            unsafe room[0] = 1
            return descend(levels: levels - 1) + Int(unsafe room[0])
        }
    }
}

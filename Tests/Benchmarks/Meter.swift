import AllocationCounter
import Glibc

/// Separates the measured code from in-memory peers, message construction and warm-up.
final class Meter {
    /// False during warm-up.
    var isCounting = false
    private(set) var nanoseconds: Int64 = 0
    private(set) var allocations: UInt64 = 0
    /// Depends on all results, so that the optimizer keeps them.
    var result = 0

    func measure(_ body: () -> Void) {
        guard isCounting else { return body() }
        let before = allocation_count()
        let start = Self.processorTime()
        counted(body)
        nanoseconds += Self.processorTime() - start
        allocations += allocation_count() - before
    }

    private static func processorTime() -> Int64 {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        precondition(result == 0, "Linux has this clock")
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// `Tests/Tools/bench` makes callgrind count only in this function, which it finds by name.
@inline(never)
func counted(_ body: () -> Void) {
    body()
}

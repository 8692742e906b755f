package import Core
import Glibc

/// Reads the system's clocks; no other code does.
package enum SystemClock {
    /// `CLOCK_MONOTONIC` and `CLOCK_REALTIME`, read in succession.
    package static func now() -> Moment {
        let wall = read(CLOCK_REALTIME)
        return Moment(
            instant: instant(),
            wall: WallTime(milliseconds: Int64(wall.tv_sec) * 1000 + Int64(wall.tv_nsec) / 1_000_000))
    }

    /// Only `CLOCK_MONOTONIC`.
    static func instant() -> Instant {
        let time = read(CLOCK_MONOTONIC)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// `CLOCK_PROCESS_CPUTIME_ID`: the processor time of all threads, in user and in system mode.
    package static func processorTime() -> Duration {
        let time = read(CLOCK_PROCESS_CPUTIME_ID)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Sleeps until a time on `CLOCK_MONOTONIC`, or less if a signal arrives.
    static func sleep(until instant: Instant) {
        var time = timespec(
            tv_sec: Int(instant.nanoseconds / 1_000_000_000), tv_nsec: Int(instant.nanoseconds % 1_000_000_000))
        let result = unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil)
        precondition(result == 0 || result == EINTR, "Linux sleeps by its own clock")
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        let result = unsafe clock_gettime(clock, &time)
        precondition(result == 0, "Linux has these clocks")
        return time
    }
}

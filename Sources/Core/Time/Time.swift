/// A point on the monotonic clock, in nanoseconds since an arbitrary start.
///
/// Protocol logic never reads a clock: every input carries its instant. Usable from inline code, because a turn
/// compares dozens of deadlines.
@usableFromInline
package struct Instant: Comparable, Hashable, Sendable {
    @usableFromInline package var nanoseconds: Int64

    @inlinable
    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Later than any instant in the life of a process.
    @inlinable package static var distantFuture: Instant { Instant(nanoseconds: .max) }
    @inlinable package static var distantPast: Instant { Instant(nanoseconds: .min) }

    /// Other modules would call the derived one indirectly, and `<=` of `Comparable` as well.
    @inlinable
    package static func == (left: Instant, right: Instant) -> Bool {
        left.nanoseconds == right.nanoseconds
    }

    @inlinable
    package static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    @inlinable
    package static func <= (left: Instant, right: Instant) -> Bool {
        left.nanoseconds <= right.nanoseconds
    }

    /// Saturates at ``distantFuture``.
    package static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return overflow ? .distantFuture : Instant(nanoseconds: sum)
    }

    /// Saturates if one of the two is ``distantFuture`` or ``distantPast``.
    package static func - (later: Instant, earlier: Instant) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return .nanoseconds(overflow ? (earlier < later ? .max : .min) : difference)
    }
}

/// Like `<=`: the generic function calls `<` indirectly.
@inlinable @inline(__always)
package func min(_ left: Instant, _ right: Instant) -> Instant {
    left < right ? left : right
}

/// A point on the wall clock, in milliseconds since 1970-01-01 UTC.
@usableFromInline
package struct WallTime: Comparable, Hashable, Sendable {
    /// Since 1970-01-01 UTC; negative before.
    @usableFromInline package var milliseconds: Int64

    @inlinable
    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// From an AMQP timestamp, at most the largest one that can be represented.
    package init(timestamp seconds: UInt64) {
        milliseconds = Int64(min(seconds, UInt64(Int64.max / 1000))) * 1000
    }

    /// Whole seconds since 1970-01-01 UTC, rounded down.
    package var seconds: Int64 {
        milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
    }

    @inlinable
    package static func < (left: WallTime, right: WallTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// One moment on both clocks: the monotonic one for deadlines, the wall clock for external timestamps.
package struct Moment: Sendable {
    package var instant: Instant
    package var wall: WallTime

    package init(instant: Instant, wall: WallTime) {
        self.instant = instant
        self.wall = wall
    }
}

extension Duration {
    /// The whole duration in nanoseconds, saturating at `Int64.max` (292 years).
    package var nanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }

    package var inSeconds: Double {
        Double(nanoseconds) / 1e9
    }
}

/// A histogram of durations with fixed buckets: recording takes a few comparisons and does not allocate.
package struct Histogram: Sendable, Equatable {
    /// The upper bounds of the buckets in nanoseconds, inclusive; one more bucket holds longer durations.
    ///
    /// From half a millisecond, for a nearby APNs, to an hour, for requests that waited in a queue.
    package static let bounds: [Int64] = [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000,
        500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000, 30_000_000_000, 60_000_000_000,
        300_000_000_000, 900_000_000_000, 3_600_000_000_000,
    ]

    /// The count of each bucket, not cumulative.
    package private(set) var counts = Array(repeating: UInt64(0), count: bounds.count + 1)
    /// The sum of all durations, in nanoseconds; overflows after 584 years.
    package private(set) var sum: UInt64 = 0

    package init() {}

    /// Records the time between two instants; a negative duration counts as zero.
    package mutating func record(from earlier: Instant, to later: Instant) {
        record(nanoseconds: later.nanoseconds &- earlier.nanoseconds)
    }

    package mutating func record(nanoseconds: Int64) {
        let duration = max(nanoseconds, 0)
        var bucket = 0
        while bucket < Self.bounds.count, duration > Self.bounds[bucket] { bucket += 1 }
        counts[bucket] &+= 1
        sum &+= UInt64(duration)
    }

    package mutating func add(_ other: Histogram) {
        for bucket in counts.indices { counts[bucket] &+= other.counts[bucket] }
        sum &+= other.sum
    }
}

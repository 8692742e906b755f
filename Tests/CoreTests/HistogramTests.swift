import Core
import Testing

@Suite("A histogram")
struct HistogramTests {
    @Test("A duration equal to a bound belongs to its bucket, a longer one to the next")
    func bounds() {
        for (bucket, bound) in Histogram.bounds.enumerated() {
            var histogram = Histogram()
            histogram.record(nanoseconds: bound)
            histogram.record(nanoseconds: bound + 1)
            var expected = Array(repeating: UInt64(0), count: Histogram.bounds.count + 1)
            expected[bucket] = 1
            expected[bucket + 1] = 1
            #expect(histogram.counts == expected && histogram.sum == UInt64(2 * bound + 1))
        }
    }

    @Test("A clock that went backwards counts as zero, and the longest time falls into the last bucket")
    func extremes() {
        var histogram = Histogram()
        histogram.record(from: Instant(nanoseconds: 5), to: Instant(nanoseconds: 3))
        histogram.record(nanoseconds: .min)
        #expect(histogram.counts.first == 2 && histogram.sum == 0)
        histogram.record(nanoseconds: .max)
        #expect(histogram.counts.last == 1 && histogram.counts.reduce(0, +) == 3)
    }

    @Test("The sum of two histograms equals one histogram of all values")
    func addition() throws {
        var random = SplitMix64(seed: 7)
        var parts = [Histogram(), Histogram()]
        var whole = Histogram()
        for _ in 0..<1000 {
            let duration = Int64.random(in: 0...10_000_000_000, using: &random)
            parts[Int.random(in: 0...1, using: &random)].record(nanoseconds: duration)
            whole.record(nanoseconds: duration)
        }
        parts[0].add(parts[1])
        try #require(parts[0] == whole)
    }
}

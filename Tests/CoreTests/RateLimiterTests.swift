@testable import Core
import Testing

@Suite("RateLimiter")
struct RateLimiterTests {
    @Test("It gives the burst at once, then one permit whenever one is due")
    func burstThenRate() {
        var limiter = RateLimiter(perSecond: 4, burst: 3, at: .zero)
        #expect((0..<4).map { _ in limiter.take(at: .zero) } == [true, true, true, false])
        let next = [0, 100_000_000].map { limiter.nextPermit(at: Instant(nanoseconds: $0)) }
        #expect(next == Array(repeating: Instant(nanoseconds: 250_000_000), count: 2))
        let second = [249_999_999, 250_000_000, 250_000_000].map { limiter.take(at: Instant(nanoseconds: $0)) }
        #expect(second == [false, true, false])
    }

    @Test("A long idle time never raises it above the burst")
    func neverAboveBurst() {
        var limiter = RateLimiter(perSecond: 1_000_000, burst: 7, at: .zero)
        #expect(limiter.available(at: Instant(nanoseconds: .max - 1)) == 7)
    }

    @Test("A clock that steps back neither adds nor removes permits")
    func backwards() {
        let later = Instant(nanoseconds: 10_000_000_000)
        var limiter = RateLimiter(perSecond: 10, burst: 2, at: later)
        #expect(limiter.take(at: later) == true)
        #expect(limiter.available(at: .zero) == 1)
        #expect(limiter.available(at: later) == 1)
    }

    @Test(
        "Over virtual days of odd steps it gives exactly the burst and the rate, also for non-divisors of a second",
        arguments: [(1, 2), (3, 2), (7, 2), (333, 50), (4000, 500), (999_983, 1000)])
    func exact(rate: Int, burst: Int) {
        var limiter = RateLimiter(perSecond: rate, burst: burst, at: .zero)
        var now = Instant.zero
        var taken = 0
        // Prime steps, so that none coincides with a permit; shorter than it takes to fill the bucket.
        let step = min(86_028_121, Int64(burst) * 1_000_000_000 / Int64(rate) / 2 | 1)
        for _ in 0..<200_000 {
            while limiter.take(at: now) { taken += 1 }
            now = now + .nanoseconds(step)
        }
        while limiter.take(at: now) { taken += 1 }
        let seconds = now.nanoseconds / 1_000_000_000
        let rest = now.nanoseconds % 1_000_000_000
        #expect(taken == burst + rate * Int(seconds) + rate * Int(rest) / 1_000_000_000)
    }

    @Test("A fraction of a permit is kept when the rate changes")
    func changeKeepsParts() {
        var limiter = RateLimiter(perSecond: 2, burst: 1, at: .zero)
        #expect(limiter.take(at: .zero) == true)
        let change = Instant(nanoseconds: 250_000_000)
        limiter.change(perSecond: 4, at: change)
        #expect(limiter.nextPermit(at: change) == Instant(nanoseconds: 375_000_000))
    }

    @Test(
        "A new rate keeps the bucket's content and applies from then on, exactly",
        arguments: [(4000, 500), (500, 4000), (3, 7), (999_983, 1), (1_000_000_000, 999_999_937)])
    func change(before: Int, after: Int) {
        var limiter = RateLimiter(perSecond: before, burst: 1_000_000_000, at: .zero)
        var taken = 0
        while taken < 10_000, limiter.take(at: .zero) { taken += 1 }
        limiter.change(perSecond: after, at: .zero)
        let kept = limiter.available(at: .zero)
        #expect(kept == 999_990_000 && limiter.perSecond == after)
        for _ in 0..<1000 { _ = limiter.take(at: .zero) }
        #expect(limiter.available(at: Instant(nanoseconds: 1_000_000_000)) == min(1_000_000_000, kept - 1000 + after))
    }

    @Test("A waiting caller gets the next permit when it is due, and not a nanosecond before")
    func nextPermitIsExact() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            let rate = Int.random(in: 1...10_000, using: &random)
            var limiter = RateLimiter(perSecond: rate, burst: Int.random(in: 1...5, using: &random), at: .zero)
            var now = Instant.zero
            for _ in 0..<50 {
                while limiter.take(at: now) {}
                let next = limiter.nextPermit(at: now)
                let early = limiter.take(at: Instant(nanoseconds: next.nanoseconds - 1))
                let due = limiter.take(at: next)
                try #require(!early && due, "seed \(seed)")
                now = next + .nanoseconds(Int64.random(in: 0...3_000_000, using: &random))
            }
        }
    }
}

@Suite("HandleQueue")
struct HandleQueueTests {
    @Test("It agrees with an array in a random walk")
    func randomWalk() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        var queue = HandleQueue()
        var model: [Handle] = []
        for _ in 0..<20_000 {
            // Some are so high that the empty queue gives its table back.
            let handle = Handle(UInt32.random(in: 0..<40, using: &random) * 30)
            switch Int.random(in: 0..<3, using: &random) {
            case 0 where !model.contains(handle):
                queue.append(handle)
                model.append(handle)
            case 1 where model.contains(handle):
                queue.remove(handle)
                model.removeAll { $0 == handle }
            case 2:
                let first = queue.popFirst()
                try #require(first == (model.isEmpty ? nil : model.removeFirst()), "seed \(seed)")
            default: break
            }
            try #require(queue.count == model.count && queue.first == model.first, "seed \(seed)")
            try #require(queue.contains(handle) == model.contains(handle), "seed \(seed)")
        }
    }
}

extension Instant {
    fileprivate static let zero = Instant(nanoseconds: 0)
}

/// An exact token bucket: at most `burst` permits at once and, over any time t, at most `burst + perSecond × t`.
///
/// The bucket starts full. Credit is counted in integer parts of a permit, and each nanosecond adds an integer number
/// of parts. Nothing is rounded: a day yields exactly a day's permits.
package struct RateLimiter: Sendable {
    package private(set) var perSecond: Int
    /// The capacity of the bucket, in permits.
    package let burst: Int

    /// The parts of one permit.
    private var price: Int64
    /// The parts added per nanosecond.
    private var refill: Int64
    private var credit: Int64
    private var refilledAt: Instant

    package init(perSecond: Int, burst: Int, at now: Instant) {
        precondition((1...1_000_000_000).contains(perSecond), "a bucket must refill")
        precondition((1...1_000_000_000).contains(burst), "a bucket must hold at least one permit")
        self.perSecond = perSecond
        self.burst = burst
        (price, refill) = Self.parts(perSecond)
        credit = Int64(burst) * price
        refilledAt = now
    }

    /// Changes the rate. Existing permits are kept, down to a part of one.
    package mutating func change(perSecond: Int, at now: Instant) {
        precondition((1...1_000_000_000).contains(perSecond), "a bucket must refill")
        advance(to: now)
        let before = price
        self.perSecond = perSecond
        (price, refill) = Self.parts(perSecond)
        credit = credit / before * price + credit % before * price / before
    }

    package mutating func available(at now: Instant) -> Int {
        advance(to: now)
        return Int(credit / price)
    }

    /// - Returns: `false`, without taking a permit, when none is available.
    package mutating func take(at now: Instant) -> Bool {
        advance(to: now)
        guard credit >= price else { return false }
        credit -= price
        return true
    }

    /// The first instant, not before `now`, at which a permit is available.
    package mutating func nextPermit(at now: Instant) -> Instant {
        advance(to: now)
        let missing = max(0, price - credit)
        return now + .nanoseconds((missing + refill - 1) / refill)
    }

    private mutating func advance(to now: Instant) {
        let elapsed = now.nanoseconds - refilledAt.nanoseconds
        guard elapsed > 0 else { return }
        refilledAt = now
        let missing = Int64(burst) * price - credit
        if elapsed >= (missing + refill - 1) / refill { credit += missing } else { credit += elapsed * refill }
    }

    private static func parts(_ perSecond: Int) -> (price: Int64, refill: Int64) {
        let divisor = greatestCommonDivisor(Int64(perSecond), 1_000_000_000)
        return (1_000_000_000 / divisor, Int64(perSecond) / divisor)
    }

    private static func greatestCommonDivisor(_ first: Int64, _ second: Int64) -> Int64 {
        second == 0 ? first : greatestCommonDivisor(second, first % second)
    }
}

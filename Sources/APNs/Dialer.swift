package import Core

/// When the next connect may be attempted: after failures with backoff, and never too many within a minute, for APNs
/// takes rapid connects and disconnects for an attack.
///
/// Source: APNs Provider API, "Best Practices for Managing Connections".
package struct Dialer {
    /// The most attempts within any minute.
    package let maximumPerMinute: Int
    /// Attempts in a row that led to nothing.
    package private(set) var failures = 0

    private var backoff: Backoff
    private var notBefore = Instant(nanoseconds: .min)
    /// The newest attempts, oldest first, at most ``maximumPerMinute``.
    private var attempts: [Instant] = []

    package init(maximumPerMinute: Int, backoff: Backoff) {
        precondition(maximumPerMinute > 0, "a pool has to connect at some time")
        self.maximumPerMinute = maximumPerMinute
        self.backoff = backoff
    }

    /// The earliest instant for the next attempt; it may have passed.
    package var nextAttempt: Instant {
        guard attempts.count == maximumPerMinute, let oldest = attempts.first else { return notBefore }
        return max(notBefore, oldest + .seconds(60))
    }

    package mutating func attempted(at now: Instant) {
        precondition(now >= nextAttempt, "attempts keep their distance")
        if attempts.count == maximumPerMinute { attempts.removeFirst() }
        attempts.append(now)
    }

    /// An attempt led to no connection, or to one that brought nothing.
    package mutating func failed(at now: Instant, using random: inout some RandomNumberGenerator) {
        failures += 1
        notBefore = now + backoff.next(using: &random)
    }

    package mutating func succeeded() {
        failures = 0
        backoff.reset()
        notBefore = Instant(nanoseconds: .min)
    }
}

package import Core

/// Decides when the next connect may be attempted: with backoff after failures, and with a limit per minute. APNs
/// treats rapid connects and disconnects as a denial-of-service attack.
///
/// After ``breakerThreshold`` consecutive failures the circuit breaker opens: attempts are the maximum backoff apart
/// until one succeeds. Connections that APNs ends early are tolerated at first, because one restart can affect all of
/// a pool's connections. Beyond ``toleratedEarlyCloses`` in a row they count as failures. While the breaker is closed,
/// the next attempt is at most ``longestPauseAfterEarlyEnd`` away, because a fresh connection may serve the waiting
/// requests. After half of a minute's attempts are used, the others are spread over the rest of the minute.
///
/// Source: APNs Provider API, "Best Practices for Managing Connections".
package struct Dialer {
    /// The maximum number of attempts within any minute.
    package let maximumPerMinute: Int
    /// Consecutive failed attempts.
    package private(set) var failures = 0

    package static let breakerThreshold = 10
    /// The maximum backoff after the peer accepted a connection and ended it early.
    package static let longestPauseAfterEarlyEnd = Duration.seconds(5)

    package let toleratedEarlyCloses: Int
    /// Consecutive connections that the peer ended before they were proven.
    private var earlyCloses = 0
    private var backoff: Backoff
    private var notBefore = Instant.distantPast
    /// The newest attempts, oldest first, at most ``maximumPerMinute``.
    private var attempts: [Instant] = []

    package init(maximumPerMinute: Int, backoff: Backoff, toleratedEarlyCloses: Int) {
        self.toleratedEarlyCloses = toleratedEarlyCloses
        self.maximumPerMinute = maximumPerMinute
        self.backoff = backoff
    }

    package var isBreakerOpen: Bool {
        failures >= Self.breakerThreshold
    }

    /// Whether the limit of attempts per minute is reached.
    package func isCapped(at now: Instant) -> Bool {
        guard attempts.count == maximumPerMinute, let oldest = attempts.first else { return false }
        return oldest + .seconds(60) > now
    }

    /// The earliest instant for the next attempt; it may be in the past.
    package var nextAttempt: Instant {
        guard let newest = attempts.last else { return notBefore }
        let minute = Duration.seconds(60)
        let recent = attempts.drop { $0 + minute <= newest }
        guard recent.count >= max(1, maximumPerMinute / 2), let oldest = recent.first else { return notBefore }
        let free = maximumPerMinute - recent.count
        // The gap after the last attempt of a minute is as long as the others.
        let spread = (oldest + minute - newest).nanoseconds / Int64(free + 1)
        let steady = minute.nanoseconds / Int64(maximumPerMinute)
        return max(notBefore, newest + .nanoseconds(max(spread, steady)))
    }

    package mutating func attempted(at now: Instant) {
        precondition(now >= nextAttempt, "attempts must be separated by the backoff")
        if attempts.count == maximumPerMinute { attempts.removeFirst() }
        attempts.append(now)
        if isBreakerOpen { notBefore = now + backoff.limit }
    }

    /// An attempt failed, or its connection was useless.
    ///
    /// - Parameter longestPause: `nil` for the maximum backoff.
    package mutating func failed(
        longestPause: Duration? = nil, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        failures += 1
        let wait = min(backoff.next(using: &random), longestPause ?? backoff.limit)
        notBefore = now + (isBreakerOpen ? backoff.limit : wait)
    }

    /// The peer ended a connection that had responses but was not proven.
    ///
    /// - Returns: Whether that counts as a failure.
    package mutating func peerClosedEarly(at now: Instant, using random: inout some RandomNumberGenerator) -> Bool {
        earlyCloses += 1
        guard earlyCloses > toleratedEarlyCloses else { return false }
        failed(longestPause: Self.longestPauseAfterEarlyEnd, at: now, using: &random)
        return true
    }

    /// A new connection's first response. It is a success unless many such connections ended early.
    package mutating func responded() {
        if earlyCloses <= toleratedEarlyCloses { reset() }
    }

    package mutating func succeeded() {
        earlyCloses = 0
        reset()
    }

    private mutating func reset() {
        failures = 0
        backoff.reset()
        notBefore = .distantPast
    }
}

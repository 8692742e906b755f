package import Core

/// When the next connect may be attempted: after failures with backoff, and never too many within a minute, for APNs
/// takes rapid connects and disconnects for an attack.
///
/// After ``breakerThreshold`` failures in a row the circuit breaker is open: attempts are the backoff's limit apart
/// until one succeeds. Connections that APNs ends before they could prove their use are free at first, since all of a
/// pool's connections may meet one restart; beyond ``toleratedFarewells`` in a row they count as failures, but the next
/// attempt is at most ``longestPauseAfterEarlyEnd`` away while the breaker is closed: a fresh connection may well serve
/// what waits. Once half of a minute's attempts are used up, the others are spread over what is left of it.
///
/// Source: APNs Provider API, "Best Practices for Managing Connections".
package struct Dialer {
    /// The most attempts within any minute.
    package let maximumPerMinute: Int
    /// Attempts in a row that led to nothing.
    package private(set) var failures = 0

    /// The longest pause after the peer accepted a connection and ended it early.
    package static let longestPauseAfterEarlyEnd = Duration.seconds(5)

    package let breakerThreshold: Int
    package let toleratedFarewells: Int
    /// Connections in a row that the peer ended before they had proven their use.
    private var farewells = 0
    private var backoff: Backoff
    private var notBefore = Instant.distantPast
    /// The newest attempts, oldest first, at most ``maximumPerMinute``.
    private var attempts: [Instant] = []

    package init(maximumPerMinute: Int, backoff: Backoff, breakerThreshold: Int = 10, toleratedFarewells: Int = 8) {
        precondition(maximumPerMinute > 0, "a pool has to connect at some time")
        precondition(breakerThreshold > 0 && toleratedFarewells >= 0, "a breaker opens after a failure")
        self.breakerThreshold = breakerThreshold
        self.toleratedFarewells = toleratedFarewells
        self.maximumPerMinute = maximumPerMinute
        self.backoff = backoff
    }

    /// Whether attempts are as rare as they get.
    package var isBreakerOpen: Bool {
        failures >= breakerThreshold
    }

    /// Whether the attempts of the last minute are used up.
    package func isCapped(at now: Instant) -> Bool {
        guard attempts.count == maximumPerMinute, let oldest = attempts.first else { return false }
        return oldest + .seconds(60) > now
    }

    /// The earliest instant for the next attempt; it may have passed.
    package var nextAttempt: Instant {
        guard let newest = attempts.last else { return notBefore }
        let minute = Duration.seconds(60)
        let recent = attempts.drop { $0 + minute <= newest }
        guard recent.count >= max(1, maximumPerMinute / 2), let oldest = recent.first else { return notBefore }
        let free = maximumPerMinute - recent.count
        // The last attempt of a minute leaves as long a gap behind it as the others.
        let spread = (oldest + minute - newest).nanoseconds / Int64(free + 1)
        let steady = minute.nanoseconds / Int64(maximumPerMinute)
        return max(notBefore, newest + .nanoseconds(max(spread, steady)))
    }

    package mutating func attempted(at now: Instant) {
        precondition(now >= nextAttempt, "attempts keep their distance")
        if attempts.count == maximumPerMinute { attempts.removeFirst() }
        attempts.append(now)
        if isBreakerOpen { notBefore = now + backoff.limit }
    }

    /// An attempt led to no connection, or to one that brought nothing.
    package mutating func failed(at now: Instant, using random: inout some RandomNumberGenerator) {
        pause(atMost: backoff.limit, at: now, using: &random)
    }

    private mutating func pause(
        atMost limit: Duration, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        failures += 1
        let wait = min(backoff.next(using: &random), limit)
        notBefore = now + (isBreakerOpen ? backoff.limit : wait)
    }

    /// The peer ended a connection that had been of use before it had proven that it lasts.
    ///
    /// - Returns: Whether that counts as a failure.
    package mutating func leftEarly(at now: Instant, using random: inout some RandomNumberGenerator) -> Bool {
        farewells += 1
        guard farewells > toleratedFarewells else { return false }
        pause(atMost: Self.longestPauseAfterEarlyEnd, at: now, using: &random)
        return true
    }

    /// A new connection has brought an answer: that is success, unless many did so and were ended all the same.
    package mutating func answered() {
        if farewells <= toleratedFarewells { reset() }
    }

    /// A connection has proven its use.
    package mutating func succeeded() {
        farewells = 0
        reset()
    }

    private mutating func reset() {
        failures = 0
        backoff.reset()
        notBefore = .distantPast
    }
}

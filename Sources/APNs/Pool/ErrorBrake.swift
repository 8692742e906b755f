package import Core

/// Reduces a connection's send rate while too many of its requests are refused.
///
/// APNs slows down a provider whose requests often result in 4xx. Inactive device tokens (410) are normal and do not
/// count. At the end of each window the rate is halved, down to ``Limits/maximumDivisor``. It is doubled again if the
/// share of refusals is below the threshold or there are too few responses.
package struct ErrorBrake: Sendable {
    package struct Limits: Sendable {
        /// The period over which the share of refusals is measured.
        package var window = Duration.seconds(10)
        /// The share of refusals at which the rate is halved, in percent of all responses.
        package var threshold = 20
        /// Windows with fewer responses are not judged.
        package var minimumResponses = 50
        /// The lowest rate is the permitted rate divided by this, a power of two.
        package var maximumDivisor = 8

        package init() {}
    }

    package let limits: Limits
    /// The divisor of the permitted rate; 1 is full speed.
    package private(set) var divisor: Int
    private var windowEnd: Instant
    private var responses = 0
    private var refusals = 0

    /// - Parameter divisor: the initial divisor, for a connection that replaces a slowed one.
    package init(limits: Limits = Limits(), divisor: Int = 1, at now: Instant) {
        precondition(limits.window > .zero && limits.maximumDivisor >= 1, "a brake needs a window and a lowest rate")
        precondition(1...limits.maximumDivisor ~= divisor, "the rate must not be below the lowest")
        self.divisor = divisor
        self.limits = limits
        windowEnd = now + limits.window
    }

    /// Whether APNs slows a provider down for responses with this status.
    package static func counts(_ status: UInt16) -> Bool {
        400...499 ~= status && status != 410
    }

    /// Counts a response.
    ///
    /// - Returns: Whether ``divisor`` has changed.
    package mutating func responded(_ status: UInt16, at now: Instant) -> Bool {
        let before = divisor
        if now >= windowEnd { evaluateWindow(at: now) }
        responses += 1
        if Self.counts(status) { refusals += 1 }
        return divisor != before
    }

    private mutating func evaluateWindow(at now: Instant) {
        if responses >= limits.minimumResponses, refusals * 100 >= responses * limits.threshold {
            divisor = min(divisor * 2, limits.maximumDivisor)
        } else {
            divisor = max(divisor / 2, 1)
        }
        // Windows without any response.
        var missed = (now - windowEnd).nanoseconds / limits.window.nanoseconds
        while missed > 0, divisor > 1 {
            divisor /= 2
            missed -= 1
        }
        windowEnd = now + limits.window
        responses = 0
        refusals = 0
    }
}

package import Core

/// Reduces a connection's send rate while too many of its requests are refused.
///
/// APNs slows down a provider whose requests often result in 4xx. Inactive device tokens (410) are normal and do not
/// count. At the end of each window the rate is halved, down to ``maximumDivisor``. It is doubled again if the
/// share of refusals is below the threshold or there are too few responses.
package struct ErrorBrake: Sendable {
    /// The period over which the share of refusals is measured.
    private static let window = Duration.seconds(10)
    /// The share of refusals at which the rate is halved, in percent of all responses.
    private static let threshold = 20
    /// A window with fewer responses counts as one without refusals.
    private static let minimumResponses = 50
    /// The lowest rate is the permitted rate divided by this, a power of two.
    private static let maximumDivisor = 8

    /// The divisor of the permitted rate; 1 is full speed.
    package private(set) var divisor: Int
    private var windowEnd: Instant
    private var responses = 0
    private var refusals = 0

    /// - Parameter divisor: the initial divisor, for a connection that replaces a slowed one.
    package init(divisor: Int = 1, at now: Instant) {
        precondition(1...Self.maximumDivisor ~= divisor, "the rate must not be below the lowest")
        self.divisor = divisor
        windowEnd = now + Self.window
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
        if responses >= Self.minimumResponses, refusals * 100 >= responses * Self.threshold {
            divisor = min(divisor * 2, Self.maximumDivisor)
        } else {
            divisor = max(divisor / 2, 1)
        }
        // Windows without any response.
        let missed = (now - windowEnd).nanoseconds / Self.window.nanoseconds
        divisor = max(divisor >> missed, 1)
        windowEnd = now + Self.window
        responses = 0
        refusals = 0
    }
}

package import Core

/// How much slower than permitted one connection sends, because too many of its requests are refused.
///
/// APNs slows down a provider whose requests it often answers with 4xx; device tokens that died (410) are in the nature
/// of things and do not count. At the end of each window the rate is halved, as far as ``Limits/maximumDivisor``, or,
/// where the share of refusals is below the threshold or too few answers came to tell, doubled again.
package struct ErrorBrake: Sendable {
    package struct Limits: Sendable {
        /// How long answers are counted before their share of refusals is judged.
        package var window = Duration.seconds(10)
        /// The share of refusals, in percent of all answers, that is too much.
        package var threshold = 20
        /// With fewer answers in a window nothing is too much.
        package var minimumAnswers = 50
        /// The lowest rate is the permitted one divided by this, a power of two.
        package var maximumDivisor = 8

        package init() {}
    }

    package let limits: Limits
    /// By how much the permitted rate is to be divided; 1 is full speed.
    package private(set) var divisor: Int
    private var windowEnd: Instant
    private var answers = 0
    private var refusals = 0

    /// - Parameter divisor: where it begins, for a connection that takes the place of one that is slow already.
    package init(limits: Limits = Limits(), divisor: Int = 1, at now: Instant) {
        precondition(limits.window > .zero && limits.maximumDivisor >= 1, "a brake has a window and a lowest rate")
        precondition(1...limits.maximumDivisor ~= divisor, "no rate is below the lowest")
        self.divisor = divisor
        self.limits = limits
        windowEnd = now + limits.window
    }

    /// Whether an answer with this status is what APNs slows a provider down for.
    package static func counts(_ status: UInt16) -> Bool {
        400...499 ~= status && status != 410
    }

    /// Counts an answer.
    ///
    /// - Returns: Whether ``divisor`` has changed.
    package mutating func answered(_ status: UInt16, at now: Instant) -> Bool {
        let before = divisor
        if now >= windowEnd { judge(at: now) }
        answers += 1
        if Self.counts(status) { refusals += 1 }
        return divisor != before
    }

    private mutating func judge(at now: Instant) {
        if answers >= limits.minimumAnswers, refusals * 100 >= answers * limits.threshold {
            divisor = min(divisor * 2, limits.maximumDivisor)
        } else {
            divisor = max(divisor / 2, 1)
        }
        // Windows in which nothing came at all.
        var missed = (now - windowEnd).nanoseconds / limits.window.nanoseconds
        while missed > 0, divisor > 1 {
            divisor /= 2
            missed -= 1
        }
        windowEnd = now + limits.window
        answers = 0
        refusals = 0
    }
}

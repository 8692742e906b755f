/// When a notification that met trouble is tried again in this process, and when it is given up.
///
/// Bounded in tries and in time; the pauses grow exponentially with full jitter, so that many workers that failed
/// together do not come back together.
package struct RetryPolicy: Sendable {
    /// The most tries that may count, the first one included.
    package var maximumAttempts = 3
    /// How long after its first try a notification may be tried again.
    package var horizon = Duration.seconds(30)
    package var firstPause = Duration.milliseconds(500)
    package var longestPause = Duration.seconds(10)

    package init() {}

    /// The pause before the next try, or `nil` to give up.
    ///
    /// - Parameters:
    ///   - attempts: how many tries counted so far, at least 1
    ///   - elapsed: the time since the first try began
    package func pause(
        afterAttempts attempts: Int, elapsed: Duration, using random: inout some RandomNumberGenerator
    ) -> Duration? {
        guard attempts < maximumAttempts, elapsed < horizon else { return nil }
        let ceiling = firstPause.doubled(max(attempts, 1) - 1, atMost: longestPause)
        let jitter = Int64.random(in: 0...ceiling.nanoseconds, using: &random)
        let pause = Duration.nanoseconds(jitter)
        return elapsed + pause <= horizon ? pause : nil
    }
}

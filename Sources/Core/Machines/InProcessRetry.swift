/// Decides when a failed notification is retried in this process, and when it is abandoned.
///
/// Attempts and time are bounded. The pauses grow exponentially with full jitter, so that many workers that failed
/// together do not retry together.
package enum InProcessRetry {
    /// The maximum number of counted attempts, including the first.
    package static let maximumAttempts = 3
    /// How long after its first attempt a notification may be retried.
    package static let horizon = Duration.seconds(30)
    package static let firstPause = Duration.milliseconds(500)

    /// The pause before the next attempt, or `nil` to give up.
    ///
    /// - Parameters:
    ///   - attempts: the number of attempts counted so far, at least 1
    ///   - elapsed: the time since the first attempt began
    package static func pause(
        afterAttempts attempts: Int, elapsed: Duration, using random: inout some RandomNumberGenerator
    ) -> Duration? {
        guard attempts < maximumAttempts, elapsed < horizon else { return nil }
        let ceiling = firstPause * (1 << (attempts - 1))
        let jitter = Int64.random(in: 0...ceiling.nanoseconds, using: &random)
        let pause = Duration.nanoseconds(jitter)
        return elapsed + pause <= horizon ? pause : nil
    }
}

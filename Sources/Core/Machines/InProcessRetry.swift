/// Decides when a failed notification is retried in this process, and when it is abandoned.
///
/// Tries and time are bounded. The pauses grow exponentially with full jitter, so that many workers that failed
/// together do not retry together.
package enum InProcessRetry {
    /// The maximum number of tries, including the first, whether they count as attempts or not.
    package static let maximumTries = 3
    /// How long after its first try a notification may be retried.
    package static let horizon = Duration.seconds(30)
    package static let firstPause = Duration.milliseconds(500)

    /// The pause before the next try, or `nil` to give up.
    ///
    /// - Parameters:
    ///   - tries: the number of failed tries so far, at least 1
    ///   - elapsed: the time since the first try began
    package static func pause(
        afterTries tries: Int, elapsed: Duration, using random: inout some RandomNumberGenerator
    ) -> Duration? {
        guard tries < maximumTries, elapsed < horizon else { return nil }
        let ceiling = firstPause * (1 << (tries - 1))
        let pause = Duration.nanoseconds(Int64.random(in: 0...ceiling.nanoseconds, using: &random))
        return elapsed + pause <= horizon ? pause : nil
    }
}

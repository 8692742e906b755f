package import Configuration

/// Which retry queue a request waits in next, and its maximum number of attempts.
///
/// Each level is a queue with one time-to-live. Each time a request is parked, it takes the next level; the last one
/// repeats.
package struct RetryLadder: Sendable {
    /// The reason for a retry; of several, the last one in this order decides.
    package enum Cause: Sendable, Comparable {
        /// It was not tried, because its app or APNs could not take it.
        case untried
        /// A retry could start at once, but too many already wait in this process.
        case processLimit
        /// APNs throttles a device.
        case throttled
        /// APNs failed or could not be reached.
        case service
    }

    private let retry: Configuration.Retry
    /// All levels, the shortest first.
    private let all: [Duration]
    /// How long nothing is sent to a device after APNs throttled it.
    package var throttlePeriod: Duration { retry.throttledDelays[0] }
    /// The maximum number of attempts in all rounds.
    package var maximumAttempts: Int { retry.maximumAttempts }

    package init(_ retry: Configuration.Retry) {
        self.retry = retry
        all = Set(retry.delays + retry.throttledDelays).sorted()
    }

    package var shortest: Duration { all[0] }

    /// The delay of the next level, or the longest shorter one that ends before the request expires.
    ///
    /// - Parameters:
    ///   - failures: how often the request was parked before because of a failure.
    ///   - lifetime: the time until it expires; `nil` if it does not expire.
    /// - Returns: `nil` if no level ends before it expires.
    package func delay(for cause: Cause, failures: Int, within lifetime: Duration?) -> Duration? {
        let levels =
            switch cause {
            case .untried: all
            case .processLimit: [shortest]
            case .throttled: retry.throttledDelays
            case .service: retry.delays
            }
        let next = levels[min(failures, levels.count - 1)]
        guard let lifetime, next >= lifetime else { return next }
        return levels.filter { $0 < lifetime && $0 < next }.max()
    }

    /// The longest level that ends within a pause; `nil` if the pause is shorter than all of them.
    package func level(within pause: Duration) -> Duration? {
        all.last { $0 <= pause }
    }
}

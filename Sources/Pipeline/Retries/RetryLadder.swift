package import Configuration

/// How long a notification waits in a retry queue before its next round, and after how many attempts it is given up.
///
/// Each level is a queue with one time-to-live. A request takes the next level each time that it is parked; the last
/// one repeats.
package struct RetryLadder: Sendable {
    /// What a request waits for; of several, for the last one here.
    package enum Trouble: Int, Sendable, Comparable {
        /// Another try would do at once, but too many wait for one in this process already.
        case crowd
        /// APNs was asked too often for a device.
        case throttled
        /// APNs, or the way to it, was in trouble.
        case service

        package static func < (left: Trouble, right: Trouble) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    private let delays: [Duration]
    /// The shortest delay of all levels.
    package let shortest: Duration
    private let throttledDelays: [Duration]
    /// The most attempts that may count, in all rounds together.
    package let maximumAttempts: Int

    package init(_ retry: Configuration.Retry) {
        delays = retry.delays
        throttledDelays = retry.throttledDelays
        maximumAttempts = retry.maximumAttempts
        shortest = (delays + throttledDelays).min() ?? delays[0]
    }

    /// The delay of the level that is next, or the longest below it that ends in time.
    ///
    /// - Parameters:
    ///   - parkings: how often the request was parked before.
    ///   - lifetime: until it expires; `nil` if it does not.
    /// - Returns: `nil` where no level ends before it expires.
    package func delay(for trouble: Trouble, parkings: Int, within lifetime: Duration?) -> Duration? {
        let levels =
            switch trouble {
            case .crowd: [shortest]
            case .throttled: throttledDelays
            case .service: delays
            }
        let next = levels[min(parkings, levels.count - 1)]
        guard let lifetime, next >= lifetime else { return next }
        return levels.filter { $0 < lifetime && $0 < next }.max()
    }

    /// The longest level that ends within a pause; `nil` where it is shorter than all of them.
    package func level(within pause: Duration) -> Duration? {
        (delays + throttledDelays).filter { $0 <= pause }.max()
    }
}

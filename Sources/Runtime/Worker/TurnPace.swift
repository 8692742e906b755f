import Configuration

/// The minimum time between the starts of a worker's turns.
///
/// A turn costs several system calls here and as many at the peers, whether it processes one message or a hundred. A
/// busy worker therefore collects more messages before its next turn. A request takes three turns until its
/// acknowledgement.
package struct TurnPace {
    /// The number of unsettled deliveries in the pipeline from which a worker is busy. Below it turns are not
    /// paced.
    package static let busyDeliveries = 64
    package static let interval = Duration.milliseconds(2)
    /// From so many on, each waits for many others anyway, and turns are twice as far apart.
    package static let floodDeliveries = 512

    /// The time that the fastest token bucket takes to fill; a full one discards permits.
    private var longest: Duration

    package init(permitsPerSecond: Int, burst: Int) {
        longest = Duration.seconds(1) * burst / permitsPerSecond
    }

    init(_ configuration: Configuration) {
        self.init(permitsPerSecond: configuration.apns.permitsPerSecond, burst: configuration.apns.burst)
        for case let limit? in configuration.queues.map(\.rateLimit) {
            longest = min(longest, Duration.seconds(1) * limit.burst / limit.perSecond)
        }
    }

    package func interval(unsettled: Int) -> Duration {
        guard unsettled >= Self.busyDeliveries else { return .zero }
        return min(longest, unsettled < Self.floodDeliveries ? Self.interval : Self.interval * 2)
    }
}

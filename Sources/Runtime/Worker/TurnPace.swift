import Configuration

/// The minimum time between the starts of a worker's turns.
///
/// A turn costs several system calls here and as many at the peers, whether it processes one message or a hundred. A
/// busy worker therefore collects more messages before its next turn. A request takes three turns until its
/// acknowledgement.
package struct TurnPace {
    /// The number of unsettled deliveries, held ones included, from which a worker is busy. Below it turns are not
    /// spaced.
    package static let busyDeliveries = 64
    package static let interval = Duration.milliseconds(2)

    private let interval: Duration

    /// A full token bucket discards permits, so the interval is at most the time that the bucket takes to fill.
    package init(permitsPerSecond: Int, burst: Int) {
        interval = min(Self.interval, Duration.seconds(1) * burst / permitsPerSecond)
    }

    init(_ configuration: Configuration) {
        self.init(permitsPerSecond: configuration.apns.permitsPerSecond, burst: configuration.apns.burst)
    }

    package func interval(unsettled: Int) -> Duration {
        unsettled >= Self.busyDeliveries ? interval : .zero
    }
}

/// How far apart a worker's turns begin at least.
///
/// A turn costs several system calls on our side and as many on the peers', whether it moves one message or a hundred. A worker
/// with much under way therefore waits for more before the next one; a request goes through three turns until its acknowledgement.
package struct TurnPace {
    /// With so many deliveries unsettled, those that are held included, a worker is busy. With fewer, nothing is waited for.
    package static let busyDeliveries = 64
    package static let interval = Duration.milliseconds(2)

    private let interval: Duration

    /// A token bucket that fills before the turn comes loses what would have run into it, so it is waited for no longer than that.
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

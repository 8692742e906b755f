/// How far apart a worker's turns begin at least: the more it has under way, the more it collects for one turn.
///
/// A turn costs several system calls on our side and as many on the peers', whether it moves one message or a hundred. A request
/// waits for two turns until its result and for a third until its acknowledgement, so the pace lets as many deliveries as are
/// unsettled go through three turns and still leaves more than a core can send: 83,000 a second.
package struct TurnPace {
    /// With so many deliveries unsettled, those that are held included, it pays to wait for more before the next turn; with fewer,
    /// hardly anything would come.
    package static let busyDeliveries = 4
    package static let shortest = Duration.microseconds(500)
    package static let longest = Duration.milliseconds(4)
    /// How much each unsettled delivery adds.
    package static let perDelivery = Duration.microseconds(4)

    /// A token bucket that fills before the turn comes loses what would have run into it.
    private let longest: Duration

    package init(permitsPerSecond: Int, burst: Int) {
        let filling = Duration.seconds(1) * burst / permitsPerSecond
        longest = max(Self.shortest, min(filling, Self.longest))
    }

    init(_ configuration: Configuration) {
        self.init(permitsPerSecond: configuration.apns.permitsPerSecond, burst: configuration.apns.burst)
    }

    package func interval(unsettled: Int) -> Duration {
        guard unsettled >= Self.busyDeliveries else { return .zero }
        return min(max(Self.shortest, Self.perDelivery * unsettled), longest)
    }
}

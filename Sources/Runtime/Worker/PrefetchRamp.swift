package import Core

/// How many deliveries of a queue a process that has just started may hold: few, until it is plain that nobody died of
/// them.
///
/// What a dead worker held comes first, as redelivered; and a broker with a delivery limit counts it for all that the
/// worker held, not only for the one that killed it. So a process begins with one delivery. If that is a fresh one,
/// nothing was returned, and it takes as many as it may. If not, it has to survive some time with one, then with ten.
/// Many workers need no agreement for that: each goes by what it is given.
package struct PrefetchRamp {
    private enum Stage {
        case first, few, full
    }

    /// The second step.
    package static let few: UInt16 = 10
    /// How long a process lives with redeliveries before it takes more of them.
    package static let survival = Duration.seconds(1)

    private let full: UInt16
    private var stage: Stage
    /// When the first redelivery of this stage came.
    private var since: Instant?

    /// - Parameter isSlow: `false` begins with all.
    package init(full: UInt16, isSlow: Bool = true) {
        self.full = full
        stage = isSlow && full > 1 ? .first : .full
    }

    /// What the queue is consumed with now.
    package var prefetch: UInt16 {
        switch stage {
        case .first: 1
        case .few: min(Self.few, full)
        case .full: full
        }
    }

    /// When it goes on by itself.
    package var deadline: Instant? {
        since.map { $0 + Self.survival }
    }

    /// A message came. True if ``prefetch`` is another now.
    package mutating func delivered(isRedelivered: Bool, at now: Instant) -> Bool {
        guard stage != .full else { return false }
        guard isRedelivered else {
            stage = .full
            since = nil
            return true
        }
        if since == nil { since = now }
        return false
    }

    /// True if ``prefetch`` is another now.
    package mutating func expire(at now: Instant) -> Bool {
        guard let deadline, now >= deadline else { return false }
        since = nil
        let before = prefetch
        stage = stage == .first ? .few : .full
        return prefetch != before
    }
}

package import Core

/// The prefetch of a queue after a start: small, until the process has survived its first deliveries.
///
/// The broker first redelivers the messages of a crashed worker. A delivery limit counts the crash for all of them, not
/// only for the message that caused it. A process therefore starts with one delivery. If it is not a redelivery, the
/// full prefetch applies. Otherwise the process has to survive some time with one, then with ten. Workers need no
/// coordination for this.
package struct PrefetchRamp {
    /// The prefetch of the second step.
    package static let few: UInt16 = 10
    /// How long a process has to survive redeliveries before the prefetch grows.
    package static let survival = Duration.seconds(1)

    /// The prefetches that follow, the one in force first.
    private var steps: [UInt16]
    /// When the first redelivery of this step arrived.
    private var since: Instant?

    /// - Parameter isSlow: `false` starts with the full prefetch.
    package init(full: UInt16, isSlow: Bool = true) {
        steps = isSlow ? [1, min(Self.few, full), full] : [full]
    }

    package var prefetch: UInt16 { steps[0] }

    /// When the next step follows without a fresh delivery.
    package var deadline: Instant? {
        since.map { $0 + Self.survival }
    }

    /// A message arrived. Returns true if ``prefetch`` may have changed.
    package mutating func delivered(isRedelivered: Bool, at now: Instant) -> Bool {
        guard steps.count > 1 else { return false }
        guard isRedelivered else {
            steps.removeFirst(steps.count - 1)
            since = nil
            return true
        }
        if since == nil { since = now }
        return false
    }

    /// Returns true if ``prefetch`` changed.
    package mutating func expire(at now: Instant) -> Bool {
        guard let deadline, now >= deadline else { return false }
        since = nil
        return steps.removeFirst() != prefetch
    }
}

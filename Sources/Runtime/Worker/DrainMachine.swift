package import Core

/// The stages of a worker's shutdown. They only advance; the deadline ends the last one.
package struct DrainMachine {
    package enum Stage: Int, Comparable {
        case running
        /// Nothing is consumed any more; requests in flight are finished.
        case finishing
        /// Everything is settled; waits until the broker has received all settlements.
        case flushing
        /// The connections close in order.
        case closing
        case ended

        package static func < (left: Stage, right: Stage) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    /// The maximum time for the broker's response after everything is settled, and for the orderly close of the
    /// connections.
    package static let closeTimeout = Duration.seconds(5)

    package private(set) var stage = Stage.running
    package private(set) var deadline: Instant?
    /// Whether the shutdown ended with unsettled deliveries.
    package private(set) var wasCutShort = false

    package init() {}

    /// Returns false if the drain has already started.
    package mutating func start(deadline: Instant) -> Bool {
        guard stage == .running else { return false }
        stage = .finishing
        self.deadline = deadline
        return true
    }

    /// The broker requeues the unsettled deliveries.
    package mutating func cutShort() {
        wasCutShort = true
    }

    /// Everything that can be settled is settled.
    package mutating func settled(at now: Instant) {
        precondition(stage == .finishing, "a drain must settle once")
        stage = .flushing
        deadline = min(deadline ?? now, now + Self.closeTimeout)
    }

    /// The broker has received all settlements, or the deadline has passed.
    package mutating func flushed(at now: Instant) {
        precondition(stage == .flushing, "settlements must be flushed once")
        stage = .closing
        deadline = now + Self.closeTimeout
    }

    /// Every connection is closed.
    package mutating func closed() {
        stage = .ended
        deadline = nil
    }

    package func isOver(at now: Instant) -> Bool {
        deadline.map { now >= $0 } ?? false
    }
}

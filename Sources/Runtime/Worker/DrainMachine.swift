package import Core

/// The stages of a worker's end. They only advance, and the last one is reached at the deadline at the latest.
package struct DrainMachine {
    package enum Stage: Int, Comparable {
        case running
        /// Nothing is consumed any more; what is in flight is finished.
        case finishing
        /// Everything is settled; it is made sure that the broker knows.
        case flushing
        /// The connections close in order.
        case closing
        case ended

        package static func < (left: Stage, right: Stage) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    /// How long the broker may take to answer once everything is settled, and the connections then to close in order.
    package static let closeTimeout = Duration.seconds(5)

    package private(set) var stage = Stage.running
    package private(set) var deadline: Instant?
    /// Whether the end came before everything was settled that could be.
    package private(set) var wasCutShort = false

    package init() {}

    /// Returns false if the drain has begun already.
    package mutating func start(deadline: Instant) -> Bool {
        guard stage == .running else { return false }
        stage = .finishing
        self.deadline = deadline
        return true
    }

    /// What is unsettled goes back to its queue.
    package mutating func cutShort() {
        wasCutShort = true
    }

    /// Everything is settled that can be.
    package mutating func settled(at now: Instant) {
        precondition(stage == .finishing, "a drain settles once")
        stage = .flushing
        deadline = min(deadline ?? now, now + Self.closeTimeout)
    }

    /// The broker has all settlements, or may be asked no longer.
    package mutating func flushed(at now: Instant) {
        precondition(stage == .flushing, "what is settled is flushed once")
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

import Core
package import System

extension EventLoop {
    /// Runs until `condition` holds at the end of a turn.
    ///
    /// - Returns: `false` if it did not hold within `time`.
    package func run(within time: Duration, until condition: @escaping () -> Bool) throws -> Bool {
        let owner = ConditionOwner(self, SystemClock.now().instant + time, condition)
        try run(owner: owner)
        return owner.nextDeadline != nil
    }
}

private final class ConditionOwner: LoopOwner {
    private let loop: EventLoop
    /// `nil` once it has passed.
    private(set) var nextDeadline: Instant?
    private let condition: () -> Bool

    init(_ loop: EventLoop, _ deadline: Instant, _ condition: @escaping () -> Bool) {
        self.loop = loop
        nextDeadline = deadline
        self.condition = condition
    }

    func expire(at now: Moment) {
        nextDeadline = nil
        loop.stop()
    }

    func endTurn(at now: Moment) {
        if condition() { loop.stop() }
    }
}

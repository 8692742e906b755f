package import Core

/// Who runs on a loop: a worker, or a test.
package protocol LoopOwner: AnyObject {
    /// When ``expire(at:)`` is due; asked once per turn, before the loop sleeps.
    var nextDeadline: Instant? { get }

    /// Called when ``nextDeadline`` has passed; moves it or clears it.
    func expire(at now: Moment)

    /// The end of a turn, before output is flushed: takes the engines' events and gives them new work.
    func endTurn(at now: Moment)

    /// How far apart turns begin at least; asked once per turn. What arrives meanwhile is read, answered and written at
    /// once: a turn costs several system calls on our side and as many on the peers', whether it moves one message or
    /// fifty.
    var turnInterval: Duration { get }
}

extension LoopOwner {
    package var turnInterval: Duration { .zero }
}

/// A part of the loop's own that has deadlines and output: a network, a listener.
package protocol LoopParticipant: AnyObject {
    /// When ``expire(at:)`` is due; asked once per turn, before the loop sleeps.
    var nextDeadline: Instant? { get }

    /// Called when a deadline of anyone on the loop has passed; does what of its own is due.
    func expire(at now: Moment)

    /// Called once per turn, after ``LoopOwner/endTurn(at:)``: sends what the turn produced.
    func flush(at now: Moment)
}

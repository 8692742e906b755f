package import Core

/// The user of a loop: a worker, or a test.
package protocol LoopOwner: AnyObject {
    /// When ``expire(at:)`` is due; read once per turn, before the loop sleeps.
    var nextDeadline: Instant? { get }

    /// Called when ``nextDeadline`` has passed; must move or clear it.
    func expire(at now: Moment)

    /// The end of a turn, before output is flushed: takes the engines' events and gives them new work.
    func endTurn(at now: Moment)

    /// The minimum time between the starts of turns; read once per turn. All input in between is processed together: a
    /// turn costs several system calls here and as many at the peers, whether it processes one message or fifty.
    var turnInterval: Duration { get }
}

extension LoopOwner {
    package var turnInterval: Duration { .zero }
}

/// A part of the loop with deadlines and output: a network, a listener.
package protocol LoopParticipant: AnyObject {
    /// When ``expire(at:)`` is due; read once per turn, before the loop sleeps.
    var nextDeadline: Instant? { get }

    /// Called when any deadline on the loop has passed; must do only the participant's due work.
    func expire(at now: Moment)

    /// Called once per turn, after ``LoopOwner/endTurn(at:)``: sends the output of the turn.
    func flush(at now: Moment)
}

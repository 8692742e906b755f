package import Core

/// What a command does on a loop, from its start to its end. Sans-IO like a worker.
///
/// Its owner calls ``step(at:)`` at the end of each turn and when ``nextDeadline`` has passed, until ``isFinished``.
package protocol Run: AnyObject {
    /// When it has something to do though nothing has happened; `nil` for never.
    var nextDeadline: Instant? { get }

    /// Whether its end is known, and what it opened is closed or given up.
    var isFinished: Bool { get }

    /// How far it is, for whoever waits; of 0 where nobody can tell.
    var progress: (done: Int, of: Int) { get }

    /// Takes what has happened, and does what is due.
    func step(at now: Moment)

    /// Ends it where it is; ``step(at:)`` goes on until it is finished.
    func stop(at now: Moment)
}

extension Run {
    package var progress: (done: Int, of: Int) { (0, 0) }
}

package import Core

/// The work of a command on an event loop, from start to end. Sans-IO like a worker.
///
/// Its owner calls ``step(at:)`` at the end of each turn and when ``nextDeadline`` has passed, until ``isFinished``.
package protocol Run: AnyObject {
    /// When to step it even if no event arrives; `nil` for never.
    var nextDeadline: Instant? { get }

    /// Whether its outcome is known and everything that it opened is closed or abandoned.
    var isFinished: Bool { get }

    /// The units of work done and their total. A total of 0 means that it is unknown.
    var progress: (done: Int, of: Int) { get }

    /// Why it has made no progress for some seconds although it continues; `nil` while it works as intended.
    func trouble(at now: Instant) -> String?

    /// Handles the events since the last step, and what is due.
    func step(at now: Moment)

    /// Stops it early. ``step(at:)`` is still called until it is finished.
    func stop(at now: Moment)
}

extension Run {
    package var progress: (done: Int, of: Int) { (0, 0) }

    package func trouble(at now: Instant) -> String? { nil }
}

import AMQP
import Core

/// Ends a run that makes no progress.
///
/// The run calls ``restart(at:)`` for each delivery, confirm or response that it waits for.
struct ProgressTimeout {
    /// The longest time without progress.
    let limit: Duration
    private var since: Instant
    private var lastLoss: AMQPError?

    init(limit: Duration, at now: Instant) {
        self.limit = limit
        since = now
    }

    /// When the run fails unless it makes progress before.
    var deadline: Instant { since + limit }

    /// Whether there was no progress for this time.
    func isQuiet(for time: Duration, at now: Instant) -> Bool {
        now >= since + time
    }

    mutating func restart(at now: Instant) {
        since = now
    }

    /// A connection was lost. The newest loss is the reason that ``failure(at:)`` gives.
    mutating func connectionLost(_ error: AMQPError) {
        lastLoss = error
    }

    /// - Returns: Why the run fails now; `nil` before the deadline.
    func failure(at now: Instant) -> String? {
        now >= deadline ? lastLoss?.description ?? "the broker does not respond" : nil
    }
}

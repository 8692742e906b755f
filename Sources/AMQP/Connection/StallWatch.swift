import Core

/// Notices a consumer that gets nothing although its queue has messages and it may take some.
///
/// A queue is asked for its messages only after a while without deliveries, and one answer is not enough: what was
/// there may have been on its way to somebody. Between two such answers nothing was delivered, or the consumer is not
/// stalled.
struct StallWatch {
    /// How long nothing is delivered until the queue is asked, and then asked again.
    let patience: Duration
    private var since: Instant
    private var isAsking = false
    /// Since the last question, or the last delivery if that was later, messages wait.
    private var hasMessages = false
    private var wasDelivered = false

    init(patience: Duration, at now: Instant) {
        self.patience = patience
        since = now
    }

    /// When to ask, or when the answer must be there.
    var deadline: Instant {
        since + patience
    }

    /// What to do at the deadline.
    enum Action {
        case ask, wait
        /// Not even the question is answered.
        case giveUp
    }

    mutating func expire(at now: Instant) -> Action {
        since = now
        guard isAsking else { return .ask }
        defer { wasDelivered = false }
        return wasDelivered ? .wait : .giveUp
    }

    /// Something was delivered, or nothing could be.
    mutating func delivered(at now: Instant) {
        since = now
        hasMessages = false
        wasDelivered = true
    }

    /// The queue is being asked.
    mutating func asked(at now: Instant) {
        since = now
        isAsking = true
        wasDelivered = false
    }

    /// So many messages wait in the queue. True if the consumer is stalled.
    mutating func answered(messages: UInt32, at now: Instant) -> Bool {
        isAsking = false
        since = now
        guard messages > 0, !wasDelivered else {
            hasMessages = false
            return false
        }
        defer { hasMessages = true }
        return hasMessages
    }
}

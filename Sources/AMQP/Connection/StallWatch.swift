import Core

/// Detects a consumer that receives nothing although its queue has messages and its prefetch is not used up.
///
/// A queue is counted only after a while without deliveries. One count is not enough, because the counted messages may
/// be in delivery to another consumer. Stalled means two such counts with no delivery between them.
struct StallWatch {
    /// The time without deliveries before the queue is counted, and between two counts.
    let timeLimit: Duration
    private var since: Instant
    private var isAsking = false
    /// Whether messages waited at the last count and nothing was delivered since.
    private var hasMessages = false
    private var wasDelivered = false

    init(timeLimit: Duration, at now: Instant) {
        self.timeLimit = timeLimit
        since = now
    }

    /// When to count, or when the pending count times out.
    var deadline: Instant {
        since + timeLimit
    }

    enum Action {
        case ask, wait
        /// Even the count is not answered.
        case giveUp
    }

    mutating func expire(at now: Instant) -> Action {
        since = now
        defer { wasDelivered = false }
        guard isAsking else {
            isAsking = true
            return .ask
        }
        return wasDelivered ? .wait : .giveUp
    }

    /// A message was delivered, or the consumer could not take any.
    mutating func delivered(at now: Instant) {
        since = now
        hasMessages = false
        wasDelivered = true
    }

    /// Takes a count, if it has asked. Returns true if the consumer is stalled.
    mutating func responded(messages: UInt32, at now: Instant) -> Bool {
        guard isAsking else { return false }
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

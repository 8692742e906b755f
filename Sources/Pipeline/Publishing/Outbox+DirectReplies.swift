import AMQP
import Core

/// Direct replies are best effort: the broker drops those whose requesters have disconnected.
extension Outbox {
    /// A `mandatory` direct reply would be returned even if its requester received it.
    /// Source: RabbitMQ 3.10.8 and 4.0.5.
    static func directReply(_ publication: consuming Publication) -> Publication {
        publication.mandatory = false
        return publication
    }

    /// The maximum wait of a direct reply for its connection.
    private var replyTimeout: Duration {
        refusedResults.isStopped
            ? min(refusedResults.timeLimit, Self.replyTimeoutInDrain) : refusedResults.timeLimit
    }

    /// Enough for one connection attempt.
    private static let replyTimeoutInDrain = Duration.seconds(5)

    /// When the next direct reply has waited too long for its connection. `nil` while none waits, or while the
    /// connection for queues is closed.
    var nextOverdueReply: Instant? {
        guard outlets[PublisherRole.queues.rawValue].isOpen else { return nil }
        return outlets[PublisherRole.directReplies.rawValue].waitingSince.map { $0 + replyTimeout }
    }

    /// Diverts direct replies that have waited too long for their connection.
    mutating func giveUpOverdueReplies(at now: Moment) {
        while let due = nextOverdueReply, due <= now.instant,
            let overdue = outlets[PublisherRole.directReplies.rawValue].popWaiting()
        {
            divertReply(overdue, at: now)
        }
    }
}

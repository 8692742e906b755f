import AMQP
import Core
import DequeModule

/// The publishing connection for a publish.
///
/// A direct reply may cause the broker to close its connection, so direct replies use separate connections. Replies to
/// requesters that the broker has not accepted yet are separate from those to accepted ones.
/// Source: rabbitmq.com/docs/direct-reply-to.
package enum PublisherRole: Int, CaseIterable, Sendable {
    /// Results to queues, dead letters and retries.
    case queues
    /// Direct replies whose requester the broker has accepted before.
    case provenReplies
    /// Direct replies to other requesters.
    case unprovenReplies

    static let directReplies = [PublisherRole.provenReplies, .unprovenReplies]
}

/// Requesters of direct replies that the broker has accepted.
struct ProvenRequesters {
    /// Above this number, one is forgotten and has to be accepted again.
    static let maximum = 4096

    private var origins: Set<DirectReplyName.Origin> = []

    /// - Returns: `nil` for a direct reply name that no broker can have created.
    func role(of publication: borrowing Publication) -> PublisherRole? {
        guard publication.exchange.isEmpty, DirectReplyName.isPrefix(of: publication.routingKey) else { return .queues }
        guard let name = DirectReplyName(publication.routingKey) else { return nil }
        return origins.contains(name.origin) ? .provenReplies : .unprovenReplies
    }

    /// The broker confirmed or returned a direct reply.
    mutating func accepted(_ publication: borrowing Publication) {
        guard let origin = DirectReplyName(publication.routingKey)?.origin, !origins.contains(origin) else { return }
        if origins.count >= Self.maximum { origins.removeFirst() }
        origins.insert(origin)
    }
}

/// The queue and state of one publishing connection.
struct PublishOutlet {
    /// Publishes that are not written yet, oldest first.
    var unpublished = Deque<PendingPublication>()
    var unconfirmed = SequenceTable<PendingPublication>()
    /// Publishes that are tried alone, because the broker may have closed the connection over one of them.
    var suspects = SuspectPublishes()
    /// Whether the connection accepts publishes.
    var isOpen = false
    /// Until when the connection counts as unreliable.
    var unreliableUntil = Instant.distantPast

    /// Publishes that are not written yet, including suspects.
    var waiting: Int { unpublished.count + suspects.count }

    var elements: [PendingPublication] {
        Array(unpublished) + unconfirmed.elements + suspects.elements
    }
}

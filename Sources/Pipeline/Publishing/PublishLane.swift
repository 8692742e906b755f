import AMQP
import Core
import DequeModule

/// Which of a worker's connections a publish takes.
///
/// A direct reply may make the broker close the connection that it is published on, so direct replies share no
/// connection with anything else; and the ones whose requester the broker has not accepted yet share none with those
/// that it has.
/// Source: rabbitmq.com/docs/direct-reply-to.
package enum PublishLane: Int, CaseIterable, Sendable {
    /// Results to queues, dead letters and retries.
    case queues
    /// Direct replies whose requester the broker has accepted before.
    case provenReplies
    /// Direct replies to other requesters.
    case unprovenReplies

    static let directReplies = [PublishLane.provenReplies, .unprovenReplies]
}

/// Requesters of direct replies that the broker has accepted.
struct ProvenRequesters {
    /// Beyond that, one is forgotten and has to be proven again.
    static let maximum = 4096

    private var origins: Set<DirectReplyName.Origin> = []

    /// - Returns: `nil` for a name of a direct reply that no broker can have made.
    func lane(of publication: borrowing Publication) -> PublishLane? {
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

/// What waits for one publishing connection, and what it was given.
struct PublishOutlet {
    /// What the connection has not been given yet, oldest first.
    var unpublished = Deque<PendingPublication>()
    var unconfirmed = SequenceTable<PendingPublication>()
    /// Publishes that go alone, because the broker may have closed the connection over one of them.
    var suspects = SuspectPublishes()
    /// Whether the connection takes publishes.
    var isOpen = false
    /// Until when its connection counts as unreliable.
    var troubledUntil = Instant.distantPast

    /// Publishes that the connection has not been given.
    var waiting: Int { unpublished.count + suspects.count }

    var elements: [PendingPublication] {
        Array(unpublished) + unconfirmed.elements + suspects.elements
    }
}

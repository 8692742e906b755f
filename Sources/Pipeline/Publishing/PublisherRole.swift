import AMQP
import Core
import DequeModule

/// The publishing connection for a publish.
///
/// A direct reply may cause the broker to close its connection, so direct replies use a separate one.
/// Source: rabbitmq.com/docs/direct-reply-to.
package enum PublisherRole: Int, CaseIterable, Sendable {
    /// Results to queues, dead letters and retries.
    case queues
    case directReplies
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

    /// Since when the publish that has waited longest waits.
    var waitingSince: Instant? {
        guard let first = unpublished.first?.waitingSince else { return suspects.waitingSince }
        return min(first, suspects.waitingSince ?? first)
    }

    /// Removes the publish that has waited longest.
    mutating func popWaiting() -> PendingPublication? {
        let suspect = suspects.waitingSince ?? .distantFuture
        if let first = unpublished.first, first.waitingSince <= suspect { return unpublished.popFirst() }
        return suspects.popWaiting()
    }

    var elements: [PendingPublication] {
        Array(unpublished) + unconfirmed.elements + suspects.elements
    }
}

import AMQP
import Core
import DequeModule

/// The publishing connection for a publish.
///
/// A direct reply may cause the broker to close its connection, so direct replies use a separate one. So do attempts:
/// a channel's first publish to a quorum queue waits for the queue's leader, and delays the rest of the channel.
/// Source: rabbitmq.com/docs/direct-reply-to; rabbitmq-server, `rabbit_fifo_client:enqueue` (register_enqueuer).
package enum PublisherRole: Int, CaseIterable, Sendable {
    /// Results to queues, dead letters and retries.
    case queues
    case directReplies
    /// One publish at a time to destinations of ``queues`` that are not open.
    case attempts
}

/// What waits for one publishing connection, and for its confirms.
struct PublishOutlet {
    /// Publishes that are not written yet, oldest first.
    var unpublished = Deque<PendingPublication>()
    var unconfirmed = SequenceTable<PendingPublication>()
    /// Publishes that are tried alone, because the broker may have closed the connection over one of them.
    var suspects = Deque<PendingPublication>()
    var candidate: PendingPublication?
    /// Unconfirmed publishes of a lost connection whose close reason is not processed yet.
    var lost: [PendingPublication] = []
    /// Whether the connection accepted publishes when it was last asked, which is when it opens and in each turn while
    /// one waits, and was neither lost nor blocked since.
    var isOpen = false
    var isBlocked = false
    /// Since when it is lost or blocked; `nil` while it is not.
    var stoppedSince: Instant?
    /// Whether the last connection was not lost, or one has confirmed a publish since.
    var isReliable = true
    var lastConfirm = Instant.distantPast
    /// The number of lost connections.
    var losses = 0
    /// How often the connection was replaced since the last confirm.
    var replacements = 0

    mutating func stop(at now: Instant) {
        stoppedSince = stoppedSince ?? now
    }

    /// The number of publishes that are not written yet.
    @inline(__always)
    var waiting: Int { unpublished.count + suspects.count }

    @inline(__always)
    var oldest: PendingPublication? {
        guard let suspect = suspects.first else { return unpublished.first }
        guard let next = unpublished.first, next.since <= suspect.since else { return suspect }
        return next
    }

    /// Whether a suspect would be outstanding alone, except for publishes that the broker has had for long.
    func mayTrySuspect(at now: Instant) -> Bool {
        unconfirmed.count == 0 || unconfirmed.elements.allSatisfy { now - $0.writtenAt >= Destinations.silence }
    }

    var elements: [PendingPublication] {
        (Array(unpublished) + unconfirmed.elements + Array(suspects) + lost).filter { !$0.isAbandoned }
    }
}

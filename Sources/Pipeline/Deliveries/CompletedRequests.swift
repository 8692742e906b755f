package import Core

/// What identifies a request across redeliveries of the same message to this process.
package struct RedeliveryKey: Hashable {
    private let hash: UInt64
    /// Whether the producer gave it a message id. Without one, two messages that look the same may be two requests.
    let isNamed: Bool

    /// A keyed 64-bit hash (a new key for each process) of all that a redelivery repeats; quorum queues add a header.
    ///
    /// The body counts although there is a message id: a producer that gives two messages one id loses neither.
    package init(_ delivery: borrowing Delivery) {
        self.init(delivery, RequestHistory(delivery))
    }

    /// That of a delivery whose headers were read.
    init(_ delivery: borrowing Delivery, _ history: borrowing RequestHistory) {
        var hash = ContentHash()
        hash.combine(UInt64(truncatingIfNeeded: delivery.queue.index))
        hash.combine(delivery.timestamp == nil ? 0 : 1)
        hash.combine(delivery.timestamp ?? 0)
        delivery.forEachIdentifyingField { hash.combine($0) }
        // The copy that comes back from a retry queue is not a redelivery of what was parked.
        hash.combine(UInt64(truncatingIfNeeded: history.copy))
        self.hash = hash.value
        isNamed = delivery.hasMessageID
    }
}

/// Remembers the requests that finished while the broker may still count them as unacknowledged, so that a redelivery
/// after a lost connection is acknowledged instead of sent again.
///
/// A message id names a request, so each of its redeliveries is known. Messages without one that look the same may be
/// two requests, of which the one that finished was acknowledged and the other comes again: none is acknowledged unsent
/// but for one that finished here and was *not* acknowledged, because its connection was gone. Of the same look, as
/// many are acknowledged as were sent, whoever sent them.
///
/// Finishing a request costs one entry in a ring. Look-ups happen only for a while after a connection was lost.
package struct CompletedRequests {
    /// How long after the last lost connection redeliveries are looked up.
    package static let memory = Duration.seconds(600)

    private var ring: [RedeliveryKey] = []
    private var next = 0
    private let capacity: Int
    /// What may be redelivered: of the newest lost connections, and of those before.
    private var suspects: Set<RedeliveryKey> = []
    private var olderSuspects: Set<RedeliveryKey> = []
    /// How many without a message id finished after their connection was gone, by what they look like.
    private var unacknowledged: [RedeliveryKey: Int] = [:]
    private var forgetAt = Instant.distantFuture

    /// - Parameter prefetch: the sum of the prefetches of all queues
    package init(prefetch: Int) {
        // Between the completion of a delivery and its acknowledgement, all that were delivered before it can complete,
        // and all that are delivered until then: two prefetches, and two more if the broker cancelled a consumer, whose
        // deliveries it does not count against the next one.
        capacity = max(1, prefetch) * 4
        ring.reserveCapacity(capacity)
    }

    /// A request was completed: its results are confirmed and its delivery is being acknowledged. One without a message
    /// id is not remembered.
    package mutating func completed(_ key: RedeliveryKey) {
        guard key.isNamed else { return }
        if ring.count < capacity {
            ring.append(key)
        } else {
            ring[next] = key
            next = (next + 1) % capacity
        }
    }

    /// A request was completed, but the connection that brought it is gone: it cannot be acknowledged.
    package mutating func completedTooLate(_ key: RedeliveryKey) {
        guard !key.isNamed else {
            suspects.insert(key)
            return
        }
        // What is forgotten is sent again.
        if unacknowledged.count >= capacity { unacknowledged.removeAll() }
        unacknowledged[key, default: 0] += 1
    }

    /// The consuming connection is gone, and with it perhaps the last acknowledgements.
    package mutating func connectionLost(at now: Instant) {
        forget(at: now)
        if suspects.count >= capacity {
            olderSuspects = suspects
            suspects = []
        }
        suspects.formUnion(ring)
        ring.removeAll(keepingCapacity: true)
        next = 0
        forgetAt = now + Self.memory
    }

    /// How many requests are remembered.
    package var count: Int {
        ring.count + suspects.count + olderSuspects.count + unacknowledged.values.reduce(0, +)
    }

    /// Whether deliveries need to be looked up at all.
    package var hasSuspects: Bool {
        !suspects.isEmpty || !olderSuspects.isEmpty || !unacknowledged.isEmpty
    }

    /// Whether this redelivered request finished already, and is to be acknowledged. One that is named may come once
    /// more: the acknowledgement of the redelivery can be lost as well.
    package mutating func absorbs(_ key: RedeliveryKey, at now: Instant) -> Bool {
        forget(at: now)
        guard !key.isNamed else { return suspects.contains(key) || olderSuspects.contains(key) }
        guard let count = unacknowledged[key] else { return false }
        unacknowledged[key] = count > 1 ? count - 1 : nil
        return true
    }

    /// The same request was published anew, as a replay or by its producer: its redeliveries are those of the new one.
    package mutating func publishedAnew(_ key: RedeliveryKey) {
        suspects.remove(key)
        olderSuspects.remove(key)
    }

    private mutating func forget(at now: Instant) {
        guard now >= forgetAt else { return }
        suspects.removeAll()
        olderSuspects.removeAll()
        unacknowledged.removeAll()
        forgetAt = .distantFuture
    }
}

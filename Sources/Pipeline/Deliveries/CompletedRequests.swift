package import Core

/// Identifies a request across redeliveries of the same message to this process.
package struct RedeliveryKey: Hashable {
    private let hash: UInt64
    /// Whether the producer gave it a message id. Without one, two messages that look the same may be two requests.
    let isNamed: Bool

    /// A keyed 64-bit hash (one key per process) of everything that a redelivery repeats.
    ///
    /// Body and headers count even with a message id: if a producer uses an id twice, neither message is lost. A header
    /// can be all that tells one device's request from another's.
    package init(_ delivery: borrowing Delivery) {
        self.init(delivery, RequestHistory(delivery))
    }

    /// The key of a delivery whose headers were already read.
    init(_ delivery: borrowing Delivery, _ history: borrowing RequestHistory) {
        var hash = ContentHash()
        hash.combine(UInt64(truncatingIfNeeded: delivery.queue.index))
        hash.combine(delivery.timestamp == nil ? 0 : 1)
        hash.combine(delivery.timestamp ?? 0)
        delivery.combineIdentity(into: &hash)
        // The copy from a retry queue is not a redelivery of the parked message.
        hash.combine(UInt64(truncatingIfNeeded: history.copy))
        self.hash = hash.value
        isNamed = delivery.hasMessageID
    }
}

/// Remembers finished requests that the broker may still count as unacknowledged. After a lost connection their
/// redeliveries are acknowledged instead of sent again.
///
/// A message id names a request, so each of its redeliveries is recognized. Equal messages without an id may be two
/// requests: the finished one was acknowledged, and the broker redelivers the other. Such a redelivery is absorbed only
/// for a request that finished here but could *not* be acknowledged, once for each.
///
/// Finishing a request costs one entry in a ring. Lookups happen only for some time after a lost connection.
package struct CompletedRequests {
    /// How long after the last lost connection, or the last request that ended after one, redeliveries are looked up.
    package static let memory = Duration.seconds(600)

    private var ring: [RedeliveryKey] = []
    private var next = 0
    private let capacity: Int
    /// Requests that may be redelivered: those of the newest lost connections, and older ones.
    private var suspects: Set<RedeliveryKey> = []
    private var olderSuspects: Set<RedeliveryKey> = []
    /// The number of requests without a message id that finished after their connection was lost, by key.
    private var unacknowledged: [RedeliveryKey: Int] = [:]
    private var forgetAt = Instant.distantFuture

    /// - Parameter prefetch: the sum of the prefetches of all queues
    package init(prefetch: Int) {
        // Before a delivery is acknowledged, all earlier deliveries can complete, and all that arrive until then: two
        // prefetches. If the broker cancels a consumer, it does not count the old deliveries: two more.
        capacity = prefetch * 4
        ring.reserveCapacity(capacity)
    }

    /// A request completed: its results are confirmed, and its delivery is being acknowledged. Only requests with a
    /// message id are remembered.
    package mutating func completed(_ key: RedeliveryKey) {
        guard key.isNamed else { return }
        if ring.count < capacity {
            ring.append(key)
        } else {
            ring[next] = key
            next = (next + 1) % capacity
        }
    }

    /// A request completed after its connection was lost, so it cannot be acknowledged.
    package mutating func completedTooLate(_ key: RedeliveryKey, at now: Instant) {
        forget(at: now)
        forgetAt = now + Self.memory
        guard !key.isNamed else {
            suspects.insert(key)
            return
        }
        // A forgotten request is sent again if it is redelivered.
        if unacknowledged.count >= capacity { unacknowledged.removeAll() }
        unacknowledged[key, default: 0] += 1
    }

    /// The consuming connection was lost, and possibly the last acknowledgements with it.
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

    package func hasSuspects(at now: Instant) -> Bool {
        now < forgetAt && !(suspects.isEmpty && olderSuspects.isEmpty && unacknowledged.isEmpty)
    }

    /// Whether this redelivered request has already finished, so that it is only acknowledged. A named one stays
    /// remembered, because this acknowledgement can be lost as well.
    package mutating func absorbs(_ key: RedeliveryKey, at now: Instant) -> Bool {
        forget(at: now)
        guard !key.isNamed else { return suspects.contains(key) || olderSuspects.contains(key) }
        guard let count = unacknowledged[key] else { return false }
        unacknowledged[key] = count > 1 ? count - 1 : nil
        return true
    }

    /// The same request was published again, by a replay or its producer: further redeliveries belong to the new one.
    package mutating func republished(_ key: RedeliveryKey) {
        suspects.remove(key)
        olderSuspects.remove(key)
    }

    private mutating func forget(at now: Instant) {
        guard now >= forgetAt else { return }
        suspects.removeAll()
        olderSuspects.removeAll()
        unacknowledged.removeAll()
    }
}

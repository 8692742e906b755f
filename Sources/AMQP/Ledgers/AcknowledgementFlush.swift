package import Core

/// Ensures that acknowledgements have reached their queues before their connection is closed.
///
/// A RabbitMQ channel holds acks back from a busy quorum queue until the queue has processed earlier ones, and drops
/// them when the channel closes. The queue's responses to two later commands prove that the acks were processed: a new
/// consumer and its cancellation. Two are needed because the held acks are sent only after the first response.
///
/// For cancelled consumers. Meanwhile each receives one more message, which the broker requeues when the connection
/// closes.
package struct AcknowledgementFlush {
    private enum Stage {
        case subscribing, cancelling
    }

    private var stage = Stage.subscribing
    private var queues: Set<QueueID>
    /// Queues that have not answered yet.
    private var awaited: Set<QueueID>

    /// - Parameter queues: the source queues of the deliveries on the open channels.
    package init(_ queues: some Sequence<QueueID>, on consumer: AMQPConnection, at now: Instant) {
        self.queues = consumer.isOpen ? Set(queues) : []
        awaited = self.queues
        guard !awaited.isEmpty else { return }
        consumer.flushAcknowledgements(at: now)
        // Keeps the number of new deliveries minimal.
        for queue in awaited { consumer.setPrefetch(1, queue: queue, at: now) }
        consumer.resumeConsumers(of: awaited, at: now)
    }

    /// Takes every event of the connection.
    package mutating func took(_ event: AMQPConnection.Event, on consumer: AMQPConnection, at now: Instant) {
        guard !isOver else { return }
        switch (stage, event) {
        case (.subscribing, .engine(.consuming(let queue))), (.cancelling, .engine(.cancelled(let queue))):
            awaited.remove(queue)
        case (_, .engine(.channelClosed(let queue, _))):
            awaited.remove(queue)
            queues.remove(queue)
        case (_, .disconnected), (_, .closed):
            awaited = []
            queues = []
        default: break
        }
        guard stage == .subscribing, awaited.isEmpty, !queues.isEmpty else { return }
        stage = .cancelling
        awaited = queues
        consumer.cancelConsumers(at: now)
    }

    /// Whether every reachable queue has answered twice.
    package var isOver: Bool {
        awaited.isEmpty
    }
}

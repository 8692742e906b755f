package import Core

/// Makes sure that acknowledgements have reached their queues before their connection is closed.
///
/// RabbitMQ's channels put acks to a busy quorum queue aside until it has taken earlier ones, and forget them when the
/// channel ends. What the queue answers after them says that they are through: two commands, a new consumer and its
/// end, because those put aside leave only when the first one is answered.
///
/// For consumers that are cancelled. Each is given one message more meanwhile, which goes back when the connection
/// closes.
package struct AcknowledgementFlush {
    private enum Stage {
        case subscribing, cancelling
    }

    private var stage = Stage.subscribing
    private var queues: Set<QueueID>
    /// Those that have not answered yet.
    private var awaited: Set<QueueID>

    /// - Parameter queues: what was delivered over the channels that are open came from these.
    package init(_ queues: some Sequence<QueueID>, on consumer: AMQPConnection, at now: Instant) {
        self.queues = consumer.isOpen ? Set(queues) : []
        awaited = self.queues
        guard !awaited.isEmpty else { return }
        consumer.flushAcknowledgements(at: now)
        // As little as possible comes along.
        for queue in awaited { consumer.setPrefetch(1, queue: queue, at: now) }
        consumer.resumeConsumers(of: awaited, at: now)
    }

    /// Takes every event of the connection.
    package mutating func took(_ event: AMQPConnection.Event, on consumer: AMQPConnection, at now: Instant) {
        guard !isOver else { return }
        switch (stage, event) {
        case (.subscribing, .engine(.consuming(let queue))), (.cancelling, .engine(.cancelled(let queue, _))):
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

    /// Whether every queue that could has answered twice.
    package var isOver: Bool {
        awaited.isEmpty
    }
}

import AMQP
import Core
import Pipeline

/// A worker's state of one queue that it consumes.
struct ConsumedQueue {
    var ramp: PrefetchRamp
    /// Whether the broker has registered the consumer.
    var isConsuming = false
    /// Whether its channel has delivered a message.
    var hasDelivered = false
    /// How long the oldest delivery had been held when the broker cancelled the consumer.
    var heldAtCancel: Duration?
    var suspicion = StreamSuspicion()

    /// The broker redelivers what is unsettled.
    mutating func channelEnded() {
        self = ConsumedQueue(ramp: ramp)
    }
}

/// Whether a queue is a stream; a stream keeps acknowledged messages and never redelivers.
///
/// A stream marks each delivery with `x-stream-offset`. Producers can forge that header, so deliveries wait until the
/// broker has answered, once for each consumer. Source: rabbitmq.com/docs/streams.
struct StreamSuspicion {
    private static let mark: StaticString = "x-stream-offset"

    /// Deliveries that wait for the broker's response, in order.
    private var held: [Delivery] = []
    private var isAnswered = false

    /// Whether the broker has to be asked.
    var isOpen: Bool { !held.isEmpty && !isAnswered }

    /// - Returns: whether the delivery is held; all deliveries after a suspect are.
    mutating func holds(_ delivery: Delivery) -> Bool {
        guard !held.isEmpty || !isAnswered && delivery.header(Self.mark) != nil else { return false }
        held.append(delivery)
        return true
    }

    /// The queue is not a stream, as long as it exists.
    ///
    /// - Returns: the held deliveries.
    mutating func answered() -> [Delivery] {
        defer { self = StreamSuspicion(held: [], isAnswered: true) }
        return held
    }

    /// The queue is a stream: the held deliveries are never sent.
    mutating func confirm() {
        isAnswered = true
    }
}

/// Asks the broker whether a queue is a stream, on a separate connection, because the answer may end it.
extension Worker {
    /// Sends the next inquiry, unless one is pending.
    mutating func inquire() {
        guard inquiry == nil, let suspect = queues.indices.first(where: { queues[$0].suspicion.isOpen }),
            drain.stage == .running
        else { return }
        inquiries.start(at: now.instant)
        guard inquiries.isOpen else { return }
        inquiry = QueueID(suspect)
        // A stream refuses basic.get; other queues return a message or report that they are empty.
        inquiries.request(.get(queue: pipeline.settings.queues[suspect].name), at: now.instant)
    }

    mutating func takeInquiries() {
        while let event = inquiries.nextEvent(at: now.instant) {
            switch event {
            case .engine(.responded(let response)): responded(response)
            case .engine(.opened): connectionOpened(.inquiring)
            case .disconnected(_, let error, _): inquiryLost(error)
            case .engine, .closed: break
            }
        }
    }

    private mutating func responded(_ response: ControlResponse) {
        if case .got(let delivery, _) = response {
            inquiries.nack(epoch: delivery.epoch, tag: delivery.tag, requeue: true, at: now.instant)
        }
        // The channel may have ended since, and the queue may be another one.
        guard let queue = inquiry.take(), drain.stage == .running, queues[queue.index].suspicion.isOpen else { return }
        for delivery in queues[queue.index].suspicion.answered() { give(delivery) }
    }

    private mutating func inquiryLost(_ error: AMQPError) {
        guard let queue = inquiry.take(), error.replyCode == Self.notImplemented else {
            return connectionLost(.inquiring, error)
        }
        queues[queue.index].suspicion.confirm()
        let name = pipeline.settings.queues[queue.index].name
        events.append(
            .failed(
                .configuration,
                message: """
                    queue \(name) is a stream: streams neither redeliver requests nor remove finished ones. Nothing \
                    was sent from it. Use a quorum queue
                    """))
    }

    /// The reply code of a stream to `basic.get`. Source: AMQP 0-9-1, section 1.2 (constants).
    private static let notImplemented: UInt16 = 540
}

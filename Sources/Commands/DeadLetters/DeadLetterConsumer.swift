import AMQP
import Core

/// A connection that consumes a dead-letter queue.
struct DeadLetterConsumer {
    let connection: AMQPConnection
    /// How many messages it receives without an acknowledgement.
    private let prefetch: UInt16
    /// Whether the broker has a consumer of it, which is cancelled before it closes.
    private var isRegistered = false
    private var hasAcknowledged = false
    private var acknowledgements: AcknowledgementFlush?

    init(_ connection: AMQPConnection, prefetch: UInt16) {
        self.connection = connection
        self.prefetch = prefetch
    }

    var isFull: Bool { connection.held >= Int(prefetch) }

    mutating func ack(_ delivery: Delivery, at now: Instant) -> Bool {
        hasAcknowledged = true
        return connection.ack(epoch: delivery.epoch, tag: delivery.tag, at: now)
    }

    mutating func took(_ event: AMQPConnection.Event, at now: Instant) {
        acknowledgements?.took(event, on: connection, at: now)
        switch event {
        case .engine(.consuming): isRegistered = true
        case .engine(.cancelled): isRegistered = false
        case .engine(.channelClosed), .disconnected:
            isRegistered = false
            // The broker has taken back what was not acknowledged until then.
            hasAcknowledged = false
        default: break
        }
    }

    /// Makes the queue process all acknowledgements, once its consumers are cancelled.
    mutating func flush(at now: Instant) {
        guard hasAcknowledged, acknowledgements == nil else { return }
        acknowledgements = AcknowledgementFlush([QueueID(0)], on: connection, at: now)
    }

    var isFlushed: Bool {
        !connection.isOpen || !isRegistered && (acknowledgements?.isOver ?? !hasAcknowledged)
    }
}

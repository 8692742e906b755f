import AMQP
import Core

/// A connection that consumes a dead-letter queue.
struct DeadLetterConsumer {
    private enum State { case consuming, stopping, stopped }

    let connection: AMQPConnection
    /// How many messages it receives without an acknowledgement.
    private let prefetch: UInt16
    private var state = State.consuming
    /// Whether the broker has a consumer of it, which can be cancelled.
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

    mutating func stop(at now: Instant) {
        guard state == .consuming else { return }
        state = connection.isOpen && isRegistered ? .stopping : .stopped
        connection.cancelConsumers(at: now)
    }

    mutating func took(_ event: AMQPConnection.Event, at now: Instant) {
        acknowledgements?.took(event, on: connection, at: now)
        switch event {
        case .engine(.consuming): isRegistered = true
        case .engine(.cancelled): state = .stopped
        case .engine(.channelClosed), .disconnected:
            isRegistered = false
            // The broker has taken back what was not acknowledged until then.
            hasAcknowledged = false
            if state == .stopping { state = .stopped }
        default: break
        }
    }

    /// Makes the queue process all acknowledgements, once the consumer has stopped.
    mutating func flush(at now: Instant) {
        guard state == .stopped, hasAcknowledged, acknowledgements == nil else { return }
        acknowledgements = AcknowledgementFlush([QueueID(0)], on: connection, at: now)
    }

    var isFlushed: Bool {
        !connection.isOpen || state == .stopped && (acknowledgements?.isOver ?? !hasAcknowledged)
    }
}

package import AMQP
package import Core

/// Publishing requests and taking their replies from a queue of one's own: the connections for it, and their order.
///
/// Sans-IO like a worker. The queue is declared once and deleted at the end; lost connections are made again.
package final class ReplyQueue {
    package enum Event {
        /// Replies are being taken: requests may be published.
        case ready
        /// To be acknowledged by ``acknowledge(_:at:)``.
        case reply(Delivery)
        /// The broker told the end of the publish with this sequence number.
        case confirmed(UInt64, Confirmation)
        /// The broker refuses in a way that waiting does not mend.
        case failed(AMQPError)
    }

    /// How long the queue stays where it could not be deleted, in milliseconds.
    private static let life: Int32 = 600_000

    package let name: String
    private let control: AMQPConnection
    private let publisher: AMQPConnection
    private let consumer: AMQPConnection
    private var isDeclared = false
    private var isConsuming = false
    /// Why a connection was lost last.
    package private(set) var lastLoss: AMQPError?

    /// - Parameters:
    ///   - name: the queue's; no other run has the same.
    ///   - connect: makes the connection for a role.
    package init(
        name: String, prefetch: UInt16, at now: Instant, connect: (AMQPRole) throws -> AMQPConnection
    ) rethrows {
        self.name = name
        control = try connect(.control)
        publisher = try connect(.publisher)
        consumer = try connect(.consumer([ConsumerQueue(name: name, prefetch: prefetch)]))
        control.start(at: now)
        publisher.start(at: now)
    }

    private var connections: [AMQPConnection] { [control, publisher, consumer] }

    package var nextDeadline: Instant? {
        connections.compactMap(\.nextDeadline).min()
    }

    package func expire(at now: Instant) {
        for connection in connections { connection.expire(at: now) }
    }

    package func nextEvent(at now: Instant) -> Event? {
        nextOfControl(at: now) ?? nextOfConsumer(at: now) ?? nextOfPublisher(at: now)
    }

    private func nextOfControl(at now: Instant) -> Event? {
        while let event = control.nextEvent(at: now) {
            switch event {
            case .engine(.opened) where !isDeclared:
                let queue = QueueDeclaration(name: name, arguments: ["x-expires": .int32(Self.life)])
                control.request(.declareQueue(queue), at: now)
            case .engine(.replied(.declared)):
                isDeclared = true
                consumer.start(at: now)
            case .engine(.replied(.refused(let error))): return .failed(error)
            case .disconnected(_, let error, _):
                if let failure = lost(error) { return failure }
            default: break
            }
        }
        return nil
    }

    private func nextOfConsumer(at now: Instant) -> Event? {
        while let event = consumer.nextEvent(at: now) {
            switch event {
            case .engine(.consuming):
                isConsuming = true
                return .ready
            case .engine(.delivery(let delivery)): return .reply(delivery)
            case .engine(.channelClosed(_, let error)), .disconnected(_, let error, _):
                if let failure = lost(error) { return failure }
            default: break
            }
        }
        return nil
    }

    private func nextOfPublisher(at now: Instant) -> Event? {
        while let event = publisher.nextEvent(at: now) {
            switch event {
            case .engine(.confirmed(let sequence, let confirmation)): return .confirmed(sequence, confirmation)
            case .disconnected(_, let error, _):
                if let failure = lost(error) { return failure }
            default: break
            }
        }
        return nil
    }

    private func lost(_ error: AMQPError) -> Event? {
        lastLoss = error
        return error.isTransient ? nil : .failed(error)
    }

    /// Whether a request may be published now: its reply will be taken, and the broker takes publishes.
    package var canPublish: Bool { isConsuming && publisher.canPublish }

    /// - Returns: the sequence number of its confirm.
    package func publish(_ publication: Publication) throws(AMQPError) -> UInt64 {
        try publisher.publish(publication)
    }

    package func acknowledge(_ reply: Delivery, at now: Instant) {
        consumer.ack(epoch: reply.epoch, tag: reply.tag, at: now)
    }

    /// Deletes the queue where that is possible, and closes everything.
    package func close(at now: Instant) {
        if control.isOpen { control.request(.deleteQueue(name), at: now) }
        for connection in [consumer, publisher, control] { connection.close(at: now) }
    }

    package var isClosed: Bool { connections.allSatisfy(\.isClosed) }
}

import AMQP
import Core

/// Publishes requests and consumes their replies from a separate queue; manages the connections for both.
///
/// Sans-IO like a worker. The queue is declared once and deleted at the end; lost connections are reopened.
final class ReplyQueue {
    enum Event {
        /// Replies are being consumed: requests may be published.
        case ready
        /// Must be acknowledged with ``acknowledge(_:at:)``.
        case reply(Delivery)
        /// The broker confirmed, refused or returned the publish with this sequence number.
        case confirmed(UInt64, Confirmation)
        /// The broker refuses permanently.
        case failed(AMQPError)
    }

    /// `x-expires` of the queue if it cannot be deleted, in milliseconds.
    private static let life: Int32 = 600_000

    let name: String
    private let control: AMQPConnection
    private let publisher: AMQPConnection
    private let consumer: AMQPConnection
    private var isDeclared = false
    private var isConsuming = false
    var broker: BrokerProgress
    private var end: OrderlyClose?

    /// - Parameters:
    ///   - name: the name of the queue; unique to this run.
    ///   - timeLimit: the longest time without progress.
    ///   - connect: makes the connection for a role.
    init(
        name: String, prefetch: UInt16, timeLimit: Duration, at now: Instant,
        connect: (AMQPRole) throws -> AMQPConnection
    ) rethrows {
        self.name = name
        broker = BrokerProgress(limit: timeLimit, outlastsLosses: true, at: now)
        control = try connect(.control)
        publisher = try connect(.publisher)
        consumer = try connect(.consumer([ConsumerQueue(name: name, prefetch: prefetch)]))
        control.start(at: now)
        publisher.start(at: now)
    }

    private var connections: [AMQPConnection] { [control, publisher, consumer] }

    var nextDeadline: Instant? {
        guard !isClosed else { return nil }
        return end?.deadline ?? connections.compactMap(\.nextDeadline).min()
    }

    func expire(at now: Instant) {
        for connection in connections { connection.expire(at: now) }
        isClosed = end?.isOver(at: now) ?? false
    }

    func nextEvent(at now: Instant) -> Event? {
        guard end == nil else { return nil }
        return nextOfControl(at: now) ?? nextOfConsumer(at: now) ?? nextOfPublisher(at: now)
    }

    private func nextOfControl(at now: Instant) -> Event? {
        while let event = control.nextEvent(at: now) {
            broker.took(event, at: now)
            switch event {
            case .engine(.opened) where !isDeclared:
                let queue = QueueDeclaration(name: name, arguments: ["x-expires": .int32(Self.life)])
                control.request(.declareQueue(queue), at: now)
            case .engine(.responded(.declared)):
                isDeclared = true
                consumer.start(at: now)
            case .engine(.responded(.refused(let error))): return .failed(error)
            case .disconnected(_, let error, _) where !error.isTransient: return .failed(error)
            default: break
            }
        }
        return nil
    }

    private func nextOfConsumer(at now: Instant) -> Event? {
        while let event = consumer.nextEvent(at: now) {
            broker.took(event, at: now)
            switch event {
            case .engine(.consuming):
                isConsuming = true
                return .ready
            case .engine(.delivery(let delivery)): return .reply(delivery)
            case .engine(.channelClosed(_, let error)) where !error.isTransient,
                .disconnected(_, let error, _) where !error.isTransient:
                return .failed(error)
            default: break
            }
        }
        return nil
    }

    private func nextOfPublisher(at now: Instant) -> Event? {
        while let event = publisher.nextEvent(at: now) {
            broker.took(event, at: now)
            switch event {
            case .engine(.confirmed(let sequence, let confirmation)): return .confirmed(sequence, confirmation)
            case .disconnected(_, let error, _) where !error.isTransient: return .failed(error)
            default: break
            }
        }
        return nil
    }

    /// Whether a request may be published now: its reply will be consumed, and the broker accepts publishes.
    var canPublish: Bool { isConsuming && publisher.canPublish }

    /// - Returns: the sequence number of its confirm.
    func publish(_ publication: Publication) throws(AMQPError) -> UInt64 {
        try publisher.publish(publication)
    }

    func acknowledge(_ reply: Delivery, at now: Instant) {
        consumer.ack(epoch: reply.epoch, tag: reply.tag, at: now)
    }

    /// Deletes the queue if possible, and closes all connections.
    func close(at now: Instant) {
        if control.isOpen { control.request(.deleteQueue(name), at: now) }
        end = OrderlyClose([consumer, publisher, control], at: now)
        expire(at: now)
    }

    /// Whether all connections are closed or given up.
    private(set) var isClosed = false
}

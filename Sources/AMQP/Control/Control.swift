package import Core

/// A request on a control connection; the broker answers them in order.
package enum ControlRequest: Sendable, Equatable {
    case declareQueue(QueueDeclaration)
    /// Checks that a queue exists and counts its messages and consumers. Changes nothing.
    case inspectQueue(String)
    case deleteQueue(String)
    case purgeQueue(String)
    case bindQueue(String, exchange: String, routingKey: String)
    /// Declares a durable exchange without arguments. Its type is `direct`, `fanout`, `topic`, `headers`, or that of a
    /// plug-in.
    case declareExchange(String, type: String)
    case inspectExchange(String)
    case deleteExchange(String)
    /// Gets one message, which must be settled like a delivery.
    case get(queue: String)
    /// Checks whether the user may read from a queue. The broker always refuses it: with 403 without permission,
    /// otherwise with 406.
    ///
    /// It consumes with an invalid priority. RabbitMQ checks the permission before the arguments and does not register
    /// the consumer. Source: rabbit_channel.erl, `basic.consume`.
    case probeReading(queue: String)
}

package struct QueueDeclaration: Sendable, Equatable {
    package var name: String
    package var durable = true
    package var exclusive = false
    /// For example `x-queue-type`, `x-message-ttl`, `x-dead-letter-exchange`.
    package var arguments = FieldTable()

    package init(name: String, arguments: FieldTable = FieldTable()) {
        self.name = name
        self.arguments = arguments
    }
}

package enum ControlResponse: Sendable {
    case declared(queue: String, messages: UInt32, consumers: UInt32)
    /// A binding was added, an exchange was declared, inspected or deleted, or a queue was deleted or purged.
    case done
    /// A message, and the number left in the queue.
    case got(Delivery, remaining: UInt32)
    case empty
    /// The broker refused it (404, 406 …), or the request cannot be encoded. The connection remains usable.
    case refused(AMQPError)
}

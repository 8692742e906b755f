package import Core

/// What a control connection is asked to do; the broker answers one after the other.
package enum ControlRequest: Sendable {
    case declareQueue(QueueDeclaration)
    /// Whether a queue is there, and how many messages and consumers it has; changes nothing.
    case inspectQueue(String)
    case deleteQueue(String)
    case purgeQueue(String)
    case bindQueue(String, exchange: String, routingKey: String, arguments: FieldTable)
    case unbindQueue(String, exchange: String, routingKey: String, arguments: FieldTable)
    case declareExchange(ExchangeDeclaration)
    case inspectExchange(String)
    case deleteExchange(String)
    /// One message, to be settled like a delivery.
    case get(queue: String)
    /// Whether the user may read from a queue: always refused, with 403 if not, else with 406.
    ///
    /// It wants to consume with a priority that is no number. RabbitMQ looks at the permission first, then at the
    /// arguments, and then there is no consumer. Source: rabbit_channel.erl, `basic.consume`.
    case probeReading(queue: String)
}

/// A queue as it is to be.
package struct QueueDeclaration: Sendable, Equatable {
    package var name: String
    package var durable = true
    package var exclusive = false
    package var autoDelete = false
    /// For example `x-queue-type`, `x-message-ttl`, `x-dead-letter-exchange`.
    package var arguments = FieldTable()

    package init(name: String, arguments: FieldTable = FieldTable()) {
        self.name = name
        self.arguments = arguments
    }
}

/// An exchange as it is to be.
package struct ExchangeDeclaration: Sendable, Equatable {
    package var name: String
    /// `direct`, `fanout`, `topic` or `headers`, or a plug-in's.
    package var type: String
    package var durable = true
    package var autoDelete = false
    package var arguments = FieldTable()

    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }
}

/// The answer to a ``ControlRequest``.
package enum ControlReply: Sendable {
    case declared(queue: String, messages: UInt32, consumers: UInt32)
    /// Bound, unbound, or an exchange declared, inspected or deleted.
    case done
    case deleted(messages: UInt32)
    case purged(messages: UInt32)
    /// A message, and how many are left in the queue. With `bodySize` its body was too large to be taken.
    case got(Delivery, remaining: UInt32, oversizeBody: UInt64?)
    case empty
    /// The broker refused (404, 406 …), or the request cannot be written. The connection stays usable.
    case refused(AMQPError)
}

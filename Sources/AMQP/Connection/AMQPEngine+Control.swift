import CRabbitMQ
package import Core
import DequeModule

extension AMQPEngine {
    /// Replaces the password of the open connection. A broker that refuses it closes the connection.
    ///
    /// - Parameter secret: `nil` if the new one is for the next login; an earlier one that is not sent yet is dropped.
    package mutating func updateSecret(_ secret: String?, at now: Instant) {
        calledByOwner(at: now)
        guard configuration.address.mechanism == .plain else { return }
        handshake.unsentSecret = secret
        sendSecret()
    }

    /// Sends a new secret. It waits during the handshake and while a channel is opened again.
    mutating func sendSecret() {
        guard machine.isOpen, let secret = handshake.unsentSecret.take() else { return }
        do throws(AMQPError) {
            try SecretUpdate.write(secret, frameMax: Int(handshake.frameMax), to: &output)
            handshake.secretsUnderWay += 1
        } catch {
            finish(error)
        }
    }

    /// Sends a request to the broker; control connections only. ``Event/responded(_:)`` follows, in the order of the
    /// requests.
    package mutating func request(_ request: ControlRequest, at now: Instant) {
        precondition(configuration.role == .control, "only a control connection has requests")
        calledByOwner(at: now)
        requests.append(request)
        sendNextRequest()
    }

    mutating func sendNextRequest() {
        while machine.isOpen, !isAwaitingResponse, !requests.isEmpty {
            let request = requests.removeFirst()
            do throws(AMQPError) {
                try writeRequest(request)
                isAwaitingResponse = true
            } catch {
                events.append(.responded(.refused(error)))
            }
        }
    }

    mutating func responseReceived(_ response: ControlResponse) {
        guard isAwaitingResponse else {
            if machine.isOpen { unexpected("a response without a request") }
            return
        }
        isAwaitingResponse = false
        events.append(.responded(response))
        sendNextRequest()
    }

    private mutating func writeRequest(_ request: ControlRequest) throws(AMQPError) {
        switch request {
        case .declareQueue(let queue): try declare(queue, passive: false)
        case .inspectQueue(let name): try declare(QueueDeclaration(name: name), passive: true)
        case .declareExchange(let name, let type): try declare(exchange: name, type: type, passive: false)
        case .inspectExchange(let name): try declare(exchange: name, type: "direct", passive: true)
        case .deleteQueue(let name):
            try unsafe send(AMQP_QUEUE_DELETE_METHOD) { writer throws(AMQPError) in
                unsafe amqp_queue_delete_t(
                    ticket: 0, queue: try writer.short(name, "queue name"), if_unused: 0, if_empty: 0, nowait: 0)
            }
        case .purgeQueue(let name):
            try unsafe send(AMQP_QUEUE_PURGE_METHOD) { writer throws(AMQPError) in
                unsafe amqp_queue_purge_t(ticket: 0, queue: try writer.short(name, "queue name"), nowait: 0)
            }
        case .bindQueue(let name, let exchange, let routingKey):
            try unsafe send(AMQP_QUEUE_BIND_METHOD) { writer throws(AMQPError) in
                unsafe amqp_queue_bind_t(
                    ticket: 0, queue: try writer.short(name, "queue name"),
                    exchange: try writer.short(exchange, "exchange"),
                    routing_key: try writer.short(routingKey, "routing key"), nowait: 0, arguments: amqp_table_t())
            }
        case .deleteExchange(let name):
            try unsafe send(AMQP_EXCHANGE_DELETE_METHOD) { writer throws(AMQPError) in
                unsafe amqp_exchange_delete_t(
                    ticket: 0, exchange: try writer.short(name, "exchange"), if_unused: 0, nowait: 0)
            }
        case .get(let queue):
            try unsafe send(AMQP_BASIC_GET_METHOD) { writer throws(AMQPError) in
                unsafe amqp_basic_get_t(ticket: 0, queue: try writer.short(queue, "queue name"), no_ack: 0)
            }
        case .probeReading(let queue):
            try unsafe send(AMQP_BASIC_CONSUME_METHOD) { writer throws(AMQPError) in
                unsafe amqp_basic_consume_t(
                    ticket: 0, queue: try writer.short(queue, "queue name"),
                    consumer_tag: try writer.short("harebell-probe", "consumer tag"), no_local: 0, no_ack: 0,
                    exclusive: 0, nowait: 0, arguments: try writer.table(["x-priority": .string("none")]))
            }
        }
    }

    private mutating func declare(_ queue: QueueDeclaration, passive: Bool) throws(AMQPError) {
        try unsafe send(AMQP_QUEUE_DECLARE_METHOD) { writer throws(AMQPError) in
            unsafe amqp_queue_declare_t(
                ticket: 0, queue: try writer.short(queue.name, "queue name"), passive: passive ? 1 : 0,
                durable: queue.durable ? 1 : 0, exclusive: queue.exclusive ? 1 : 0,
                auto_delete: 0, nowait: 0, arguments: try writer.table(queue.arguments))
        }
    }

    private mutating func declare(exchange: String, type: String, passive: Bool) throws(AMQPError) {
        try unsafe send(AMQP_EXCHANGE_DECLARE_METHOD) { writer throws(AMQPError) in
            unsafe amqp_exchange_declare_t(
                ticket: 0, exchange: try writer.short(exchange, "exchange"),
                type: try writer.short(type, "exchange type"), passive: passive ? 1 : 0, durable: 1,
                auto_delete: 0, internal: 0, nowait: 0, arguments: amqp_table_t())
        }
    }

    private mutating func send<Method>(
        _ id: amqp_method_number_t, _ make: (inout MethodWriter) throws(AMQPError) -> Method
    ) throws(AMQPError) {
        try writer.write(id, channel: AMQPEngine.channel, to: &output, make)
    }
}

package import AMQP
package import Configuration
import Decoding

/// Every queue, exchange and binding that a configuration needs on the broker, in declaration order.
package struct TopologyPlan {
    package struct Step {
        /// `exchange`, `queue` or `binding`.
        let kind: String
        let name: String
        /// What a queue is for, an exchange's type or a binding's routing key.
        var purpose: String
        /// The request that declares it as planned.
        package let declaration: ControlRequest
        /// The request that checks whether it exists; `nil` for a binding, which AMQP cannot read.
        let inspection: ControlRequest?
        /// As in RabbitMQ's definitions, without the virtual host.
        let definition: [(String, JSONOutput)]

        var subject: String { "\(kind) \(name)" }
    }

    package let steps: [Step]

    package init(_ configuration: Configuration) {
        var steps: [Step] = []
        // First the targets of dead-lettering.
        steps += Self.route(configuration.deadLetter, purpose: "requests that failed, for inspection and replay")
        if let results = configuration.results.route {
            steps += Self.route(results, purpose: "results of requests without reply_to")
        }
        if let feedback = configuration.feedback {
            steps += Self.route(feedback, purpose: "dead device tokens, to be forgotten")
        }
        for queue in configuration.queues {
            let deadLetter = configuration.deadLetter
            var requests = Self.queue(queue.name, deadLetterTo: deadLetter.exchange, deadLetter.routingKey)
            if queue.isSingleActive { requests.arguments["x-single-active-consumer"] = .boolean(true) }
            steps.append(.queue(requests, purpose: "requests"))
            for delay in configuration.retry.levels {
                let purpose = "requests that wait \(delay.components.seconds) s to be tried again"
                steps.append(.queue(Self.retries(queue.name, delay: delay), purpose: purpose))
            }
        }
        self.steps = steps.reduce(into: []) { plan, step in
            guard let index = plan.firstIndex(where: { $0.declaration == step.declaration }) else {
                return plan.append(step)
            }
            if step.kind == "queue" { plan[index].purpose += "; \(step.purpose)" }
        }
    }

    private static func route(_ route: Configuration.Route, purpose: String) -> [Step] {
        let queue = QueueDeclaration(
            name: route.routingKey,
            arguments: ["x-queue-type": .string("quorum"), "x-delivery-limit": .int32(deliveryLimit)])
        guard !route.exchange.isEmpty else { return [.queue(queue, purpose: purpose)] }
        let exchange = Step.exchange(route.exchange)
        // The broker would make up a name, another one each time.
        guard !route.routingKey.isEmpty else { return [exchange] }
        return [
            exchange, .queue(queue, purpose: purpose),
            .binding(queue: route.routingKey, exchange: route.exchange, routingKey: route.routingKey),
        ]
    }

    /// The number of returns after which the broker drops a message.
    ///
    /// The default of RabbitMQ 4 is 20, which restarts of workers, dead-letter commands and looks at a queue in the
    /// management interface use up. RabbitMQ 3 has none, and then requeues a returned message at the end of the queue.
    /// The worker gives up a request long before this limit (`RequestPipeline.poisonDeliveries`). It publishes a
    /// result for it; the broker does not. "No limit" (-1) does not work in both versions: RabbitMQ 3 drops a message
    /// after its first failed delivery.
    /// Sources: rabbitmq.com/docs/3.13/quorum-queues (repeated requeues), rabbitmq.com/docs/quorum-queues (poison
    /// message handling).
    static let deliveryLimit: Int32 = 10_000

    /// A quorum queue that dead-letters a message that it drops, and keeps it until the target has accepted it.
    /// Source: rabbitmq.com/docs/quorum-queues (poison message handling; at-least-once dead lettering, which needs
    /// `reject-publish`).
    private static func queue(_ name: String, deadLetterTo exchange: String, _ routingKey: String) -> QueueDeclaration {
        QueueDeclaration(
            name: name,
            arguments: [
                "x-queue-type": .string("quorum"),
                "x-dead-letter-exchange": .string(exchange),
                "x-dead-letter-routing-key": .string(routingKey),
                "x-dead-letter-strategy": .string("at-least-once"),
                "x-overflow": .string("reject-publish"),
                "x-delivery-limit": .int32(deliveryLimit),
            ])
    }

    /// A queue that returns each message to its request queue after a fixed time.
    /// Source: rabbitmq.com/docs/ttl (a queue with one time-to-live expires in order).
    private static func retries(_ name: String, delay: Duration) -> QueueDeclaration {
        var retries = queue(RetryQueueName.make(for: name, delay: delay), deadLetterTo: "", name)
        retries.arguments["x-message-ttl"] = .int32(Int32(delay.components.seconds * 1000))
        return retries
    }
}

extension TopologyPlan.Step {
    fileprivate static func exchange(_ name: String) -> Self {
        Self(
            kind: "exchange", name: name, purpose: "type direct",
            declaration: .declareExchange(name, type: "direct"), inspection: .inspectExchange(name),
            definition: [
                ("name", .text(name)), ("type", .text("direct")), ("durable", .boolean(true)),
                ("auto_delete", .boolean(false)), ("internal", .boolean(false)), ("arguments", .object([])),
            ])
    }

    fileprivate static func queue(_ queue: QueueDeclaration, purpose: String) -> Self {
        Self(
            kind: "queue", name: queue.name, purpose: purpose,
            declaration: .declareQueue(queue), inspection: .inspectQueue(queue.name),
            definition: [
                ("name", .text(queue.name)), ("durable", .boolean(queue.durable)),
                ("auto_delete", .boolean(false)), ("arguments", JSONOutput(.table(queue.arguments))),
            ])
    }

    fileprivate static func binding(queue: String, exchange: String, routingKey: String) -> Self {
        Self(
            kind: "binding", name: "\(exchange) -> \(queue)", purpose: "routing key \(routingKey)",
            declaration: .bindQueue(queue, exchange: exchange, routingKey: routingKey), inspection: nil,
            definition: [
                ("source", .text(exchange)), ("destination", .text(queue)), ("destination_type", .text("queue")),
                ("routing_key", .text(routingKey)), ("arguments", .object([])),
            ])
    }
}

import AMQP
import Core
import Decoding

/// The output of `harebell topology`, as text or JSON.
struct TopologyReport {
    let plan: TopologyPlan
    /// The broker's error for each step that it answered, `nil` for a declared one. `nil` if the plan is only printed.
    var answers: [String?]?

    /// Whether the broker refused a step.
    var isRefused: Bool { answers?.contains { $0 != nil } ?? false }

    /// The steps to print, each with its state and the broker's error.
    private var steps: [(step: TopologyPlan.Step, state: String?, detail: String?)] {
        guard let answers else { return plan.steps.map { ($0, nil, nil) } }
        return zip(plan.steps, answers).map { ($0, $1 == nil ? "declared" : "refused", $1) }
    }

    // MARK: Text

    /// A table without the arguments that all queues of a kind share, then the broker's errors.
    var lines: [String] {
        let titles = ["KIND", "NAME", "TYPE", "DELAY", "DEAD LETTERS TO", "PURPOSE"]
        var table = TextTable((answers == nil ? [] : ["STATE"]) + titles)
        for (step, state, _) in steps { table.add([state].compactMap(\.self) + Self.row(step)) }
        return table.lines + steps.compactMap { step, _, detail in detail.map { "\(step.subject): \($0)" } }
    }

    private static func row(_ step: TopologyPlan.Step) -> [String] {
        switch step {
        case .exchange(let exchange): return ["exchange", exchange.name, exchange.type, "-", "-", "-"]
        case .queue(let queue, let purpose):
            var delay = "-"
            if case .int32(let milliseconds)? = queue.arguments["x-message-ttl"] { delay = "\(milliseconds / 1000) s" }
            let type = text(queue.arguments["x-queue-type"]) ?? "-"
            return ["queue", queue.name, type, delay, deadLetterTarget(queue.arguments) ?? "-", purpose]
        case .binding(let queue, let exchange, let routingKey):
            return ["binding", "\(exchange) -> \(queue)", "-", "-", "-", "routing key \(routingKey)"]
        }
    }

    private static func text(_ value: FieldValue?) -> String? {
        guard case .text(let text) = value else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    private static func deadLetterTarget(_ arguments: FieldTable) -> String? {
        guard let exchange = text(arguments["x-dead-letter-exchange"]) else { return nil }
        let key = text(arguments["x-dead-letter-routing-key"]) ?? ""
        return exchange.isEmpty ? key : "\(exchange) (\(key))"
    }

    // MARK: JSON

    var json: [(String, JSONOutput)] {
        let objects = steps.map { step, state, detail in
            var members = [("kind", JSONOutput.text(step.kind))] + step.definition
            if case .queue(_, let purpose) = step { members.append(("purpose", .text(purpose))) }
            if let state { members.append(("state", .text(state))) }
            if let detail { members.append(("detail", .text(detail))) }
            return JSONOutput.object(members)
        }
        return [("ok", .boolean(!isRefused)), ("steps", .array(objects))]
    }

    /// The input of `rabbitmqctl import_definitions`. Source: rabbitmq.com/docs/definitions.
    static func definitions(_ plan: TopologyPlan, virtualHost: String) -> [(String, JSONOutput)] {
        ["exchange", "queue", "binding"].map { kind in
            let steps = plan.steps.filter { $0.kind == kind }
            return ("\(kind)s", .array(steps.map { .object($0.definition + [("vhost", .text(virtualHost))]) }))
        }
    }
}

extension TopologyPlan.Step {
    fileprivate var kind: String {
        switch self {
        case .exchange: "exchange"
        case .queue: "queue"
        case .binding: "binding"
        }
    }

    /// As in RabbitMQ's definitions, without the virtual host.
    fileprivate var definition: [(String, JSONOutput)] {
        switch self {
        case .exchange(let exchange):
            [
                ("name", .text(exchange.name)), ("type", .text(exchange.type)),
                ("durable", .boolean(true)), ("auto_delete", .boolean(false)), ("internal", .boolean(false)),
                ("arguments", .object([])),
            ]
        case .queue(let queue, _):
            [
                ("name", .text(queue.name)), ("durable", .boolean(queue.durable)),
                ("auto_delete", .boolean(queue.autoDelete)), ("arguments", JSONOutput(.table(queue.arguments))),
            ]
        case .binding(let queue, let exchange, let routingKey):
            [
                ("source", .text(exchange)), ("destination", .text(queue)), ("destination_type", .text("queue")),
                ("routing_key", .text(routingKey)), ("arguments", .object([])),
            ]
        }
    }
}

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
            let delay = queue.arguments["x-message-ttl"].map { "\(seconds($0)) s" }
            let type = text(queue.arguments["x-queue-type"])
            return [
                "queue", queue.name, type ?? "-", delay ?? "-", deadLetterTarget(queue.arguments) ?? "-", purpose,
            ]
        case .binding(let queue, let exchange, let routingKey):
            return ["binding", "\(exchange) -> \(queue)", "-", "-", "-", "routing key \(routingKey)"]
        }
    }

    private static func text(_ value: FieldValue?) -> String? {
        guard case .text(let text) = value else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    private static func seconds(_ value: FieldValue) -> String {
        guard case .int32(let milliseconds) = value else { return "?" }
        return String(milliseconds / 1000)
    }

    private static func deadLetterTarget(_ arguments: FieldTable) -> String? {
        guard let exchange = text(arguments["x-dead-letter-exchange"]) else { return nil }
        let key = text(arguments["x-dead-letter-routing-key"]) ?? ""
        return exchange.isEmpty ? key : "\(exchange) (\(key))"
    }

    // MARK: JSON

    var json: [(String, JSONOutput)] {
        let objects = steps.map { step, state, detail in
            let members: [(String, JSONOutput?)] = [
                ("state", state.map { .text($0) }), ("detail", detail.map { .text($0) }),
            ]
            return JSONOutput.object(
                Self.members(step) + members.compactMap { name, value in value.map { (name, $0) } })
        }
        return [("ok", .boolean(!isRefused)), ("steps", .array(objects))]
    }

    private static func members(_ step: TopologyPlan.Step) -> [(String, JSONOutput)] {
        switch step {
        case .exchange(let exchange):
            [
                ("kind", .text("exchange")), ("name", .text(exchange.name)), ("type", .text(exchange.type)),
                ("durable", .boolean(exchange.durable)),
            ]
        case .queue(let queue, let purpose):
            [
                ("kind", .text("queue")), ("name", .text(queue.name)), ("durable", .boolean(queue.durable)),
                ("arguments", JSONOutput(.table(queue.arguments))), ("purpose", .text(purpose)),
            ]
        case .binding(let queue, let exchange, let routingKey):
            [
                ("kind", .text("binding")), ("queue", .text(queue)), ("exchange", .text(exchange)),
                ("routing_key", .text(routingKey)),
            ]
        }
    }

    /// The input of `rabbitmqctl import_definitions`. Source: rabbitmq.com/docs/definitions.
    static func definitions(_ plan: TopologyPlan, virtualHost: String) -> [(String, JSONOutput)] {
        var (exchanges, queues, bindings): ([JSONOutput], [JSONOutput], [JSONOutput]) = ([], [], [])
        let place = ("vhost", JSONOutput.text(virtualHost))
        for step in plan.steps {
            switch step {
            case .exchange(let exchange):
                exchanges.append(
                    .object([
                        ("name", .text(exchange.name)), place, ("type", .text(exchange.type)),
                        ("durable", .boolean(exchange.durable)), ("auto_delete", .boolean(exchange.autoDelete)),
                        ("internal", .boolean(false)), ("arguments", JSONOutput(.table(exchange.arguments))),
                    ]))
            case .queue(let queue, _):
                queues.append(
                    .object([
                        ("name", .text(queue.name)), place, ("durable", .boolean(queue.durable)),
                        ("auto_delete", .boolean(queue.autoDelete)),
                        ("arguments", JSONOutput(.table(queue.arguments))),
                    ]))
            case .binding(let queue, let exchange, let routingKey):
                bindings.append(
                    .object([
                        ("source", .text(exchange)), place, ("destination", .text(queue)),
                        ("destination_type", .text("queue")), ("routing_key", .text(routingKey)),
                        ("arguments", .object([])),
                    ]))
            }
        }
        return [("exchanges", .array(exchanges)), ("queues", .array(queues)), ("bindings", .array(bindings))]
    }
}

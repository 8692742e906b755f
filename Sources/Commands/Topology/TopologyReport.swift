import AMQP
import Core
import Decoding

/// The report of `harebell topology` about one step, as text or JSON.
struct TopologyReport {
    /// The result of a step; raw values are the names in the JSON.
    enum State: String {
        /// Only printed.
        case planned
        case declared
        case refused
    }

    let step: TopologyPlan.Step
    let state: State
    var isRefused: Bool { state == .refused }
    /// The broker's error.
    private let detail: String?

    init(_ step: TopologyPlan.Step, _ state: State, detail: String? = nil) {
        self.step = step
        self.state = state
        self.detail = detail
    }

    // MARK: Text

    /// One line for the step, and one for the broker's error.
    var lines: [String] {
        [state.rawValue.padded(to: 11) + TopologyPlan.line(step)] + (detail.map { ["           " + $0] } ?? [])
    }

    /// The plan without the arguments that all queues of a kind share.
    static func table(_ plan: TopologyPlan) -> [String] {
        var table = TextTable(["KIND", "NAME", "TYPE", "DELAY", "DEAD LETTERS TO", "PURPOSE"])
        for step in plan.steps {
            switch step {
            case .exchange(let exchange): table.add(["exchange", exchange.name, exchange.type, "-", "-", "-"])
            case .queue(let queue, let purpose):
                let delay = queue.arguments["x-message-ttl"].map { "\(seconds($0)) s" }
                table.add([
                    "queue", queue.name, text(queue.arguments["x-queue-type"]) ?? "-", delay ?? "-",
                    deadLetterTarget(queue.arguments) ?? "-", purpose,
                ])
            case .binding(let queue, let exchange, let routingKey):
                table.add(["binding", "\(exchange) -> \(queue)", "-", "-", "-", "routing key \(routingKey)"])
            }
        }
        return table.lines
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

    var json: JSONOutput {
        var members: [(String, JSONOutput)]
        switch step {
        case .exchange(let exchange):
            members = [
                ("kind", .text("exchange")), ("name", .text(exchange.name)), ("type", .text(exchange.type)),
                ("durable", .boolean(exchange.durable)),
            ]
        case .queue(let queue, let purpose):
            members = [
                ("kind", .text("queue")), ("name", .text(queue.name)), ("durable", .boolean(queue.durable)),
                ("arguments", JSONOutput(.table(queue.arguments))), ("purpose", .text(purpose)),
            ]
        case .binding(let queue, let exchange, let routingKey):
            members = [
                ("kind", .text("binding")), ("queue", .text(queue)), ("exchange", .text(exchange)),
                ("routing_key", .text(routingKey)),
            ]
        }
        guard state != .planned else { return .object(members) }
        members.append(("state", .text(state.rawValue)))
        if let detail { members.append(("detail", .text(detail))) }
        return .object(members)
    }
}

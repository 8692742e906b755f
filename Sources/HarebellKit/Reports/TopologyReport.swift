import AMQP
import Operations
import Core
import Decoding

/// What `harebell topology` says about one step, to people and to programs.
struct TopologyReport {
    /// What became of a step; the names are those of the JSON.
    enum State: String {
        /// Only printed.
        case planned
        case declared
        case refused
        case asWanted = "ok"
        case missing
        case different
        /// It is there, and the user may not declare it: it cannot be compared.
        case hidden
        /// A binding: AMQP has no way to read one.
        case unreadable
    }

    let step: TopologyPlan.Step
    let state: State
    private var differences: [Inequivalence] = []
    /// What the broker said, or a hint.
    private var detail: String?

    init(_ step: TopologyPlan.Step, _ state: State, detail: String? = nil) {
        self.step = step
        self.state = state
        self.detail = detail
    }

    init(_ step: TopologyPlan.Step, _ finding: DeclarationComparison.Finding?) {
        switch finding {
        case .asWanted?: self.init(step, .asWanted)
        case .missing?: self.init(step, .missing)
        case .different(let differences, let rest, _, _)?:
            self.init(step, .different, detail: rest?.message)
            self.differences = differences
        case .hidden(let error)?: self.init(step, .hidden, detail: error.message)
        case .refused(let error)?: self.init(step, .refused, detail: error.message)
        case nil:
            self.init(
                step, .unreadable, detail: "AMQP has no way to read a binding; --apply makes it where it is missing")
        }
    }

    /// Whether the step is known not to be as the configuration needs it.
    var isWrong: Bool {
        switch state {
        case .missing, .different, .refused: true
        case .planned, .declared, .asWanted, .hidden, .unreadable: false
        }
    }

    // MARK: People

    /// A line for the step, and one for each thing that is to be said about it.
    var lines: [String] {
        let head = state.rawValue.padded(to: 11) + TopologyPlan.line(step)
        return [head] + (differences.map(\.description) + [detail].compactMap(\.self)).map { "           " + $0 }
    }

    /// `3 ok, 1 missing`
    static func summary(_ reports: [TopologyReport]) -> String {
        var counts: [(state: State, count: Int)] = []
        for report in reports {
            if let index = counts.firstIndex(where: { $0.state == report.state }) {
                counts[index].count += 1
            } else {
                counts.append((report.state, 1))
            }
        }
        return counts.map { "\($0.count) \($0.state.rawValue)" }.joined(separator: ", ")
    }

    // MARK: Programs

    var json: JSONAnswer {
        var members: [(String, JSONAnswer)]
        switch step {
        case .exchange(let exchange):
            members = [
                ("kind", .text("exchange")), ("name", .text(exchange.name)), ("type", .text(exchange.type)),
                ("durable", .boolean(exchange.durable)),
            ]
        case .queue(let queue, let purpose):
            members = [
                ("kind", .text("queue")), ("name", .text(queue.name)), ("durable", .boolean(queue.durable)),
                ("arguments", JSONAnswer(.table(queue.arguments))), ("purpose", .text(purpose)),
            ]
        case .binding(let queue, let exchange, let routingKey):
            members = [
                ("kind", .text("binding")), ("queue", .text(queue)), ("exchange", .text(exchange)),
                ("routing_key", .text(routingKey)),
            ]
        }
        guard state != .planned else { return .object(members) }
        members.append(("state", .text(state.rawValue)))
        if !differences.isEmpty { members.append(("differences", .array(differences.map(Self.object)))) }
        if let detail { members.append(("detail", .text(detail))) }
        return .object(members)
    }

    private static func object(_ difference: Inequivalence) -> JSONAnswer {
        .object([
            ("name", .text(difference.name)), ("wanted", .optional(difference.wanted)),
            ("current", .optional(difference.current)),
        ])
    }
}

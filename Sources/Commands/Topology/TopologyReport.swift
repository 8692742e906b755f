import Decoding

/// The output of `harebell topology`, as text or JSON.
struct TopologyReport {
    let plan: TopologyPlan
    /// The broker's error for each step that it answered, `nil` for a declared one. `nil` if the plan is only printed.
    var answers: [String?]?

    var isRefused: Bool { answers?.contains { $0 != nil } ?? false }

    /// Whether every step is declared, if they were to be.
    private var isComplete: Bool { !isRefused && answers?.count ?? plan.steps.count == plan.steps.count }

    /// The steps to print, each with its state and the broker's error.
    private var steps: [(step: TopologyPlan.Step, state: String?, detail: String?)] {
        guard let answers else { return plan.steps.map { ($0, nil, nil) } }
        let answered = zip(plan.steps, answers).map { ($0, $1 == nil ? "declared" : "refused", $1) }
        return answered + plan.steps.dropFirst(answers.count).map { ($0, "unknown", nil) }
    }

    /// A table without the queues' arguments, then the broker's errors. Nothing if the broker answered nothing.
    var lines: [String] {
        guard answers?.isEmpty != true else { return [] }
        var table = TextTable((answers == nil ? [] : ["STATE"]) + ["KIND", "NAME", "PURPOSE"])
        for (step, state, _) in steps {
            table.add([state].compactMap(\.self) + [step.kind, step.name, step.purpose])
        }
        return table.lines + steps.compactMap { step, _, detail in detail.map { "\(step.subject): \($0)" } }
    }

    var json: [(String, JSONOutput)] {
        let objects = steps.map { step, state, detail in
            var members = [("kind", JSONOutput.text(step.kind))] + step.definition
            if step.kind == "queue" { members.append(("purpose", .text(step.purpose))) }
            if let state { members.append(("state", .text(state))) }
            if let detail { members.append(("detail", .text(detail))) }
            return JSONOutput.object(members)
        }
        return [("ok", .boolean(isComplete)), ("steps", .array(objects))]
    }

    /// The input of `rabbitmqctl import_definitions`. Source: rabbitmq.com/docs/definitions.
    static func definitions(_ plan: TopologyPlan, virtualHost: String) -> [(String, JSONOutput)] {
        ["exchange", "queue", "binding"].map { kind in
            let steps = plan.steps.filter { $0.kind == kind }
            return ("\(kind)s", .array(steps.map { .object($0.definition + [("vhost", .text(virtualHost))]) }))
        }
    }
}

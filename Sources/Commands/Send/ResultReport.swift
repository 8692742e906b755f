import Core
import Runtime

/// The result of a notification as text: the outcome and further details.
struct ResultReport {
    private static let inHead: Set<String> = ["outcome", "status", "reason"]
    /// Default values, which are omitted.
    private static let usual: Set<String> = ["action: none", "processed: yes", "attempts: 1"]

    private let result: OneOffResult

    init(_ result: OneOffResult) {
        self.result = result
    }

    var lines: [Painted] {
        let members = result.members
        let status = members.first { $0.name == "status" }.map { " \($0.value)" } ?? ""
        let reason = result.reason.map { " \($0)" } ?? ""
        let head = Painted(result.outcome.name.description, colour) + status + reason
        let rest = members.filter { name, value in
            !Self.inHead.contains(name) && !Self.usual.contains("\(name): \(value)")
        }
        let width = rest.map(\.name.count).max() ?? 0
        return [head] + rest.map { Painted("  \($0.name.padded(to: width))  \($0.value)") }
    }

    private var colour: Terminal.Colour {
        switch result.outcome {
        case .accepted: .green
        case .expired, .undelivered: .yellow
        case .unregistered, .rejected, .invalid: .red
        }
    }
}

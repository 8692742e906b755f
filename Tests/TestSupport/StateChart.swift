/// The behaviour of a state machine, found by running it: each input in each state, as lines of a Markdown page.
package struct StateChart {
    package enum Cell: Equatable {
        /// The input is a programming error in this state.
        case cannotHappen
        /// - Parameter action: `nil` if there is none.
        case goes(action: String?, next: String)
    }

    private let states: [String]
    private let inputs: [String]
    private let cells: [[Cell]]

    /// - Parameters:
    ///   - states: the first is the machine's initial state, the last its final one.
    ///   - cell: runs the machine; the indices of a state and an input.
    package init(states: [String], inputs: [String], cell: (Int, Int) -> Cell) {
        self.states = states
        self.inputs = inputs
        cells = inputs.indices.map { input in states.indices.map { cell($0, input) } }
    }

    /// One row for each input, one column for each state.
    package var table: [String] {
        let rows = [["input"] + states] + zip(inputs, cells).map { [$0] + zip(states, $1).map(Self.text) }
        var lines = rows.map { "| \($0.joined(separator: " | ")) |" }
        lines.insert(String(repeating: "|---", count: states.count + 1) + "|", at: 1)
        return lines
    }

    private static func text(_ state: String, _ cell: Cell) -> String {
        switch cell {
        case .cannotHappen: "never"
        case .goes(nil, state): "–"
        case .goes(let action?, state): "`\(action)`"
        case .goes(nil, let next): "→ \(next)"
        case .goes(let action?, let next): "`\(action)` → \(next)"
        }
    }

    /// The transitions between states, as a Mermaid diagram.
    package var drawing: [String] {
        var lines = ["```mermaid", "stateDiagram-v2", "    [*] --> \(states[0])"]
        for (from, state) in states.enumerated() {
            for next in states where next != state {
                let labels = inputs.indices.filter { Self.leads(cells[$0][from], to: next) }.map { inputs[$0] }
                if !labels.isEmpty { lines.append("    \(state) --> \(next): \(labels.joined(separator: ", "))") }
            }
        }
        return lines + ["    \(states[states.count - 1]) --> [*]", "```"]
    }

    private static func leads(_ cell: Cell, to state: String) -> Bool {
        if case .goes(_, state) = cell { true } else { false }
    }

    /// Whether the last state is reachable from each state.
    package var everyStateHasAnExit: Bool {
        var ends: Set = [states[states.count - 1]]
        while true {
            let before = ends.count
            for (from, state) in states.enumerated() {
                if cells.contains(where: { row in ends.contains { Self.leads(row[from], to: $0) } }) {
                    ends.insert(state)
                }
            }
            if ends.count == before { return ends.count == states.count }
        }
    }
}

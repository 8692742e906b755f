import Core
import Decoding

/// A table, perhaps with column titles. Cells are escaped, because their content may come from a peer.
struct TextTable {
    private var rows: [[String]]

    init(_ titles: [String]? = nil) {
        rows = titles.map { [$0] } ?? []
    }

    mutating func add(_ row: [String]) {
        rows.append(row.map { ControlCharacters.escaped($0) })
    }

    var lines: [String] {
        let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let line = zip(row, widths).map { $0.padded(to: $1) }.joined(separator: "  ")
            // A pattern takes quadratic time for spaces within a line, which may come from a peer.
            return line.lastIndex { $0 != " " }.map { String(line[...$0]) } ?? ""
        }
    }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}

/// Prints an answer as one JSON object, or as a table of names and values.
func printAnswer(_ members: [(String, JSONOutput)], asJSON isJSON: Bool) {
    if isJSON { printLine(json: members) } else { printLine(lines: JSONOutput.table(members)) }
}

extension JSONOutput {
    /// A line for each member that has a value.
    static func table(_ members: [(String, JSONOutput)]) -> [String] {
        var table = TextTable()
        for (name, value) in members where !value.plain.isEmpty { table.add([name, value.plain]) }
        return table.lines
    }

    /// For people: texts without quotes, lists with commas, counts before what they count.
    private var plain: String {
        switch self {
        case .null: ""
        case .text(let text): text
        case .array(let elements): elements.map(\.plain).joined(separator: ", ")
        case .object(let members): members.map { "\($1.plain) × \($0)" }.joined(separator: ", ")
        case .boolean, .integer, .number, .json: description
        }
    }
}

import Core

/// A table with column titles. Cells are escaped, because their content may come from a peer.
struct TextTable {
    private var rows: [[String]]

    init(_ titles: [String]) {
        rows = [titles]
    }

    mutating func add(_ row: [String]) {
        rows.append(row.map { ControlCharacters.escaped($0) })
    }

    var lines: [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            zip(row, widths).map { $0.padded(to: $1) }.joined(separator: "  ").replacing(#/ +$/#, with: "")
        }
    }
}

extension String {
    /// Padded with spaces to a width.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}

/// The cost of one class of faults.
struct LedgerRow: CustomStringConvertible {
    /// Requests, each counted once. The last two are notifications that a device received again, and results beyond the
    /// first.
    private static let columns = [
        "published", "with a result", "dead letters", "still queued", "lost", "duplicate notifications",
        "duplicate results",
    ]

    let fault: String
    /// In the order of ``columns``.
    let numbers: [Int]

    var description: String {
        "\(fault): " + zip(Self.columns, numbers).map { "\($0) \($1)" }.joined(separator: ", ")
    }

    /// A Markdown table with the totals in its last line.
    static func table(_ rows: [LedgerRow]) -> String {
        let sums = columns.indices.map { column in rows.reduce(0) { $0 + $1.numbers[column] } }
        let head = [["fault"] + columns, ["---"] + columns.map { _ in "--:" }]
        let lines = (rows + [LedgerRow(fault: "all", numbers: sums)]).map { [$0.fault] + $0.numbers.map(String.init) }
        return (head + lines).map { "| \($0.joined(separator: " | ")) |\n" }.joined()
    }
}

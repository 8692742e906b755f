/// The cases of a test, one a line: what it is given, an arrow, and what it expects. `//` begins a comment.
package func cases(_ table: String) -> [(String, String)] {
    table.split(separator: "\n").filter { !$0.hasPrefix("//") }.map { line in
        let columns = line.split(separator: "→", maxSplits: 1)
        return (String(columns[0].dropLast()), String(columns[1].drop { $0 == " " }))
    }
}

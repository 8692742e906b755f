/// The test names on a page of `docs`, compared with the existing tests.
///
/// They are in the last column of tables with the header `test`: as a quoted display name (`"A sentence"`), or in code
/// as `Suite`, `Suite.function` or `.function` of the suite before. Code inside parentheses is a case of the suite
/// before, by its name in the source or by its argument's name.
package struct NamedTests {
    /// Each as written on the page.
    package private(set) var all: [String] = []
    /// The names in ``all`` without a test.
    package private(set) var missing: [String] = []

    private let sources: [String]

    /// - Parameter name: of the page, such as `internals/apns-faults.md`.
    package init(of name: String) throws {
        sources = try DocumentationPage.testSources()
        var isTable = false
        for line in try DocumentationPage(name).text.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("| ") else {
                // The line between the header and the rows.
                isTable = isTable && line.hasPrefix("|--")
                continue
            }
            let cell = line.dropLast().split(separator: "|").last ?? ""
            if isTable { check(cell) } else { isTable = cell == " test " }
        }
    }

    private mutating func check(_ cell: Substring) {
        // Every second part is between two quotation marks.
        let parts = cell.split(separator: "\"", omittingEmptySubsequences: false)
        for index in stride(from: 1, to: parts.count, by: 2) {
            add("\"\(parts[index])\"", isThere: sources.contains { $0.contains("\"\(parts[index])\"") })
        }
        let spans = cell.split(separator: "`", omittingEmptySubsequences: false)
        var suite = ""
        var depth = 0
        for index in stride(from: 1, to: spans.count, by: 2) {
            depth += spans[index - 1].count { $0 == "(" } - spans[index - 1].count { $0 == ")" }
            guard depth == 0 else {
                let ways = [".\(spans[index])", "\"\(spans[index])\""]
                add("\(suite) (\(spans[index]))", isThere: sources.contains { ways.contains(where: $0.contains) })
                continue
            }
            let words = spans[index].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            if !words[0].isEmpty { suite = words[0] }
            let function = words.count > 1 ? words[1] : nil
            add(([suite] + words.dropFirst()).joined(separator: "."), isThere: has(suite, function))
        }
    }

    private mutating func add(_ name: String, isThere: Bool) {
        all.append(name)
        if !isThere { missing.append(name) }
    }

    private func has(_ suite: String, _ function: String?) -> Bool {
        sources.contains { source in
            let declarations = ["struct", "enum", "final class"].flatMap { ["\($0) \(suite) ", "\($0) \(suite):"] }
            guard declarations.contains(where: source.contains) else { return false }
            return function.map { source.contains("func \($0)(") } ?? true
        }
    }
}

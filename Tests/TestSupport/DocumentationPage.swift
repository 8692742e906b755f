import Foundation

/// A page of `docs`, for tests that compare it with the code.
package struct DocumentationPage {
    package let text: String

    /// - Parameter name: such as `internals/apns.md`.
    package init(_ name: String) throws {
        text = try String(contentsOfFile: "\(TestEnvironment.repository)/docs/\(name)", encoding: .utf8)
    }

    /// The cells of the table with this header, row by row, without the spaces around them.
    package func table(_ head: String) -> [[String]] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(of: head[...]) else { return [] }
        return lines.dropFirst(start + 2).prefix { $0.hasPrefix("|") }.map { row in
            row.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
    }
}

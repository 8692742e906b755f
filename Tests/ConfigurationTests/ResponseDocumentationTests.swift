import Core
import Testing

@testable import Configuration

@Suite("The documentation of responses")
struct ResponseDocumentationTests {
    let lines: [Substring]

    init() throws {
        let folder = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        lines = String(decoding: try ConfigurationFiles.read(folder + "/docs/reference/apns-reasons.md"), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The rows of the table with this heading, as their cells.
    private func table(_ heading: String) throws -> [[String]] {
        let start = try #require(lines.firstIndex(of: heading[...]))
        return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { row in
            row.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map {
                // One space on each side, and a single space in an empty cell.
                String($0.dropFirst().dropLast())
            }
        }
    }

    @Test("It has a row for each reason, in agreement with the rules")
    func reasons() throws {
        let rows = try table("| status | reason | from | action | connection | alarm |")
        let expected = ResponseRule.all.map { rule in
            let origins = [(ResponseOrigin.device, "device"), (.broadcast, "broadcast"), (.channels, "channels")]
            return [
                "\(rule.status)", "`\(rule.reason)`",
                origins.filter { rule.origin.contains($0.0) }.map(\.1).joined(separator: ", "), "\(rule.action)",
                rule.closesConnection ? "replaced" : "", rule.alarm?.description ?? "",
            ]
        }
        #expect(rows == expected)
    }

    @Test("It explains each action")
    func actions() throws {
        let rows = try table("| action | what happens | outcome |")
        #expect(rows.map(\.first) == ResponseAction.allCases.map { "\($0)" })
    }
}

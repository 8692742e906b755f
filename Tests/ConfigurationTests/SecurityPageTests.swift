import TestSupport
import Testing

@Suite("The page about security")
struct SecurityPageTests {
    @Test("Each threat names an existing test")
    func tests() throws {
        let rows = try DocumentationPage("internals/security.md").text.split(separator: "\n## ").flatMap { section in
            section.contains("| threat |")
                ? section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst() : []
        }
        #expect(rows.count > 40)
        let sources = try DocumentationPage.testSources().joined()
        for row in rows {
            let name = row.split(separator: "|").last?.split(separator: "\"").dropFirst().first
            #expect(name.map { sources.contains("\"\($0)\"") } == true, "\(row)")
        }
    }

    @Test("Each field that others control names an existing test")
    func fields() throws {
        let named = try NamedTests(of: "internals/security.md")
        #expect(named.all.count > 60)
        #expect(named.missing.isEmpty)
    }
}

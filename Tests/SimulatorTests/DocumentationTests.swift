import Testing

@testable import Simulator

@Suite("The pages about the simulator")
struct DocumentationTests {
    let lines: [Substring]

    init() throws {
        // Tests/SimulatorTests/DocumentationTests.swift is three levels below the package.
        let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        lines = try ["start", "internals"].flatMap {
            try TextFile.read("/\(package)/docs/\($0)/simulator.md").split(
                separator: "\n", omittingEmptySubsequences: false)
        }
    }

    @Test("Their script examples have the documented effect")
    func script() throws {
        let start = try #require(lines.firstIndex(of: "```script"))
        let end = try #require(lines[start...].firstIndex(of: "```"))
        var configuration = SimulatorConfiguration()
        let script = try Script(
            lines[start + 1..<end].joined(separator: "\n"), file: "docs/start/simulator.md", &configuration)
        #expect(script.rules.count == 9)
    }

    @Test("They list every built-in device token and no other")
    func builtInTokens() throws {
        let start = try #require(lines.firstIndex(of: "|---|---|---|"))
        let rows = lines[(start + 1)...].prefix { $0.hasPrefix("|") }
        let prefixes = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(prefixes == BuiltInTokens.all.map { $0.prefix.description })
    }

    @Test("They list every action")
    func actions() {
        let cells = lines.filter { $0.hasPrefix("| `") }.map { $0.split(separator: "|")[0] }
        for verb in ScriptParser.verbs {
            #expect(
                cells.contains { $0.contains("`\(verb)`") || $0.contains("`\(verb) ") || $0.contains("[\(verb)]") },
                "\(verb)")
        }
    }

    @Test("They list every setting")
    func settings() {
        let text = lines.joined(separator: "\n")
        for name in ScriptParser.settings { #expect(text.contains("`set \(name) "), "\(name)") }
    }
}

import TestSupport
import Testing

@testable import Simulator

@Suite("The pages about the simulator")
struct DocumentationTests {
    let lines: [Substring]

    init() throws {
        lines = try ["start", "internals"].flatMap {
            try DocumentationPage("\($0)/simulator.md").text.split(separator: "\n", omittingEmptySubsequences: false)
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
        let rows = try DocumentationPage("start/simulator.md").table("| token begins with | read | what happens |")
        #expect(rows.map { $0[0] } == BuiltInTokens.all.map { "`\($0.prefix)`" })
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

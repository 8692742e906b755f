import TestSupport
import Testing

@Suite("The page of faults")
struct FaultPageTests {
    @Test("Each test that it names is there")
    func tests() throws {
        let named = try DocumentationPage("apns-faults.md").text.split(separator: "\n").filter { $0.hasPrefix("| ") }
            .compactMap { $0.split(separator: "\"").dropFirst().first.map(String.init) }
        #expect(named.count > 60)
        let sources = try DocumentationPage.testSources().joined()
        for name in named { #expect(sources.contains("\"\(name)\""), "\(name)") }
    }
}

import Core
import TestSupport
import Testing

@Suite("The documentation of responses")
struct ResponseDocumentationTests {
    private let page: DocumentationPage

    init() throws {
        page = try DocumentationPage("reference/apns-reasons.md")
    }

    @Test("It has a row for each reason, in agreement with the rules")
    func reasons() {
        let rows = page.table("| status | reason | from | action | connection | alarm |")
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
    func actions() {
        let rows = page.table("| action | what happens | outcome |")
        #expect(rows.map(\.first) == ResponseAction.allCases.map { "\($0)" })
    }
}

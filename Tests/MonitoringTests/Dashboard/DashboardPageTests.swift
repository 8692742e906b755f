import Admin
import Core
import TLS
import Testing

@testable import Monitoring

@Suite("The dashboard's page")
struct DashboardPageTests {
    private static let html = String(decoding: DashboardPage.document.body, as: UTF8.self)

    private static func content(of tag: String) throws -> String {
        let start = try #require(html.firstRange(of: "<\(tag)>"), "\(tag)")
        let end = try #require(html[start.upperBound...].firstRange(of: "</\(tag)>"), "\(tag)")
        return String(html[start.upperBound..<end.lowerBound])
    }

    @Test(
        "Its policy permits only its own style and script, by their hashes, and its own server",
        arguments: ["style", "script"])
    func policy(tag: String) throws {
        let digest = Digest.sha256(Array(try Self.content(of: tag).utf8))
        let hash = "'sha256-\(Base64.standard.encode(digest))'"
        #expect(DashboardPage.document.policy.contains("\(tag)-src \(hash);"))
        #expect(DashboardPage.document.policy.hasPrefix("default-src 'none';"))
        #expect(DashboardPage.document.policy.contains("connect-src 'self'"))
        #expect(!DashboardPage.document.policy.contains("unsafe"))
    }

    @Test("It names no external address: nothing is loaded from elsewhere")
    func addresses() {
        let addresses = Self.html.matches(of: #/https?:\/\/[^'"\s]+/#).map { String($0.output) }
        // A namespace, not an address.
        #expect(Set(addresses) == ["http://www.w3.org/2000/svg"])
    }

    @Test(
        "Its script makes no markup and no code out of text, whatever its source",
        arguments: ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc"])
    func markup(name: String) throws {
        #expect(!(try Self.content(of: "script").contains(name)))
    }
}

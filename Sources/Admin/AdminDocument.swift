import Core
import TLS

/// An HTML page with inline style and script, which follow those that all pages share.
///
/// Its policy allows the two by their hashes, and requests to its own server only.
package struct AdminDocument: Sendable {
    package let html: String
    package let policy: String

    /// - Parameter html: contains `{{style}}` and `{{script}}` as placeholders.
    package init(html: [UInt8], style: [UInt8], script: [UInt8]) {
        let style = PackageResources.page_css + style
        let script = PackageResources.page_js + script
        self.html = String(decoding: html, as: UTF8.self)
            .replacing("{{style}}", with: String(decoding: style, as: UTF8.self))
            .replacing("{{script}}", with: String(decoding: script, as: UTF8.self))
        policy = [
            "default-src 'none'", "script-src \(Self.hash(script))", "style-src \(Self.hash(style))",
            "img-src data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ].joined(separator: "; ")
    }

    /// Source: Content Security Policy Level 3, section 2.3.1.
    private static func hash(_ text: [UInt8]) -> String {
        "'sha256-\(Base64.standard.encode(Digest.sha256(text)))'"
    }

    package var response: AdminResponse {
        AdminResponse(contentType: "text/html; charset=utf-8", policy: policy, body: Array(html.utf8))
    }
}

package import Admin
import Core
import TLS

/// The page at `/`: one document with its style, its script and its icon inside, the same for everyone.
///
/// SwiftPM embeds the files that lie beside this one. What the page shows comes from `/state`, and whatever the script
/// is given becomes a text node or an attribute's value, never markup. The policy names the style and the script by
/// their hashes and lets nothing else in.
package enum DashboardPage {
    package static let html = text(PackageResources.dashboard_html)
        .replacing("{{style}}", with: style).replacing("{{script}}", with: script)

    private static let style = text(PackageResources.dashboard_css)
    /// In the order in which the files need each other; the last one starts the page.
    private static let script = text(
        PackageResources.elements_js + PackageResources.chart_js + PackageResources.sections_js
            + PackageResources.dead_letters_js + PackageResources.main_js)

    /// The text of a file.
    private static func text(_ file: [UInt8]) -> String {
        String(decoding: file, as: UTF8.self)
    }

    /// Source: Content Security Policy Level 3, section 2.3.1.
    package static let policy = [
        "default-src 'none'", "script-src \(hash(script))", "style-src \(hash(style))",
        "img-src data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    private static func hash(_ text: String) -> String {
        "'sha256-\(Base64.standard.encode(Digest.sha256(Array(text.utf8))))'"
    }

    package static let answer = AdminAnswer(
        contentType: "text/html; charset=utf-8", policy: policy, body: Array(html.utf8))
}

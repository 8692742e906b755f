import Admin
import Core
import TLS

/// The page at `/`: one document with its style, its script and its icon inside, the same for everyone.
///
/// What it shows comes from `/state`. Its policy names the style and the script by their hashes and lets nothing else in.
package enum DashboardPage {
    package static let html = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Harebell</title>
        <link rel="icon" href="\(DashboardMarkup.icon)">
        <style>\(DashboardStyle.text)</style>
        </head>
        <body>
        \(DashboardMarkup.body)
        <script>\(DashboardScript.text)</script>
        </body>
        </html>

        """

    /// Source: Content Security Policy Level 3, section 2.3.1.
    package static let policy = [
        "default-src 'none'", "script-src \(hash(DashboardScript.text))", "style-src \(hash(DashboardStyle.text))",
        "img-src data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    private static func hash(_ text: String) -> String {
        "'sha256-\(Base64.standard.encode(Digest.sha256(Array(text.utf8))))'"
    }

    static let answer = AdminAnswer(contentType: "text/html; charset=utf-8", policy: policy, body: Array(html.utf8))
}

package import Core
import TLS

package struct AdminPage: Sendable {
    /// For example `/metrics`.
    package let path: StaticString
    /// Whether clients need no token, if one is configured.
    package let isPublic: Bool
    /// GET includes HEAD.
    package let method: String

    package init(_ path: StaticString, isPublic: Bool = false, _ method: String = "GET") {
        self.path = path
        self.isPublic = isPublic
        self.method = method
    }

    /// The values of `Allow`.
    var methods: [String] { method == "GET" ? ["GET", "HEAD"] : [method] }
}

/// A request that passed all checks.
package struct AdminRequest: Sendable {
    package let page: AdminPage
    /// The query parameters, decoded, in order.
    package let query: [(name: String, value: String)]
    /// When it was first passed to the pages.
    package let receivedAt: Instant
    /// Whether it was passed before without a response.
    package let isRepeated: Bool
}

package struct AdminResponse: Sendable {
    package let status: UInt32
    package let contentType: StaticString
    /// Its `Content-Security-Policy`.
    package let policy: String
    package let body: [UInt8]

    /// - Parameter policy: by default nothing is allowed, for responses that are not HTML.
    package init(
        status: UInt32 = 200, contentType: StaticString, policy: String = "default-src 'none'; frame-ancestors 'none'",
        body: [UInt8]
    ) {
        self.status = status
        self.contentType = contentType
        self.policy = policy
        self.body = body
    }

    /// A response with one line of plain text.
    package static func text(_ status: UInt32, _ line: String) -> AdminResponse {
        AdminResponse(status: status, contentType: "text/plain; charset=utf-8", body: Array((line + "\n").utf8))
    }

    /// An HTML page with inline style and script, which follow those that all pages share.
    ///
    /// Its policy allows the two by their hashes, and requests to its own server only.
    ///
    /// - Parameter html: contains `{{style}}` and `{{script}}` as placeholders.
    package static func document(html: [UInt8], style: [UInt8], script: [UInt8]) -> AdminResponse {
        let style = PackageResources.page_css + style
        let script = PackageResources.page_js + script
        let html = String(decoding: html, as: UTF8.self)
            .replacing("{{style}}", with: String(decoding: style, as: UTF8.self))
            .replacing("{{script}}", with: String(decoding: script, as: UTF8.self))
        let policy = [
            "default-src 'none'", "script-src \(Self.hash(script))", "style-src \(Self.hash(style))",
            "img-src data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ].joined(separator: "; ")
        return AdminResponse(contentType: "text/html; charset=utf-8", policy: policy, body: Array(html.utf8))
    }

    /// Source: Content Security Policy Level 3, section 2.3.1.
    private static func hash(_ text: [UInt8]) -> String {
        "'sha256-\(Base64.standard.encode(Digest.sha256(text)))'"
    }
}

/// Provides the admin server's pages.
package protocol AdminPages: AnyObject {
    var pages: [AdminPage] { get }

    /// The response for one of ``pages``. `nil` if it is not ready; the request is then repeated after
    /// ``AdminServer/respondToWaiting()``.
    func respond(_ request: AdminRequest, at now: Moment) -> AdminResponse?
}

package import Core

package struct AdminPage: Sendable {
    /// Who may access a page.
    package enum Access: Sendable {
        case unrestricted
        /// Clients with the token; all clients if no token is configured.
        case readers
    }

    /// For example `/metrics`.
    package let path: StaticString
    package let access: Access
    /// GET includes HEAD.
    package let method: String

    package init(_ path: StaticString, _ access: Access = .readers, _ method: String = "GET") {
        self.path = path
        self.access = access
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
    /// The policy of responses that are not HTML.
    private static let noContent = "default-src 'none'; frame-ancestors 'none'"

    package let status: UInt32
    package let contentType: StaticString
    /// Its `Content-Security-Policy`.
    package let policy: String
    package let body: [UInt8]

    /// - Parameter policy: the response's `Content-Security-Policy`; by default nothing is allowed.
    package init(status: UInt32 = 200, contentType: StaticString, policy: String? = nil, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.policy = policy ?? Self.noContent
        self.body = body
    }

    /// A response with one line of plain text.
    package static func text(_ status: UInt32, _ line: String) -> AdminResponse {
        AdminResponse(status: status, contentType: "text/plain; charset=utf-8", body: Array((line + "\n").utf8))
    }
}

/// Provides the admin server's pages.
package protocol AdminPages: AnyObject {
    var pages: [AdminPage] { get }

    /// The response for one of ``pages``. `nil` if it is not ready; the request is then repeated after
    /// ``AdminServer/respondToWaiting()``.
    func respond(_ request: AdminRequest, at now: Moment) -> AdminResponse?
}

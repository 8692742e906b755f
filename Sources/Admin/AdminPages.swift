package import Core

/// One of the admin server's addresses.
package struct AdminPage: Sendable {
    /// Who may use it.
    package enum Access: Sendable {
        case everyone
        /// Who has the token; everyone where there is none.
        case readers
        /// Who has the token; nobody where there is none.
        case operators
    }

    /// Such as `/metrics`.
    package let path: StaticString
    package let access: Access
    package enum Method: Sendable {
        /// HEAD as well.
        case get
        /// A command with a JSON body.
        case post
        case delete
    }

    package let method: Method

    package init(_ path: StaticString, _ access: Access = .readers, _ method: Method = .get) {
        self.path = path
        self.access = access
        self.method = method
    }

    /// What `Allow` says.
    var methods: String {
        switch method {
        case .get: "GET, HEAD"
        case .post: "POST"
        case .delete: "DELETE"
        }
    }

    func takes(_ method: String) -> Bool {
        switch self.method {
        case .get: method == "GET" || method == "HEAD"
        case .post: method == "POST"
        case .delete: method == "DELETE"
        }
    }
}

/// A request that may be answered.
package struct AdminRequest: Sendable {
    package let page: AdminPage
    /// The parameters behind the path, decoded, in their order.
    package let query: [(name: String, value: String)]
    /// When it was asked for the first time.
    package let receivedAt: Instant
    /// Whether it was asked before, and not answered.
    package let isRepeated: Bool
    /// Of a command.
    package let body: [UInt8]
    /// Who asks: an address in digits.
    package let peer: String

    package init(
        page: AdminPage, query: [(name: String, value: String)] = [], receivedAt: Instant, isRepeated: Bool,
        body: [UInt8] = [], peer: String = ""
    ) {
        self.page = page
        self.query = query
        self.receivedAt = receivedAt
        self.isRepeated = isRepeated
        self.body = body
        self.peer = peer
    }
}

package struct AdminAnswer: Sendable {
    /// What a browser may do with an answer that is nothing to look at.
    private static let noContent = "default-src 'none'; frame-ancestors 'none'"

    package let status: UInt32
    package let contentType: StaticString
    /// Its `Content-Security-Policy`.
    package let policy: String
    package let body: [UInt8]

    /// - Parameter policy: what a browser may do with it: nothing, unless it says otherwise.
    package init(status: UInt32 = 200, contentType: StaticString, policy: String? = nil, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.policy = policy ?? Self.noContent
        self.body = body
    }

    /// One line of plain text.
    package static func text(_ status: UInt32, _ line: String) -> AdminAnswer {
        AdminAnswer(status: status, contentType: "text/plain; charset=utf-8", body: Array((line + "\n").utf8))
    }
}

/// Who knows what the admin server shows, and does what it is asked for.
package protocol AdminPages: AnyObject {
    var pages: [AdminPage] { get }

    /// What one of ``pages`` shows; `nil` for not yet, and then it is asked for again after
    /// ``AdminServer/answerWaiting(at:)``.
    func answer(_ request: AdminRequest, at now: Moment) -> AdminAnswer?
}

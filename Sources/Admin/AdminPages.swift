package import Core

/// One of the admin server's addresses.
package struct AdminPage: Sendable {
    /// Such as `/metrics`.
    package let path: StaticString
    /// Whether it is shown to everyone, also where there is a token.
    package let isPublic: Bool

    package init(_ path: StaticString, isPublic: Bool = false) {
        self.path = path
        self.isPublic = isPublic
    }
}

package struct AdminAnswer: Sendable {
    package let status: UInt32
    package let contentType: StaticString
    package let body: [UInt8]

    package init(status: UInt32 = 200, contentType: StaticString, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// One line of plain text.
    package static func text(_ status: UInt32, _ line: String) -> AdminAnswer {
        AdminAnswer(status: status, contentType: "text/plain; charset=utf-8", body: Array((line + "\n").utf8))
    }
}

/// Who knows what the admin server shows.
package protocol AdminPages: AnyObject {
    var pages: [AdminPage] { get }

    /// What one of ``pages`` shows; `nil` for not yet, and then it is asked for again after ``AdminServer/answerWaiting(at:)``.
    ///
    /// - Parameter isRepeated: whether it was asked for the same request before.
    func answer(_ page: AdminPage, isRepeated: Bool, at now: Moment) -> AdminAnswer?
}

package import Admin
package import Core
package import System

/// Serves the notifications that a simulator received: a page, and a JSON API for tests.
///
/// Its owner calls ``step(at:)`` at the end of each turn, and when ``nextDeadline`` has passed.
package final class InboxServer {
    /// The default maximum of stored notifications.
    package static let defaultSize = 10_000
    /// The maximum of stored refused notifications.
    private static let refusedSize = 100
    /// The shortest time between checks of waiting requests.
    private static let interval = Duration.milliseconds(20)
    /// The maximum duration of a connection: that of other pages, after the longest wait.
    static let longest = Duration.seconds(InboxQuery.maximumTimeout) + AdminServer.longest

    private var accepted: InboxRing
    private var refused = InboxRing(size: refusedSize)
    private var server: AdminServer?
    /// When the first waiting request times out; `nil` if none waits.
    private var firstTimeout: Instant?
    private var hasNewEntries = false
    private var lastCheck = Instant.distantPast

    /// Listens for as long as the loop lives.
    ///
    /// - Parameters:
    ///   - size: the maximum of stored notifications.
    ///   - anyHost: whether requests may name other hosts than loopback.
    package init(loop: EventLoop, listen: Endpoint, size: Int, anyHost: Bool) throws(EventLoopError) {
        accepted = InboxRing(size: size)
        server = try AdminServer(
            loop: loop, listen: listen, token: nil, longest: Self.longest,
            loopbackOnlyAdvice: anyHost ? nil : "listen on another address (--inbox) to allow others",
            pages: self)
    }

    /// For tests without a socket.
    init(size: Int) {
        accepted = InboxRing(size: size)
    }

    package var endpoint: Endpoint? { server?.endpoint }

    package func add(_ entry: InboxEntry) {
        guard entry.isAccepted else { return refused.append(entry) }
        accepted.append(entry)
        hasNewEntries = true
    }

    package var nextDeadline: Instant? {
        firstTimeout.map { hasNewEntries ? min($0, lastCheck + Self.interval) : $0 }
    }

    /// Answers the waiting requests if there are new notifications, or if a request has timed out.
    package func step(at now: Moment) {
        guard let deadline = nextDeadline, deadline <= now.instant else { return }
        firstTimeout = nil
        hasNewEntries = false
        lastCheck = now.instant
        server?.respondToWaiting()
    }
}

extension InboxServer: AdminPages {
    package var pages: [AdminPage] {
        [
            AdminPage("/", isPublic: true), AdminPage("/notifications", isPublic: true),
            AdminPage("/notifications", isPublic: true, "DELETE"), AdminPage("/notifications/wait", isPublic: true),
            AdminPage("/refused", isPublic: true),
        ]
    }

    package func respond(_ request: AdminRequest, at now: Moment) -> AdminResponse? {
        do throws(Complaint) {
            switch (request.page.path.description, request.page.method) {
            case ("/", _): return InboxPage.document
            case ("/notifications", "DELETE"):
                _ = try InboxQuery(request.query, names: [], size: accepted.size)
                accepted.removeAll()
                refused.removeAll()
                return .text(200, "deleted")
            case ("/notifications/wait", _): return try wait(request, at: now)
            case (let path, _):
                let query = try InboxQuery(request.query, names: InboxQuery.listNames, size: accepted.size)
                return Self.json((path == "/refused" ? refused : accepted).json(query))
            }
        } catch {
            return .text(400, "400 \(error.message)")
        }
    }

    private func wait(_ request: AdminRequest, at now: Moment) throws(Complaint) -> AdminResponse? {
        let query = try InboxQuery(request.query, names: InboxQuery.waitNames, size: accepted.size)
        let count = accepted.matches(query).count
        if count >= query.count { return Self.json(accepted.json(query)) }
        let timeout = request.receivedAt + .seconds(query.timeout)
        guard timeout > now.instant else {
            return .text(408, missed(query, count))
        }
        firstTimeout = min(timeout, firstTimeout ?? timeout)
        return nil
    }

    /// What a test prints when its notifications did not come.
    private func missed(_ query: InboxQuery, _ count: Int) -> String {
        var text = "408 \(count) of \(query.count) notifications arrived within \(query.timeout) s"
        let others = accepted.entries.count - count
        if others > 0 { text += "; the inbox has \(others) with another device token or topic" }
        let (failures, newest) = refused.matches(query)
        if let last = newest.first { text += "; \(failures) refused, the last one with \(last.refusal)" }
        return text
    }

    private static func json(_ bytes: [UInt8]) -> AdminResponse {
        AdminResponse(contentType: "application/json", body: bytes)
    }
}

/// The page of the inbox. Its script writes data from the JSON API as text, never as markup.
enum InboxPage {
    static let document = AdminResponse.document(
        html: PackageResources.inbox_html, style: PackageResources.inbox_css, script: PackageResources.inbox_js)
}

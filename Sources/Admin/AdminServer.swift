import CMicrohttpd
package import Core
import Glibc
package import System

/// Serves pages to operators over HTTP/1.1, as part of an event loop.
///
/// Each connection carries one request and has limited time. When their limit is reached, the oldest is closed, so idle
/// clients cannot block new ones.
package final class AdminServer {
    /// libmicrohttpd's memory for a request and the head of its response, in bytes. Longer requests get 414 or 431.
    package static let maximumMemory = 16_384
    /// The maximum number of open connections; libmicrohttpd may have as many again that are being closed.
    private static let maximumConnections = 128
    /// From a connection's start until the end of its response; tests use a shorter time.
    package static let longest = Duration.seconds(10)

    private final class Connection {
        let raw: DaemonConnection
        let openedAt: Instant
        /// Whether its page is not ready.
        var isWaiting = false
        /// When its request was first passed to the pages.
        var requestedAt: Instant?

        init(_ raw: DaemonConnection, at now: Instant) {
            self.raw = raw
            openedAt = now
        }
    }

    /// The address it listens on, with the actual port.
    package private(set) var endpoint: Endpoint
    private unowned let pages: any AdminPages
    private let access: AdminAccess
    // Destroyed before the state that its callbacks use.
    private var daemon: Daemon?
    /// Those that were not asked to close.
    private var connections: [UInt32: Connection] = [:]
    private var lastNumber: UInt32 = 0
    private let longest: Duration
    private var now: Moment
    /// Whether the daemon has work although no descriptor is ready.
    private var isBusy = false

    package var connectionCount: Int { connections.count }

    /// Listens until the loop ends.
    ///
    /// - Parameters:
    ///   - listen: a numeric address; port 0 takes any free one.
    ///   - token: the token for `Authorization: Bearer` on pages that are not public.
    ///   - longest: the maximum duration of a connection.
    package init(
        loop: EventLoop, listen: Endpoint, token: String?, longest: Duration = longest,
        loopbackOnlyAdvice: StaticString? = "set admin.token_file to allow others", pages: any AdminPages
    ) throws(EventLoopError) {
        self.pages = pages
        access = AdminAccess(token: token.map { Array($0.utf8) }, loopbackOnlyAdvice: loopbackOnlyAdvice)
        self.longest = longest
        endpoint = listen
        now = loop.now
        let listener = try SocketListener(loop: loop, address: listen.host, port: listen.port) {
            [unowned self, unowned loop] socket in
            // The last turn of this server may be minutes ago.
            now = loop.now
            daemon?.add(socket.release())
        }
        endpoint.port = listener.port
        do throws(EventLoopError) {
            try startDaemon(on: loop)
        } catch {
            // The loop owns the listener, whose callback refers to this server.
            listener.close()
            throw error
        }
        loop.add(self)
    }

    private func startDaemon(on loop: EventLoop) throws(EventLoopError) {
        let daemon = try unsafe Daemon(
            context: Unmanaged.passUnretained(self).toOpaque(),
            onRequest: { server, connection, path, method, _, _, _, _ in
                guard let connection = unsafe connection, let path = unsafe path, let method = unsafe method
                else { return .NO }
                // A body is never read: this responds to the head, or suspends or closes the connection.
                let isHandled = unsafe AdminServer.of(server).requested(
                    DaemonConnection(connection), path: String(cString: path), method: String(cString: method))
                return isHandled ? .YES : .NO
            },
            onConnection: { server, connection, context, event in
                guard let connection = unsafe connection, let context = unsafe context else { return }
                if event == .CONNECTION_NOTIFY_STARTED {
                    let number = unsafe AdminServer.of(server).opened(DaemonConnection(connection))
                    unsafe context.pointee = UnsafeMutableRawPointer(bitPattern: UInt(number))
                } else {
                    unsafe AdminServer.of(server).connections[DaemonConnection.number(context.pointee)] = nil
                }
            }, maximumConnections: 2 * Self.maximumConnections, maximumMemory: Self.maximumMemory)
        _ = try loop.register(descriptor: daemon.descriptor, interest: .readable) { [self] in run(at: $1) }
        self.daemon = consume daemon
    }

    deinit {
        // The daemon does not stop while connections are suspended.
        for connection in connections.values where connection.isWaiting { connection.raw.resume() }
        daemon = nil
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> AdminServer {
        guard let context = unsafe context else { preconditionFailure("a callback has its server") }
        return unsafe Unmanaged<AdminServer>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: Connections

    private func opened(_ connection: DaemonConnection) -> UInt32 {
        lastNumber &+= 1
        if connections.count >= Self.maximumConnections, let oldest = connections.keys.min() { end(oldest) }
        connections[lastNumber] = Connection(connection, at: now.instant)
        return lastNumber
    }

    /// Makes the daemon close a connection as if the peer had closed it.
    private func end(_ number: UInt32) {
        guard let connection = connections.removeValue(forKey: number) else { return }
        _ = shutdown(connection.raw.descriptor, Int32(SHUT_RDWR))
        if connection.isWaiting { resume(connection) }
        isBusy = true
    }

    // MARK: Requests

    /// Called when a request's head is complete, and when an unanswered request is repeated.
    ///
    /// - Returns: `false` to close the connection.
    private func requested(_ connection: DaemonConnection, path: String, method: String) -> Bool {
        guard let state = connections[connection.number] else { return false }
        let candidates = pages.pages.filter { $0.path.description == path }
        let page = candidates.first { $0.methods.contains(method) } ?? candidates.first
        if let advice = access.refusal(of: connection.headers("host")) {
            return respond(connection, .text(403, "403 only loopback host names are allowed; \(advice)"))
        }
        guard access.allows(page, connection.headers("authorization").first) else {
            return respond(connection, .text(401, "401 bearer token required"), ("WWW-Authenticate", "Bearer"))
        }
        guard let page else { return respond(connection, .text(404, "404 page not found")) }
        guard page.methods.contains(method) else {
            let methods = candidates.flatMap(\.methods).joined(separator: ", ")
            return respond(connection, .text(405, "405 expected \(methods)"), ("Allow", methods))
        }
        return show(page, connection, state)
    }

    private func show(_ page: AdminPage, _ connection: DaemonConnection, _ state: Connection) -> Bool {
        let receivedAt = state.requestedAt ?? now.instant
        let request = AdminRequest(
            page: page, query: connection.values(.GET_ARGUMENT_KIND), receivedAt: receivedAt,
            isRepeated: state.requestedAt != nil)
        state.requestedAt = receivedAt
        guard let content = pages.respond(request, at: now) else {
            state.isWaiting = true
            connection.suspend()
            return true
        }
        return respond(connection, content)
    }

    private func respond(
        _ connection: DaemonConnection, _ response: AdminResponse,
        _ header: (StaticString, String)? = nil
    ) -> Bool {
        let headers: [(StaticString, String)] = [
            ("Content-Type", response.contentType.description), ("Cache-Control", "no-store"),
            ("Content-Security-Policy", response.policy), ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Connection", "close"),
        ]
        return connection.respond(response.status, headers + [header].compactMap(\.self), response.body)
    }

    /// Repeats the requests whose pages were not ready.
    package func respondToWaiting() {
        for connection in connections.values where connection.isWaiting { resume(connection) }
    }

    private func resume(_ connection: Connection) {
        connection.isWaiting = false
        connection.raw.resume()
        isBusy = true
    }

    private func run(at now: Moment) {
        self.now = now
        daemon?.run()
        isBusy = daemon?.isBusy ?? false
    }
}

extension AdminServer: LoopParticipant {
    package var nextDeadline: Instant? {
        isBusy ? now.instant : connections.values.map(\.openedAt).min().map { $0 + longest }
    }

    package func expire(at now: Moment) {
        self.now = now
        for (number, connection) in connections where connection.openedAt + longest <= now.instant { end(number) }
        if isBusy { run(at: now) }
    }

    package func flush(at now: Moment) {}
}

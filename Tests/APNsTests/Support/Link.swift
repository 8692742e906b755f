import APNs
import Core
import HTTP2
import TLS
import TestSupport

/// An engine and a server connected by an in-memory wire, on virtual time.
final class Link {
    private let client: APNsLink
    let server: TestServer
    private(set) var now = Fixture.start.instant
    /// The largest piece that the wire carries at once.
    var piece = Int.max
    /// Bytes that still pass before the wire is cut, from the engine and from the server.
    var engineBudget = Int.max
    var serverBudget = Int.max
    private(set) var engineBytes = 0
    private(set) var serverBytes = 0
    private(set) var isOpen = false
    private var tokens: ProviderTokenSource?
    /// The engine's events so far.
    private(set) var log: [APNsEngine.Event] = []

    /// - Parameters:
    ///   - opens: whether the wire is open.
    ///   - responds: whether the server answers requests by itself.
    ///   - streams: the server's limit.
    init(
        usesProviderToken: Bool = false, opens: Bool = true, responds: Bool = true, streams: UInt32? = nil,
        configure: (inout APNsEngine.Configuration) -> Void = { _ in }
    ) throws {
        var configuration = APNsEngine.Configuration(endpoint: Fixture.endpoint, usesProviderToken: usesProviderToken)
        configure(&configuration)
        client = APNsLink(try APNsEngine(configuration: configuration, tls: Fixture.clientContext()))
        var settings = HTTP2ServerSession.Settings()
        if let streams { settings.initial[.maxConcurrentStreams] = streams }
        server = try TestServer(context: Fixture.serverContext(), settings: settings)
        if !responds { server.onRequest = { _, _ in } }
        tokens = usesProviderToken ? Fixture.tokens() : nil
        if opens { open() }
    }

    var engine: APNsEngine {
        _read { yield client.engine }
        _modify { yield &client.engine }
    }

    /// Opens the wire and exchanges bytes.
    func open() {
        isOpen = true
        engine.transportOpened(at: now)
        server.transportOpened(at: now)
        pump()
    }

    func submit(_ request: APNsRequest = Fixture.request(), as handle: Handle = 1) throws {
        let token = tokens?.token(at: Moment(instant: now, wall: Fixture.start.wall))
        try engine.submit(request, handle: handle, authorization: token, at: now)
    }

    /// Submits a request, and carries bytes until nothing moves.
    func send(_ request: APNsRequest = Fixture.request(), as handle: Handle = 1) throws {
        try submit(request, as: handle)
        pump()
    }

    /// Carries bytes until nothing moves.
    func pump() {
        while isOpen {
            let fromEngine = carry(from: client, to: server, budget: &engineBudget, total: &engineBytes)
            let fromServer = isOpen && carry(from: server, to: client, budget: &serverBudget, total: &serverBytes)
            if !fromEngine && !fromServer { break }
        }
        if isOpen, engine.wantsDisconnect || server.wantsDisconnect { close(nil) }
        listen()
    }

    /// Advances time; engine deadlines are met to the nanosecond.
    func pass(_ duration: Duration) {
        let end = now + duration
        pump()
        while let deadline = engine.nextDeadline, deadline <= end {
            now = max(now, deadline)
            engine.expire(at: now)
            pump()
        }
        now = end
    }

    func cut() {
        close(TransportError(.init(rawValue: "ECONNRESET"), "the connection was reset"))
        listen()
    }

    /// The engine's events since the last call, as text.
    func news() -> [String] {
        listen()
        defer { told = log.count }
        return log[told...].map(\.description)
    }

    var losses: [Loss] {
        log.compactMap { event in
            if case .lost(_, let loss) = event { loss } else { nil }
        }
    }

    private var told = 0

    private func listen() {
        while let event = engine.nextEvent() { log.append(event) }
    }

    private func close(_ failure: TransportError?) {
        isOpen = false
        engine.transportClosed(failure, at: now)
        server.transportClosed(failure, at: now)
    }

    private func carry(from: any Engine, to: any Engine, budget: inout Int, total: inout Int) -> Bool {
        var queue = ByteQueue()
        from.drain(into: &queue)
        let bytes = queue.copy()
        var position = 0
        while position < bytes.count, isOpen {
            let count = min(piece, bytes.count - position, budget)
            if count > 0 { to.receive(bytes[position..<position + count].span, at: now) }
            position += count
            budget -= count
            total += count
            if budget == 0 { cut() }
        }
        return !bytes.isEmpty
    }
}

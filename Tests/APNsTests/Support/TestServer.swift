import Core
import HTTP2
import TLS
import TestSupport

/// A small APNs for tests: a TLS and HTTP/2 server that handles requests as the test says.
final class TestServer: Engine {
    struct Received {
        var stream: Int32
        var request: HTTP2Request
        /// The encoding of each header.
        var representations: [String: HeaderRepresentation]

        func header(_ name: StaticString) -> String? {
            request.headers.value(of: name).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    var tls: TLSSession
    let http2: HTTP2ServerSession
    /// Handles each request; replies 200 by default.
    var onRequest: (TestServer, Received) -> Void
    private(set) var received: [Received] = []
    private(set) var resets: [Int32: HTTP2ErrorCode] = [:]
    private(set) var pings = 0
    private(set) var hasGoaway = false
    private(set) var priorityFrames = 0
    private(set) var isTransportClosed = false
    private(set) var failure: (any Error)?
    /// Closes the transport once everything is sent.
    var hangsUp = false
    /// A peer that is gone: takes bytes and sends nothing.
    var ignoresInput = false
    private var lastStream = Int32.max
    private var plaintext = ByteQueue()
    private var headerBlocks = HeaderBlockReader()

    init(
        context: TLSContext, settings: HTTP2ServerSession.Settings = .init(),
        onRequest: @escaping (TestServer, Received) -> Void = { $0.respond($1.stream) }
    ) throws {
        tls = TLSSession(context: context, serverName: nil)
        http2 = try HTTP2ServerSession(settings: settings)
        self.onRequest = onRequest
    }

    // MARK: Test actions

    func respond(_ stream: Int32, _ status: UInt16 = 200, _ body: String = "", headers: [HTTP2Header] = []) {
        let response = HTTP2ServerResponse(status: status, headers: headers, body: Array(body.utf8))
        attempt { try http2.respond(stream: stream, response) }
    }

    func reset(_ stream: Int32, _ code: HTTP2ErrorCode) {
        attempt { try http2.reset(stream: stream, code: code) }
    }

    /// Sends GOAWAY and ignores requests above `last`.
    func goaway(last: Int32, _ body: String = "") {
        lastStream = last
        attempt { try http2.goaway(lastStreamID: last, debugData: Array(body.utf8)) }
    }

    func allow(streams: UInt32) {
        attempt { try http2.raw.submitSettings([.maxConcurrentStreams: streams]) }
    }

    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch { failure = error }
    }

    // MARK: Engine

    func transportOpened(at now: Instant) {}

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        guard failure == nil, !ignoresInput else { return }
        tls.receive(bytes)
        do {
            guard try tls.handshake() else { return }
            while case .bytes = try tls.read(into: &plaintext) {
                defer { plaintext.removeAll() }
                try plaintext.withBytes { (part) throws(HTTP2Error) in
                    headerBlocks.receive(part)
                    try http2.receive(part)
                }
            }
        } catch {
            failure = error
            hangsUp = true
        }
        while let event = http2.nextEvent() {
            switch event {
            case .request(let stream, _) where stream > lastStream: break
            case .request(let stream, let request):
                let representations = headerBlocks.representations(of: request, on: stream)
                received.append(Received(stream: stream, request: request, representations: representations))
                onRequest(self, received[received.count - 1])
            case .closed(let stream, let code): resets[stream] = code == .noError ? nil : code
            case .ping: pings += 1
            case .goaway: hasGoaway = true
            case .priorityFrame: priorityFrames += 1
            case .pong: break
            }
        }
    }

    func transportClosed(_ failure: TransportError?, at now: Instant) {
        isTransportClosed = true
    }

    func drain(into output: inout ByteQueue) {
        guard !ignoresInput else { return }
        if tls.isEstablished, failure == nil {
            attempt {
                try http2.drain(into: &plaintext)
                try tls.write(from: &plaintext)
            }
        }
        tls.drain(into: &output)
    }

    var isEstablished: Bool { true }
    var wantsDisconnect: Bool {
        hangsUp
    }

    var nextDeadline: Instant? { nil }

    func expire(at now: Instant) {}
}

import CNghttp2
import Core
import TestSupport

@testable import HTTP2

/// A client and a server joined in memory: bytes move when a test says so.
final class Pair {
    typealias Ending = (handle: Handle, response: HTTP2Response?, code: HTTP2ErrorCode?, status: UInt16?)

    var client: HTTP2ClientSession
    let server: HTTP2ServerSession
    /// Of the client's requests.
    private(set) var headerBlocks = HeaderBlockReader()
    /// The most bytes that arrive at once.
    var chunk = Int.max
    private var toServer = ByteQueue()
    private var toClient = ByteQueue()

    init(
        client editClient: (inout HTTP2ClientSession.Settings) -> Void = { _ in },
        server editServer: (inout HTTP2ServerSession.Settings) -> Void = { _ in }
    ) throws(HTTP2Error) {
        var (clientSettings, serverSettings) = (HTTP2ClientSession.Settings(), HTTP2ServerSession.Settings())
        editClient(&clientSettings)
        editServer(&serverSettings)
        client = try HTTP2ClientSession(settings: clientSettings)
        server = try HTTP2ServerSession(settings: serverSettings)
    }

    /// Both ends have exchanged their SETTINGS.
    static func settled(
        server edit: (inout HTTP2ServerSession.Settings) -> Void = { _ in }
    ) throws(HTTP2Error) -> Pair {
        let pair = try Pair(server: edit)
        try pair.settle()
        return pair
    }

    /// One direction, then the other; false when nothing was in flight.
    @discardableResult
    func step() throws(HTTP2Error) -> Bool {
        try client.drain(into: &toServer)
        let sent = toServer.count
        try Self.deliver(&toServer, by: chunk) { bytes throws(HTTP2Error) in
            headerBlocks.receive(bytes)
            try server.receive(bytes)
        }
        try server.drain(into: &toClient)
        let responded = toClient.count
        try Self.deliver(&toClient, by: chunk) { bytes throws(HTTP2Error) in try client.receive(bytes) }
        return sent + responded > 0
    }

    /// Exchanges bytes until both ends have nothing to send.
    func settle() throws(HTTP2Error) {
        while try step() {}
    }

    private static func deliver(
        _ queue: inout ByteQueue, by chunk: Int, to receive: (Span<UInt8>) throws(HTTP2Error) -> Void
    ) throws(HTTP2Error) {
        while !queue.isEmpty {
            let count = try queue.withBytes { bytes throws(HTTP2Error) in
                let part = bytes.extracting(0..<min(chunk, bytes.count))
                try receive(part)
                return part.count
            }
            queue.consume(count)
        }
    }

    /// A request like one to APNs.
    @discardableResult
    func post(
        _ handle: Handle, path: String = "/3/device/00fc13adff785122b4ad28809a342098", id: String = "id",
        body: [UInt8]? = nil
    ) throws(HTTP2Error) -> Int32 {
        client.beginRequest(path: path)
        client.fields.add("authorization", Array("bearer secret".utf8).span, neverIndexed: true)
        client.fields.add("apns-topic", "com.example.app")
        client.fields.add("apns-id", Array(id.utf8).span, neverIndexed: true)
        return try client.submit(body: body.map { $0[...] }, handle: handle)
    }

    /// Posts a request, and exchanges bytes until both ends have nothing to send.
    @discardableResult
    func send(_ handle: Handle, body: [UInt8]? = nil) throws(HTTP2Error) -> Int32 {
        let stream = try post(handle, body: body)
        try settle()
        return stream
    }

    func clientEvents() -> [HTTP2ClientSession.Event] {
        var events: [HTTP2ClientSession.Event] = []
        while let event = client.nextEvent() { events.append(event) }
        return events
    }

    func serverEvents() -> [HTTP2ServerSession.Event] {
        Array(sequence(state: server) { $0.nextEvent() })
    }

    /// How requests ended since the last call.
    func endings() -> [Ending] {
        clientEvents().compactMap { event in
            switch event {
            case .response(let handle, let response): (handle, response, nil, nil)
            case .reset(let handle, let code, let begun): (handle, nil, code, begun?.status)
            default: nil
            }
        }
    }

    /// The requests completed since the last call.
    func requests() -> [(stream: Int32, request: HTTP2Request)] {
        serverEvents().compactMap { event in
            if case .request(let stream, let request) = event { (stream, request) } else { nil }
        }
    }
}

extension [UInt8] {
    init(_ text: String) {
        self.init(text.utf8)
    }

    var text: String {
        String(decoding: self, as: UTF8.self)
    }
}

/// A frame with its header. Source: RFC 9113, section 4.1.
func frame(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
    let length = payload.count
    return [
        UInt8(length >> 16), UInt8(length >> 8 & 0xff), UInt8(length & 0xff), type, flags, UInt8(stream >> 24),
        UInt8(stream >> 16 & 0xff), UInt8(stream >> 8 & 0xff), UInt8(stream & 0xff),
    ] + payload
}

/// Bytes that depend on their position.
func payload(_ count: Int) -> [UInt8] {
    Array(longPayload[..<count])
}

private let longPayload = (0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

extension HTTP2ClientSession {
    /// Begins a request to APNs.
    mutating func beginRequest(path: String) {
        fields.removeAll()
        fields.add(":method", "POST")
        fields.add(":scheme", "https")
        fields.add(":authority", "api.push.apple.com")
        fields.add(":path", Array(path.utf8).span)
    }

    /// Whether output is pending; also true while nghttp2 has to complete the last frame.
    var wantsWrite: Bool {
        unsafe nghttp2_session_want_write(raw.pointer) != 0
    }

    /// False once no relevant input can arrive: after GOAWAY, when the last stream has ended.
    var wantsRead: Bool {
        unsafe nghttp2_session_want_read(raw.pointer) != 0
    }

    /// The initial window of each new stream for a body, in bytes, as the peer set it.
    var remoteInitialWindow: Int {
        Int(unsafe nghttp2_session_get_remote_settings(raw.pointer, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE))
    }

    /// The peer's last limit for a request's header list, counted as in RFC 9113, section 6.5.2.
    var remoteMaxHeaderList: UInt32 {
        unsafe nghttp2_session_get_remote_settings(raw.pointer, NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE)
    }
}

extension HTTP2ServerSession {
    /// Whether output is pending.
    var wantsWrite: Bool {
        unsafe !holdsOutput && nghttp2_session_want_write(raw.pointer) != 0
    }

    @discardableResult
    func respond(
        stream: Int32, status: UInt16, headers: [HTTP2Header] = [], body: [UInt8] = []
    ) throws(HTTP2Error) -> Bool {
        try respond(stream: stream, HTTP2ServerResponse(status: status, headers: headers, body: body))
    }

    /// Sends an interim response, such as 100 or 103 (RFC 9110, section 15.2).
    ///
    /// - Returns: false when the stream is closed or has been answered.
    @discardableResult
    func inform(stream: Int32, status: UInt16, headers: [HTTP2Header] = []) throws(HTTP2Error) -> Bool {
        precondition((100..<200).contains(status), "interim answers are 1xx")
        guard let open = streams[stream], open.response == nil else { return false }
        fill(status: status, headers)
        try check(
            unsafe fields.withFields { fields, count in
                unsafe nghttp2_submit_headers(raw.pointer, 0, stream, nil, fields, count, nil)
            })
        return true
    }

    /// Lets the client send `increment` more bytes on a stream, or on the connection (stream 0), by WINDOW_UPDATE.
    ///
    /// Beside this, windows are refilled as the client's bytes come in.
    func growWindow(stream: Int32 = 0, by increment: Int32) throws(HTTP2Error) {
        try check(unsafe nghttp2_submit_window_update(raw.pointer, 0, stream, increment))
    }
}

extension ErrorCode<HTTP2Error> {
    /// All stream IDs up to 2^31 - 1 are used: a new connection is needed (RFC 9113, section 5.1.1).
    static var streamIDNotAvailable: Self { Self(NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE) }
    /// The peer sent GOAWAY, or the connection is closing: no new requests are accepted.
    static var startStreamNotAllowed: Self { Self(NGHTTP2_ERR_START_STREAM_NOT_ALLOWED) }
    /// The peer requests PING or SETTINGS acknowledgements faster than it reads them.
    static var flooded: Self { Self(NGHTTP2_ERR_FLOODED) }
    /// The header block exceeds nghttp2's limit.
    static var frameSizeError: Self { Self(NGHTTP2_ERR_FRAME_SIZE_ERROR) }
    /// The peer is not an HTTP/2 client.
    static var badClientMagic: Self { Self(NGHTTP2_ERR_BAD_CLIENT_MAGIC) }

    private init(_ error: nghttp2_error) {
        self.init(rawValue: "nghttp2 \(error.rawValue)")
    }
}

import CNghttp2
package import Core
import DequeModule

/// The server side of one HTTP/2 connection, without socket, TLS or clock: bytes in, bytes out.
///
/// It is made for test servers that must be able to misbehave: late SETTINGS, GOAWAY with any number, and responses
/// that never end are calls here. Events are queued during ``receive(_:)`` and ``drain(into:upTo:)``: take them after
/// each of these.
///
/// Source: RFC 9113, implemented by nghttp2.
@safe
package final class HTTP2ServerSession {
    package struct Settings: Sendable {
        /// The initial SETTINGS; the RFC's default applies to one that is missing.
        package var initial: [HTTP2Setting: UInt32] = [.maxConcurrentStreams: 1000, .maxHeaderListSize: 8000]
        /// The number of bytes kept of a request body; the rest is discarded.
        package var maximumRequestBody = 64 * 1024
        /// The maximum size of one request's headers, in bytes, counted as in RFC 9113, section 6.5.2. A larger
        /// request is reset with `INTERNAL_ERROR`.
        package var maximumHeaderList = 64 * 1024

        package init() {}
    }

    package enum Event: Sendable {
        case request(stream: Int32, HTTP2Request)
        /// A stream ended; `NO_ERROR` means in order.
        case closed(stream: Int32, HTTP2ErrorCode)
        case goaway
        /// A PRIORITY frame, which RFC 9113 deprecates (section 5.3.2).
        case priorityFrame(stream: Int32)
        /// A PING from the client; the response is queued.
        case ping
        /// The response to ``RawSession/ping()``.
        case pong
    }

    struct Stream {
        var request = HTTP2Request()
        var headerListSize = 0
        var hasHeaders = false
        var response: HTTP2ServerResponse?
        /// The number of body bytes that nghttp2 has taken.
        var sent = 0
    }

    let settings: Settings
    package let raw: RawSession
    var streams: [Int32: Stream] = [:]
    var events = Deque<Event>()
    /// The fields of the previous request. The next one mostly repeats them, and equal fields share memory.
    var previousHeaders: [HTTP2Header] = []
    var fields = HeaderFields()
    package var openStreams: Int { streams.count }
    /// While true, nothing is sent: neither SETTINGS nor responses.
    package var holdsOutput = false
    var termination: HTTP2Error?
    private var goawaysSubmitted = 0
    /// The `lastStreamID` of the last GOAWAY.
    private var lastStreamAnnounced = Int32.max

    /// The first ``drain(into:upTo:)`` writes SETTINGS.
    package init(settings: Settings = Settings()) throws(HTTP2Error) {
        self.settings = settings
        let setup = RawSession.Setup()
        Self.register(in: setup)
        // A limit of resets per second would require the session to read a clock.
        unsafe nghttp2_option_set_stream_reset_rate_limit(setup.options, .max, .max)
        unsafe nghttp2_option_set_no_closed_streams(setup.options, 1)
        raw = try RawSession(setup, isServer: true)
        // Unretained, because the session must not keep its owner alive. That is safe: nghttp2 calls back only inside
        // calls from this object's methods, and the session is destroyed together with the object.
        unsafe nghttp2_session_set_user_data(raw.pointer, Unmanaged.passUnretained(self).toOpaque())
        try raw.submitSettings(settings.initial)
    }

    // MARK: Bytes

    /// - Throws: when the connection is no longer usable; ``drain(into:upTo:)`` may still have output.
    package func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) {
        try raw.calls.receive(bytes)
    }

    /// Appends the frames that can be sent now, and stops after the first frame that reaches `limit` bytes.
    ///
    /// - Throws: after GOAWAY was appended, when the client violated the protocol.
    package func drain(into output: inout ByteQueue, upTo limit: Int = .max) throws(HTTP2Error) {
        guard !holdsOutput else { return }
        try raw.calls.drain(into: &output, upTo: limit)
        if let termination { throw termination }
    }

    package func nextEvent() -> Event? {
        events.popFirst()
    }

    // MARK: Responses

    /// Responds to a request, complete or not, with any response that HTTP/2 allows.
    ///
    /// - Returns: false when the stream is closed or already has a response.
    @discardableResult
    package func respond(stream: Int32, _ response: HTTP2ServerResponse) throws(HTTP2Error) -> Bool {
        guard let open = streams[stream], open.response == nil else { return false }
        fill(status: response.status, response.headers)
        try check(
            unsafe fields.withFields { fields, count in
                guard !response.body.isEmpty || response.staysOpen else {
                    return unsafe nghttp2_submit_response(raw.pointer, stream, fields, count, nil)
                }
                var provider = unsafe nghttp2_data_provider(
                    source: nghttp2_data_source(), read_callback: Self.readBody)
                return unsafe nghttp2_submit_response(raw.pointer, stream, fields, count, &provider)
            })
        streams[stream]?.response = response
        return true
    }

    /// Resets a stream and drops the unwritten part of its response. To reset a stream in the middle of its response,
    /// call ``drain(into:upTo:)`` in between.
    package func reset(stream: Int32, code: HTTP2ErrorCode) throws(HTTP2Error) {
        try check(unsafe nghttp2_submit_rst_stream(raw.pointer, 0, stream, code.rawValue))
    }

    // MARK: Connection

    /// Sends GOAWAY. Requests above `lastStreamID` are dropped with `REFUSED_STREAM`, later ones ignored.
    ///
    /// `Int32.max` with `NO_ERROR` only gives notice: requests are accepted until a second call gives the actual
    /// number (RFC 9113, section 6.8).
    ///
    /// - Parameters:
    ///   - lastStreamID: the highest stream that was or may be processed; `nil` means the highest received. It is
    ///     never raised above the value of an earlier call.
    ///   - debugData: at most 16,376 bytes.
    package func goaway(
        lastStreamID: Int32? = nil, code: HTTP2ErrorCode = .noError, debugData: [UInt8] = []
    ) throws(HTTP2Error) {
        goawaysSubmitted += 1
        // nghttp2 sends no notice after an actual number.
        if lastStreamID == .max, lastStreamAnnounced == .max, code == .noError, debugData.isEmpty {
            try check(unsafe nghttp2_submit_shutdown_notice(raw.pointer))
        } else {
            // nghttp2 compares with the frames already sent, not with those queued.
            let last = min(lastStreamID ?? self.lastStreamID, lastStreamAnnounced)
            lastStreamAnnounced = last
            try check(
                unsafe debugData.withUnsafeBufferPointer {
                    unsafe nghttp2_submit_goaway(raw.pointer, 0, last, code.rawValue, $0.baseAddress, $0.count)
                })
        }
    }

    /// The used size of the client's header table, in bytes (RFC 7541, section 4.1).
    package var headerTableSize: Int {
        unsafe nghttp2_session_get_hd_inflate_dynamic_table_size(raw.pointer)
    }

    /// The highest stream received.
    package var lastStreamID: Int32 {
        unsafe nghttp2_session_get_last_proc_stream_id(raw.pointer)
    }

    func fill(status: UInt16, _ headers: [HTTP2Header]) {
        precondition((100..<1000).contains(status), "a status has three digits")
        fields.removeAll()
        let zero = UInt8(ascii: "0")
        let digits: [3 of UInt8] = [
            zero + UInt8(status / 100), zero + UInt8(status / 10 % 10), zero + UInt8(status % 10),
        ]
        fields.add(":status", digits.span)
        for header in headers { fields.add(header) }
    }

    /// Records that nghttp2 closed the connection by itself, which it does by sending GOAWAY.
    func goawaySent(code: HTTP2ErrorCode, reason: [UInt8]) {
        guard goawaysSubmitted == 0 else {
            goawaysSubmitted -= 1
            return
        }
        termination = HTTP2Error(terminatedBy: code, reason: String(decoding: reason, as: UTF8.self))
    }
}

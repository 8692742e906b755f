import CNghttp2
package import Core
import DequeModule

/// The server's end of one HTTP/2 connection, without socket, TLS or clock: bytes in, bytes out.
///
/// It is made for servers that must be able to misbehave: what a strict server would never do (late SETTINGS, GOAWAY
/// with any number, responses that never end) is a call here. Events appear during ``receive(_:)`` and
/// ``drain(into:upTo:)``: take them after each of these.
///
/// Source: RFC 9113; the work is nghttp2's.
@safe
package final class HTTP2ServerSession {
    package struct Settings: Sendable {
        /// The SETTINGS that are sent first; `nil` leaves one out, so that the RFC's default holds.
        package var initial = ServerSettings(maxConcurrentStreams: 1000, maxHeaderListSize: 8000)
        /// What the client may send on the whole connection before it must wait for us, in bytes.
        package var connectionWindow: Int32 = 65_535
        /// The most that is kept of a request's body, in bytes; the rest is discarded and flagged.
        package var maximumRequestBody = 64 * 1024
        /// The most that the headers of one request may weigh, in bytes, counted as in RFC 9113, section 6.5.2; a
        /// request with more is reset with `INTERNAL_ERROR`.
        package var maximumHeaderList = 64 * 1024
        /// Whether ``Event/headers(stream:_:)`` announces requests whose body has still to come.
        package var announcesHeaders = false

        package init() {}
    }

    package enum Event: Sendable {
        /// The client's SETTINGS arrived, for the first time or changed.
        case settings
        /// The client acknowledged our SETTINGS.
        case settingsAcknowledged
        /// The headers of a request whose body follows.
        case headers(stream: Int32, HTTP2Request)
        /// A request is complete.
        case request(stream: Int32, HTTP2Request)
        /// A stream ended, in order with `NO_ERROR`.
        case closed(stream: Int32, HTTP2ErrorCode)
        case goaway(code: HTTP2ErrorCode, debugData: [UInt8])
        /// A PRIORITY frame, which RFC 9113 deprecates (section 5.3.2).
        case priorityFrame(stream: Int32)
        /// The client asked; the answer is on its way.
        case ping(UInt64)
        /// The answer to ``ping(_:)``.
        case pong(UInt64)
    }

    /// One request and its response.
    struct Stream {
        var request = HTTP2Request()
        var headerListSize = 0
        var hasHeaders = false
        var response: HTTP2ServerResponse?
        /// How much of the response's body nghttp2 has taken.
        var sent = 0
    }

    let settings: Settings
    let raw: RawSession
    var streams: [Int32: Stream] = [:]
    var events = Deque<Event>()
    var headerBlocks = HeaderBlockReader()
    /// The fields of the request before, which the next one mostly repeats: equal ones share their memory.
    var previousHeaders: [HTTP2Header] = []
    var fields = HeaderFields()
    /// Streams that are not closed.
    package var openStreams: Int { streams.count }
    /// While true, nothing leaves: neither SETTINGS nor responses.
    package var holdsOutput = false
    var termination: HTTP2Error?
    private var goawaysSubmitted = 0
    /// In the last GOAWAY.
    private var lastStreamAnnounced = Int32.max

    /// SETTINGS leave with the first ``drain(into:upTo:)``.
    package init(settings: Settings = Settings()) throws(HTTP2Error) {
        self.settings = settings
        let plan = try RawSession.Plan()
        Self.register(in: plan)
        // A limit of resets per second would make the session read a clock.
        unsafe nghttp2_option_set_stream_reset_rate_limit(plan.options, .max, .max)
        unsafe nghttp2_option_set_no_closed_streams(plan.options, 1)
        raw = try RawSession(server: plan)
        // Unretained, because the session must not keep its owner alive. That is safe: nghttp2 calls back only inside
        // calls that methods of this object make, and the session goes away together with the object.
        unsafe nghttp2_session_set_user_data(raw.pointer, Unmanaged.passUnretained(self).toOpaque())
        try raw.submitSettings(settings.initial.entries)
        try raw.setLocalWindow(settings.connectionWindow)
    }

    // MARK: Bytes

    /// Takes bytes from the client.
    ///
    /// - Throws: when the connection is of no more use; ``drain(into:upTo:)`` may still have last words.
    package func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) {
        headerBlocks.receive(bytes)
        try raw.receive(bytes)
    }

    /// Appends the frames that are to be sent now; stops at the first frame that reaches `limit` bytes.
    ///
    /// - Throws: after GOAWAY has been appended, when the client broke the protocol.
    package func drain(into output: inout ByteQueue, upTo limit: Int = .max) throws(HTTP2Error) {
        guard !holdsOutput else { return }
        try raw.drain(into: &output, upTo: limit)
        if let termination { throw termination }
    }

    package func nextEvent() -> Event? {
        events.popFirst()
    }

    // MARK: Responses

    /// Answers a request, complete or not.
    ///
    /// - Returns: false when the stream is closed or has been answered.
    @discardableResult
    package func respond(
        stream: Int32, status: UInt16, headers: [HTTP2Header] = [], body: [UInt8] = []
    ) throws(HTTP2Error) -> Bool {
        try respond(stream: stream, HTTP2ServerResponse(status: status, headers: headers, body: body))
    }

    /// Answers a request in any shape that HTTP/2 allows.
    ///
    /// - Returns: false when the stream is closed or has been answered.
    @discardableResult
    package func respond(stream: Int32, _ response: HTTP2ServerResponse) throws(HTTP2Error) -> Bool {
        guard let open = streams[stream], open.response == nil else { return false }
        fill(status: response.status, response.headers)
        try check(
            unsafe fields.withFields { fields, count in
                guard response.hasData else {
                    return unsafe nghttp2_submit_response(raw.pointer, stream, fields, count, nil)
                }
                var provider = unsafe nghttp2_data_provider(
                    source: nghttp2_data_source(), read_callback: Self.readBody)
                return unsafe nghttp2_submit_response(raw.pointer, stream, fields, count, &provider)
            })
        streams[stream]?.response = response
        return true
    }

    /// Resets a stream. What ``respond(stream:status:headers:body:)`` was given and ``drain(into:upTo:)`` has not
    /// written yet is dropped: drain in between to reset a stream in the middle of its response.
    package func reset(stream: Int32, code: HTTP2ErrorCode) throws(HTTP2Error) {
        try raw.submitReset(stream: stream, code: code)
    }

    // MARK: Connection

    /// Sends GOAWAY; requests above `lastStreamID` are dropped with `REFUSED_STREAM`, later ones ignored.
    ///
    /// With `Int32.max` and `NO_ERROR` it is a notice only: requests go on until a second call says the real number
    /// (RFC 9113, section 6.8).
    ///
    /// - Parameters:
    ///   - lastStreamID: The highest stream that was or may be worked on; `nil` is the highest that has come. Never
    ///     more than what an earlier call said.
    ///   - debugData: At most 16,376 bytes.
    package func goaway(
        lastStreamID: Int32? = nil, code: HTTP2ErrorCode = .noError, debugData: [UInt8] = []
    ) throws(HTTP2Error) {
        goawaysSubmitted += 1
        if lastStreamID == .max, code == .noError, debugData.isEmpty {
            try check(unsafe nghttp2_submit_shutdown_notice(raw.pointer))
        } else {
            // nghttp2 compares with the frames that have left, and not with those that wait.
            let last = unsafe min(
                lastStreamID ?? nghttp2_session_get_last_proc_stream_id(raw.pointer), lastStreamAnnounced)
            lastStreamAnnounced = last
            try raw.submitGoaway(lastStreamID: last, code: code, debugData: debugData)
        }
    }

    /// Sends SETTINGS; what is `nil` stays as it is.
    package func updateSettings(_ changes: ServerSettings) throws(HTTP2Error) {
        try raw.submitSettings(changes.entries)
    }

    package func ping(_ opaque: UInt64) throws(HTTP2Error) {
        try raw.submitPing(opaque)
    }

    /// How much of the client's header table is in use, in bytes (RFC 7541, section 4.1).
    package var headerTableSize: Int {
        unsafe nghttp2_session_get_hd_inflate_dynamic_table_size(raw.pointer)
    }

    /// The highest stream that has come.
    package var lastStreamID: Int32 {
        unsafe nghttp2_session_get_last_proc_stream_id(raw.pointer)
    }

    /// Whether there is something that can be sent now.
    package var wantsWrite: Bool {
        unsafe !holdsOutput && nghttp2_session_want_write(raw.pointer) != 0
    }

    /// False once nothing can come any more that matters: after GOAWAY, when the last stream has ended.
    package var wantsRead: Bool {
        unsafe nghttp2_session_want_read(raw.pointer) != 0
    }

    // MARK: Helpers

    func fill(status: UInt16, _ headers: [HTTP2Header]) {
        precondition((100..<1000).contains(status), "a status has three digits")
        fields.removeAll()
        let zero = UInt8(ascii: "0")
        let digits: [3 of UInt8] = [
            zero + UInt8(status / 100), zero + UInt8(status / 10 % 10), zero + UInt8(status % 10),
        ]
        fields.add(":status", digits.span, .automatic)
        for header in headers { fields.add(header) }
    }

    /// Sends the fields after the body; nghttp2 keeps the stream open for them.
    func submitTrailers(_ trailers: [HTTP2Header], stream: Int32) -> Int32 {
        fields.removeAll()
        for header in trailers { fields.add(header) }
        return unsafe fields.withFields { fields, count in
            unsafe nghttp2_submit_trailer(raw.pointer, stream, fields, count)
        }
    }

    /// Remembers that nghttp2 closed the connection by itself; it never asks, it only sends GOAWAY.
    func goawaySent(code: HTTP2ErrorCode, reason: [UInt8]) {
        guard goawaysSubmitted == 0 else {
            goawaysSubmitted -= 1
            return
        }
        termination = HTTP2Error(terminatedBy: code, reason: String(decoding: reason, as: UTF8.self))
    }
}

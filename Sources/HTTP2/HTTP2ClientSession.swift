import CNghttp2
package import Core
import DequeModule

/// The client's end of one HTTP/2 connection, without socket, TLS or clock: bytes in, bytes out.
///
/// Every request that ``submit(body:handle:)`` took ends in exactly one event, ``Event/response(handle:_:)`` or
/// ``Event/reset(handle:_:begun:)``, at the latest by ``abandon(code:)``. Events appear during ``receive(_:)``,
/// ``drain(into:upTo:)``, ``cancel(stream:code:)`` and ``abandon(code:)``: take them after each of these.
///
/// When GOAWAY arrives, its event comes first; the resets of the streams that the peer refuses by it follow with
/// `REFUSED_STREAM`, in no particular order. A request that nghttp2 has not written yet counts among them.
///
/// Source: RFC 9113; the work is nghttp2's.
@safe
package final class HTTP2ClientSession {
    package struct Settings: Sendable {
        /// The most that is kept of a response's body, in bytes; the rest is discarded and flagged.
        package var maximumResponseBody = 16 * 1024
        /// The most that is discarded of a body, in bytes, before the stream is reset with `ENHANCE_YOUR_CALM`.
        package var maximumDiscardedBody = 1024 * 1024
        /// The most that the wanted headers of one response may weigh, in bytes, counted as in RFC 9113, section 6.5.2;
        /// a response with more is reset. The peer is told.
        package var maximumHeaderList: UInt32 = 16 * 1024
        /// What the peer may send on the whole connection before it must wait for us, in bytes.
        package var connectionWindow: Int32 = 1 << 20
        /// The same for one stream.
        package var initialWindow: UInt32 = 65_535
        /// The response header fields to keep, in lower case.
        package var wantedHeaders: [String] = []
        /// Where the numbering of streams starts: odd, and a way to see in a test how it ends.
        package var firstStreamID: Int32 = 1

        package init() {}
    }

    /// What HPACK does with a field. Source: RFC 7541; nghttp2's `lib/nghttp2_hd.c`.
    package enum Indexing: Sendable {
        /// Into the table, or a reference to it (sections 6.1 and 6.2.1). nghttp2 makes two exceptions: `:path` stays
        /// out of the table (section 6.2.2), `authorization` out of the tables of intermediaries as well (section
        /// 6.2.3).
        case automatic
        /// A literal that stays out of the tables of intermediaries as well (section 6.2.3).
        case never
    }

    package enum Event: Sendable {
        /// The peer's SETTINGS arrived, for the first time or changed.
        case settings
        /// The stream ended in order.
        case response(handle: Handle, HTTP2Response)
        /// The stream was closed, by either end, without a complete response; `begun` is what had arrived of one whose
        /// final headers had.
        case reset(handle: Handle, HTTP2ErrorCode, begun: HTTP2Response?)
        /// The peer takes no new requests, and did not work on streams above `lastStreamID`. May come more than once,
        /// each time with a lower number (RFC 9113, section 6.8). At most 4 KiB of debug data.
        case goaway(lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8])
        /// The answer to ``ping(_:)``.
        case pong(UInt64)
    }

    /// One request on its way.
    struct Stream {
        var handle: Handle
        var requestBody: ArraySlice<UInt8>
        /// How much of the request's body nghttp2 has taken.
        var sent = 0
        var status: UInt16 = 0
        /// The final header block is complete: what still comes are trailers.
        var hasFinalHeaders = false
        /// END_STREAM has come.
        var isComplete = false
        /// The owner has been told the end; nghttp2 has not closed the stream yet.
        var isReported = false
        var headerSize = 0
        var headers: [HTTP2Header] = []
        var body: [UInt8] = []
        var discarded = 0
    }

    let settings: Settings
    let wantedHeaders: [[UInt8]]
    let raw: RawSession
    /// By identifier; those that nghttp2 has not written yet as well.
    var streams: [Int32: Stream] = [:]
    var events = Deque<Event>()
    /// Of the request that is being built.
    var fields = HeaderFields()
    /// Requests without an end yet.
    package internal(set) var openStreams = 0
    /// Whether the peer's SETTINGS have arrived.
    package internal(set) var settingsReceived = false
    /// Whether the peer said that it takes no more requests.
    package internal(set) var goawayReceived = false
    var termination: HTTP2Error?
    private var isTerminated = false

    /// The connection preface and SETTINGS leave with the first ``drain(into:upTo:)``.
    package init(settings: Settings = Settings()) throws(HTTP2Error) {
        self.settings = settings
        wantedHeaders = settings.wantedHeaders.map { Array($0.utf8) }
        let plan = try RawSession.Plan()
        Self.register(in: plan)
        // Until SETTINGS come there is no limit (RFC 9113, section 6.5.2); it is the owner that holds back until then.
        unsafe nghttp2_option_set_peer_max_concurrent_streams(plan.options, .max)
        raw = try RawSession(client: plan)
        // Unretained, because the session must not keep its owner alive. That is safe: nghttp2 calls back only inside
        // calls that methods of this object make, and the session goes away together with the object.
        unsafe nghttp2_session_set_user_data(raw.pointer, Unmanaged.passUnretained(self).toOpaque())
        if settings.firstStreamID != 1 {
            try check(unsafe nghttp2_session_set_next_stream_id(raw.pointer, settings.firstStreamID))
        }
        try raw.submitSettings([
            (NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.initialWindow),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings.maximumHeaderList),
        ])
        try raw.setLocalWindow(settings.connectionWindow)
    }

    // MARK: Bytes

    /// Takes bytes from the peer.
    ///
    /// - Throws: when the connection is of no more use: ``abandon(code:)``, then ``terminate()``, and let
    ///   ``drain(into:upTo:)`` write the last words.
    package func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) {
        try raw.receive(bytes)
    }

    /// Appends the frames that are to be sent now; stops at the first frame that reaches `limit` bytes.
    ///
    /// - Throws: after GOAWAY has been appended, when the peer broke the protocol.
    package func drain(into output: inout ByteQueue, upTo limit: Int = .max) throws(HTTP2Error) {
        try raw.drain(into: &output, upTo: limit)
        if let termination { throw termination }
    }

    // MARK: Requests

    /// Sends the header fields that were added, and the body as the peer's windows allow.
    ///
    /// Beyond ``remoteMaxConcurrentStreams`` a request waits inside the session, unwritten.
    ///
    /// - Parameters:
    ///   - body: Kept until the stream closes; `nil` when HEADERS end the request.
    ///   - handle: The caller's own word for the request, given back in its event.
    /// - Returns: The stream's identifier.
    /// - Throws: `streamIDNotAvailable`, `startStreamNotAllowed` and `frameSizeError`; the connection itself is
    ///   unharmed.
    package func submit(body: ArraySlice<UInt8>?, handle: Handle) throws(HTTP2Error) -> Int32 {
        guard !goawayReceived, termination == nil else {
            throw HTTP2Error(library: Int32(NGHTTP2_ERR_START_STREAM_NOT_ALLOWED.rawValue))
        }
        guard fields.size <= Self.maximumHeaderList else {
            throw HTTP2Error(library: Int32(NGHTTP2_ERR_FRAME_SIZE_ERROR.rawValue))
        }
        let id = submitFields(hasBody: body != nil)
        guard id >= 0 else { throw HTTP2Error(library: id) }
        streams[id] = Stream(handle: handle, requestBody: body ?? [])
        openStreams += 1
        return id
    }

    /// nghttp2 asks for the body when it writes, and not before.
    private func submitFields(hasBody: Bool) -> Int32 {
        unsafe fields.withFields { fields, count in
            guard hasBody else { return unsafe nghttp2_submit_request(raw.pointer, nil, fields, count, nil, nil) }
            var provider = unsafe nghttp2_data_provider(source: nghttp2_data_source(), read_callback: Self.readBody)
            return unsafe nghttp2_submit_request(raw.pointer, nil, fields, count, &provider, nil)
        }
    }

    /// Ends a stream by RST_STREAM; its reset event is there at once. Nothing happens if it has ended already.
    package func cancel(stream id: Int32, code: HTTP2ErrorCode = .cancel) throws(HTTP2Error) {
        guard isOpen(id) else { return }
        try raw.submitReset(stream: id, code: code)
        report(id, resetBy: code)
    }

    /// Ends every request that has no end yet: the connection is lost.
    ///
    /// Requests that nghttp2 never wrote end with `REFUSED_STREAM`, for the peer cannot have worked on them; the others
    /// with `code`. Afterwards only ``terminate()`` and ``drain(into:upTo:)`` are of use.
    package func abandon(code: HTTP2ErrorCode) {
        goawayReceived = true
        for id in streams.keys.sorted() { report(id, resetBy: isWritten(id) ? code : .refusedStream) }
    }

    // MARK: Connection

    package func ping(_ opaque: UInt64) throws(HTTP2Error) {
        try raw.submitPing(opaque)
    }

    /// Tells the peer that this is the end. Nothing follows that GOAWAY, neither what is left of bodies nor requests
    /// that are not written yet; nor do resets and acknowledgements that wait.
    package func terminate() throws(HTTP2Error) {
        isTerminated = true
        try raw.terminate()
    }

    package func nextEvent() -> Event? {
        events.popFirst()
    }

    /// How many streams the peer allows at once, as it last said; `.max` until it has.
    package var remoteMaxConcurrentStreams: UInt32 {
        unsafe nghttp2_session_get_remote_settings(raw.pointer, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    }

    /// How many bytes of bodies the peer takes on the whole connection at the moment.
    package var remoteConnectionWindow: Int {
        Int(unsafe nghttp2_session_get_remote_window_size(raw.pointer))
    }

    /// Whether there is something that can be sent now; true also while nghttp2 only has to finish with the last frame.
    package var wantsWrite: Bool {
        unsafe nghttp2_session_want_write(raw.pointer) != 0
    }

    /// False once nothing can come any more that matters: after GOAWAY, when the last stream has ended.
    package var wantsRead: Bool {
        unsafe nghttp2_session_want_read(raw.pointer) != 0
    }

    /// How many requests the stream identifiers still last for; with none a new connection is needed (RFC 9113,
    /// section 5.1.1).
    package var remainingStreamIDs: Int {
        let next = unsafe Int(nghttp2_session_get_next_stream_id(raw.pointer))
        return next > Int(Int32.max) ? 0 : (Int(Int32.max) - next) / 2 + 1
    }

    // MARK: The end of a request

    /// Tells the owner that a stream ended without a response; nghttp2 may close it later.
    func report(_ id: Int32, resetBy code: HTTP2ErrorCode) {
        let event = withStream(id) { stream -> Event? in
            guard !stream.isReported else { return nil }
            let event = stream.resetEvent(code)
            stream.isReported = true
            stream.headers = []
            stream.body = []
            return event
        }
        guard let event = event ?? nil else { return }
        openStreams -= 1
        events.append(event)
    }

    /// Changes a stream in place; `nil` where there is none.
    func withStream<Result>(_ id: Int32, _ body: (inout Stream) -> Result) -> Result? {
        guard let index = streams.index(forKey: id) else { return nil }
        return body(&streams.values[index])
    }

    /// Whether a request has no end yet.
    package func isOpen(_ id: Int32) -> Bool {
        streams[id].map { !$0.isReported } ?? false
    }

    /// Whether nghttp2 has written the stream's HEADERS: it opens a stream only then.
    package func isWritten(_ id: Int32) -> Bool {
        unsafe nghttp2_session_find_stream(raw.pointer, id) != nil
    }

    /// Remembers that nghttp2 closed the connection by itself; it never asks, it only sends GOAWAY.
    func goawaySent(code: HTTP2ErrorCode, reason: [UInt8]) {
        guard !isTerminated else { return }
        termination = HTTP2Error(terminatedBy: code, reason: String(decoding: reason, as: UTF8.self))
    }
}

extension HTTP2ClientSession.Stream {
    func resetEvent(_ code: HTTP2ErrorCode) -> HTTP2ClientSession.Event {
        .reset(handle: handle, code, begun: hasFinalHeaders ? response : nil)
    }

    /// The part of the response that has arrived.
    var response: HTTP2Response {
        HTTP2Response(status: status, headers: headers, body: body, bodyTruncated: discarded > 0)
    }
}

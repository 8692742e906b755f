import CNghttp2
package import Core
import DequeModule

/// The client side of one HTTP/2 connection, without socket, TLS or clock: bytes in, bytes out.
///
/// Every request accepted by ``submit(body:handle:)`` ends in exactly one event: ``Event/response(handle:_:)`` or
/// ``Event/reset(handle:_:begun:)``, at the latest in ``abandon(code:)``. Events are queued during ``receive(_:)``,
/// ``drain(into:upTo:)``, ``cancel(stream:code:)`` and ``abandon(code:)``: take them after each of these.
///
/// A GOAWAY's event comes first. The streams that it refuses are then reset with `REFUSED_STREAM`, in no particular
/// order. They include requests that nghttp2 has not written yet.
///
/// A value with one owner, so that the compiler proves that no two calls overlap. nghttp2 knows it during a call only.
///
/// Source: RFC 9113, implemented by nghttp2.
@safe
package struct HTTP2ClientSession: ~Copyable {
    package struct Settings: Sendable {
        /// The number of bytes kept of a response body; the rest is discarded and flagged.
        package var maximumResponseBody = 16 * 1024
        /// The number of bytes discarded of a body before the stream is reset with `ENHANCE_YOUR_CALM`.
        package var maximumDiscardedBody = 1024 * 1024
        /// The maximum size of the wanted headers of one response, in bytes, counted as in RFC 9113, section 6.5.2. A
        /// larger response is reset. The limit is sent to the peer.
        package var maximumHeaderList: UInt32 = 16 * 1024
        /// The flow-control window of the connection, in bytes.
        package var connectionWindow: Int32 = 1 << 20
        /// The flow-control window of a stream, in bytes.
        package var initialWindow: UInt32 = 65_535
        /// The response header fields to keep, in lower case.
        package var wantedHeaders: [String] = []
        /// The first stream ID, an odd number. Tests use it to exhaust stream IDs.
        package var firstStreamID: Int32 = 1

        package init() {}
    }

    package enum Event: Sendable {
        /// The peer's SETTINGS arrived or changed.
        case settings
        /// The stream ended with a complete response.
        case response(handle: Handle, HTTP2Response)
        /// Either side closed the stream without a complete response. `begun` is the received part, if its final
        /// headers had arrived.
        case reset(handle: Handle, HTTP2ErrorCode, begun: HTTP2Response?)
        /// The peer accepts no new requests, and did not process streams above `lastStreamID`. It may occur more than
        /// once, each time with a lower number (RFC 9113, section 6.8). Contains at most 4 KiB of debug data.
        case goaway(lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8])
    }

    struct Stream {
        var handle: Handle
        var requestBody: ArraySlice<UInt8>
        /// The number of body bytes that nghttp2 has taken.
        var sent = 0
        var status: UInt16 = 0
        /// The final header block is complete: any further fields are trailers.
        var hasFinalHeaders = false
        /// END_STREAM has arrived.
        var isComplete = false
        /// The end was reported to the owner, but nghttp2 has not closed the stream yet.
        var isReported = false
        var headerSize = 0
        var headers: [HTTP2Header] = []
        var body: [UInt8] = []
        var discarded = 0
    }

    let settings: Settings
    let wantedHeaders: [[UInt8]]
    /// Has the peer's limits and PING, because Swift 6.3.1 would copy the whole session to ask it.
    package let raw: RawSession
    /// Including those that nghttp2 has not written yet.
    var streams = StreamTable()
    var events = UniqueDeque<Event>()
    /// The fields of the request being built.
    package var fields = HeaderFields()
    /// Requests without an event yet.
    package internal(set) var openStreams = 0
    package internal(set) var acceptsNoRequests = false
    var termination: HTTP2Error?
    private var isTerminated = false
    /// The maximum size of a request's fields, in bytes, counted as in RFC 9113, section 6.5.2, which exceeds their
    /// encoded size. One frame of the smallest SETTINGS_MAX_FRAME_SIZE, 16,384 bytes, holds them and preceding table
    /// size updates, so that CONTINUATION is never needed.
    private static let maximumRequestFields = 16_000

    /// The first ``drain(into:upTo:)`` writes the connection preface and SETTINGS.
    package init(settings: Settings = Settings()) throws(HTTP2Error) {
        let setup = RawSession.Setup()
        Self.register(in: setup)
        // Without SETTINGS there is no limit (RFC 9113, section 6.5.2); the owner waits for them.
        unsafe nghttp2_option_set_peer_max_concurrent_streams(setup.options, .max)
        let raw = try RawSession(setup, isServer: false)
        if settings.firstStreamID != 1 {
            try check(unsafe nghttp2_session_set_next_stream_id(raw.pointer, settings.firstStreamID))
        }
        try raw.submitSettings([
            .enablePush: 0, .initialWindow: settings.initialWindow, .maxHeaderListSize: settings.maximumHeaderList,
        ])
        try check(unsafe nghttp2_session_set_local_window_size(raw.pointer, 0, 0, settings.connectionWindow))
        self.raw = raw
        self.settings = settings
        wantedHeaders = settings.wantedHeaders.map { Array($0.utf8) }
    }

    // MARK: Bytes

    /// - Throws: when the connection is no longer usable. Call ``abandon(code:)``, then ``terminate()``, and send the
    ///   output of ``drain(into:upTo:)``.
    package mutating func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) {
        try withCallbacks { raw throws(HTTP2Error) in try raw.receive(bytes) }
    }

    /// Appends the frames that can be sent now, and stops after the first frame that reaches `limit` bytes.
    ///
    /// - Throws: after GOAWAY was appended, when the peer violated the protocol.
    package mutating func drain(into output: inout ByteQueue, upTo limit: Int = .max) throws(HTTP2Error) {
        try withCallbacks { raw throws(HTTP2Error) in try raw.drain(into: &output, upTo: limit) }
        if let termination { throw termination }
    }

    /// Lets nghttp2 call back into this value, until `body` returns.
    private mutating func withCallbacks(
        _ body: (borrowing RawSession.Calls) throws(HTTP2Error) -> Void
    ) throws(HTTP2Error) {
        let calls = raw.calls
        try unsafe withUnsafeMutablePointer(to: &self) { (session) throws(HTTP2Error) in
            unsafe nghttp2_session_set_user_data(calls.pointer, session)
            defer { unsafe nghttp2_session_set_user_data(calls.pointer, nil) }
            try body(calls)
        }
    }

    // MARK: Requests

    /// Sends the added header fields, and the body as the peer's windows allow.
    ///
    /// Beyond ``RawSession/remoteMaxConcurrentStreams`` a request waits unwritten in the session.
    ///
    /// - Parameters:
    ///   - body: kept until the stream closes; `nil` when HEADERS end the request.
    ///   - handle: the caller's name for the request, returned in its event.
    /// - Returns: The stream's ID.
    /// - Throws: `streamIDNotAvailable`, `startStreamNotAllowed` and `frameSizeError`; the connection remains usable.
    package mutating func submit(body: ArraySlice<UInt8>?, handle: Handle) throws(HTTP2Error) -> Int32 {
        guard !acceptsNoRequests, termination == nil else {
            throw HTTP2Error(library: Int32(NGHTTP2_ERR_START_STREAM_NOT_ALLOWED.rawValue))
        }
        guard fields.size <= Self.maximumRequestFields else {
            throw HTTP2Error(library: Int32(NGHTTP2_ERR_FRAME_SIZE_ERROR.rawValue))
        }
        let id = submitFields(hasBody: body != nil)
        guard id >= 0 else { throw HTTP2Error(library: id) }
        streams.insert(Stream(handle: handle, requestBody: body ?? []), at: id)
        openStreams += 1
        return id
    }

    /// nghttp2 reads the body only when it writes.
    private mutating func submitFields(hasBody: Bool) -> Int32 {
        unsafe fields.withFields { fields, count in
            guard hasBody else { return unsafe nghttp2_submit_request(raw.pointer, nil, fields, count, nil, nil) }
            var provider = unsafe nghttp2_data_provider(source: nghttp2_data_source(), read_callback: Self.readBody)
            return unsafe nghttp2_submit_request(raw.pointer, nil, fields, count, &provider, nil)
        }
    }

    /// Ends a stream with RST_STREAM; its reset event is queued immediately. Does nothing if it has already ended.
    package mutating func cancel(stream id: Int32, code: HTTP2ErrorCode = .cancel) {
        guard isOpen(id) else { return }
        reset(id, code: code)
        report(id, resetBy: code)
    }

    /// Ends every open request: the connection is lost.
    ///
    /// Requests that nghttp2 has not written end with `REFUSED_STREAM`, because the peer cannot have processed them.
    /// The others end with `code`. Afterwards only ``terminate()`` and ``drain(into:upTo:)`` may be called.
    package mutating func abandon(code: HTTP2ErrorCode) {
        acceptsNoRequests = true
        for id in streams.ids { report(id, resetBy: isWritten(id) ? code : .refusedStream) }
    }

    // MARK: Connection

    /// Sends a final GOAWAY. Nothing follows it: remaining bodies, unwritten requests, resets and acknowledgements are
    /// dropped.
    package mutating func terminate() throws(HTTP2Error) {
        isTerminated = true
        try check(unsafe nghttp2_session_terminate_session(raw.pointer, NGHTTP2_NO_ERROR.rawValue))
    }

    package mutating func nextEvent() -> Event? {
        events.popFirst()
    }

    // MARK: Ending requests

    /// Reports that a stream ended; nghttp2 may close it later. The code is `nil` if its response is complete.
    mutating func report(_ id: Int32, resetBy code: HTTP2ErrorCode?) {
        let event = streams.update(id) { stream -> Event? in
            guard !stream.isReported else { return nil }
            let event = stream.end(resetBy: code)
            stream.isReported = true
            return event
        }
        guard let event = event ?? nil else { return }
        openStreams -= 1
        events.append(event)
    }

    /// Mutating, so that Swift 6.3.1 does not copy the whole session for the call.
    package mutating func isOpen(_ id: Int32) -> Bool {
        streams.contains(id) { !$0.isReported }
    }

    /// Whether nghttp2 has written the stream's HEADERS, which opens the stream.
    package func isWritten(_ id: Int32) -> Bool {
        unsafe nghttp2_session_find_stream(raw.pointer, id) != nil
    }

    /// Records that nghttp2 closed the connection by itself, which it does by sending GOAWAY.
    mutating func goawaySent(code: HTTP2ErrorCode, reason: [UInt8]) {
        guard !isTerminated else { return }
        termination = HTTP2Error(terminatedBy: code, reason: String(decoding: reason, as: UTF8.self))
    }
}

extension HTTP2ClientSession.Stream {
    /// - Parameter code: `nil` if the response is complete.
    func end(resetBy code: HTTP2ErrorCode?) -> HTTP2ClientSession.Event {
        guard let code else { return .response(handle: handle, response) }
        return .reset(handle: handle, code, begun: hasFinalHeaders ? response : nil)
    }

    var response: HTTP2Response {
        HTTP2Response(status: status, headers: headers, body: body, bodyTruncated: discarded > 0)
    }
}

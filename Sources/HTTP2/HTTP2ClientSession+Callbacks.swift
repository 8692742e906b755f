import CNghttp2
import Core
import DequeModule

/// A callback finds its session in the user data. Callbacks do not call nghttp2 functions that could call back.
extension HTTP2ClientSession {
    static func register(in setup: borrowing RawSession.Setup) {
        unsafe nghttp2_session_callbacks_set_on_header_callback(setup.callbacks) {
            _, frame, name, nameLength, value, valueLength, _, session in
            unsafe HTTP2ClientSession.of(session).pointee.headerReceived(
                stream: frame!.pointee.hd.stream_id,
                name: UnsafeBufferPointer(start: name, count: nameLength),
                value: UnsafeBufferPointer(start: value, count: valueLength))
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(setup.callbacks) {
            _, _, stream, bytes, count, session in
            unsafe HTTP2ClientSession.of(session).pointee.bodyReceived(
                stream: stream, UnsafeBufferPointer(start: bytes, count: count))
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(setup.callbacks) { _, frame, session in
            unsafe HTTP2ClientSession.of(session).pointee.frameReceived(frame!)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(setup.callbacks) { _, stream, code, session in
            unsafe HTTP2ClientSession.of(session).pointee.streamClosed(stream, code: HTTP2ErrorCode(rawValue: code))
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(setup.callbacks) { _, frame, session in
            if unsafe frame!.pointee.hd.isOf(NGHTTP2_GOAWAY) {
                let goaway = unsafe frame!.pointee.goaway
                unsafe HTTP2ClientSession.of(session).pointee.goawaySent(
                    code: HTTP2ErrorCode(rawValue: goaway.error_code), reason: goaway.debugData)
            }
            return 0
        }
    }

    private static func of(_ userData: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<HTTP2ClientSession> {
        unsafe userData!.assumingMemoryBound(to: HTTP2ClientSession.self)
    }

    /// Provides the next part of a request's body, limited by frame size and windows. Waiting until the rest fits
    /// would block forever with a small window.
    static var readBody: nghttp2_data_source_read_callback {
        { _, id, buffer, room, flags, _, session in
            let part = unsafe HTTP2ClientSession.of(session).pointee.streams.update(id) { stream in
                let rest = stream.requestBody.dropFirst(stream.sent).prefix(room)
                unsafe rest.withUnsafeBufferPointer { bytes in
                    if let base = bytes.baseAddress { unsafe buffer!.update(from: base, count: bytes.count) }
                }
                stream.sent += rest.count
                return (count: rest.count, isLast: stream.sent == stream.requestBody.count)
            }
            guard let part else { preconditionFailure("nghttp2 asks for the body of an open stream") }
            if part.isLast { unsafe flags!.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
            return part.count
        }
    }

    private mutating func headerReceived(
        stream id: Int32, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    )
        -> Int32
    {
        if unsafe name.count == 7 && name[0] == UInt8(ascii: ":") {
            // Only `:status` is left: three digits, as nghttp2 has checked. No wanted header begins with a colon.
            let status = unsafe value.reduce(0) { $0 * 10 + UInt16($1 &- UInt8(ascii: "0")) }
            _ = streams.update(id) { $0.status = status }
        }
        guard let wanted = wantedHeaders.first(where: { unsafe $0.isEqual(to: name) }) else { return 0 }
        let limit = Int(settings.maximumHeaderList)
        let fits = streams.update(id) { stream in
            if stream.status < 200 || stream.hasFinalHeaders { return true }
            stream.headerSize += name.count + value.count + HeaderFields.overhead
            if stream.headerSize > limit { return false }
            stream.headers.append(HTTP2Header(name: wanted, value: unsafe Array(value)))
            return true
        }
        return fits ?? true ? 0 : Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }

    private mutating func bodyReceived(stream id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        let limit = settings.maximumResponseBody
        let discarded = streams.update(id) { stream in
            let kept = stream.isReported ? 0 : min(bytes.count, limit - stream.body.count)
            unsafe stream.body.append(contentsOf: bytes.prefix(kept))
            stream.discarded += bytes.count - kept
            return stream.discarded
        }
        if let discarded, discarded > settings.maximumDiscardedBody { reset(id, code: .enhanceYourCalm) }
    }

    private mutating func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = unsafe frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            messageReceived(header)
        case NGHTTP2_SETTINGS.rawValue where !header.has(NGHTTP2_FLAG_ACK):
            events.append(.settings)
        case NGHTTP2_GOAWAY.rawValue:
            unsafe goawayReceived(frame.pointee.goaway)
        default:
            break
        }
    }

    private mutating func messageReceived(_ header: nghttp2_frame_hd) {
        let isEnd = header.has(NGHTTP2_FLAG_END_STREAM)
        let isHeaders = header.isOf(NGHTTP2_HEADERS)
        guard isEnd || isHeaders else { return }
        let isEarly = streams.update(header.stream_id) { stream in
            if isHeaders, stream.status >= 200 { stream.hasFinalHeaders = true }
            if isEnd { stream.isComplete = true }
            return stream.isComplete && !stream.isReported && stream.sent < stream.requestBody.count
        }
        if isEarly == true {
            // The peer has answered without waiting for the complete body and may never read the rest. The response is
            // valid (RFC 9113, section 8.1), and the rest of the body is not needed.
            reset(header.stream_id, code: .noError)
            report(header.stream_id, resetBy: nil)
        }
    }

    /// nghttp2 closes the refused streams that it has written once this returns. Unwritten streams would stay in its
    /// queue while the peer's stream limit blocks them, so they are ended here.
    private mutating func goawayReceived(_ frame: nghttp2_goaway) {
        acceptsNoRequests = true
        unsafe events.append(
            .goaway(
                lastStreamID: frame.last_stream_id, code: HTTP2ErrorCode(rawValue: frame.error_code),
                debugData: frame.debugData))
        for id in streams.ids where !isWritten(id) { report(id, resetBy: .refusedStream) }
    }

    private mutating func streamClosed(_ id: Int32, code: HTTP2ErrorCode) {
        guard let stream = streams.remove(id), !stream.isReported else { return }
        openStreams -= 1
        // RST_STREAM after a complete response does not invalidate it (RFC 9113, section 8.1).
        events.append(stream.end(resetBy: stream.isComplete ? nil : code))
    }

    /// nghttp2 fails here only when out of memory.
    func reset(_ id: Int32, code: HTTP2ErrorCode) {
        precondition(unsafe nghttp2_submit_rst_stream(raw.pointer, 0, id, code.rawValue) == 0, "out of memory")
    }
}

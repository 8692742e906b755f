import CNghttp2
import Core

/// A callback finds its session in the user data.
extension HTTP2ServerSession {
    static func register(in setup: borrowing RawSession.Setup) {
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(setup.callbacks) { _, frame, session in
            let isRequest = unsafe frame!.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
            if isRequest { unsafe HTTP2ServerSession.of(session).streamOpened(frame!.pointee.hd.stream_id) }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_header_callback(setup.callbacks) {
            _, frame, name, nameLength, value, valueLength, _, session in
            unsafe HTTP2ServerSession.of(session).headerReceived(
                stream: frame!.pointee.hd.stream_id,
                name: UnsafeBufferPointer(start: name, count: nameLength),
                value: UnsafeBufferPointer(start: value, count: valueLength))
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(setup.callbacks) {
            _, _, stream, bytes, count, session in
            unsafe HTTP2ServerSession.of(session).bodyReceived(
                stream: stream, UnsafeBufferPointer(start: bytes, count: count))
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(setup.callbacks) { _, frame, session in
            unsafe HTTP2ServerSession.of(session).frameReceived(frame!)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(setup.callbacks) { _, stream, code, session in
            unsafe HTTP2ServerSession.of(session).streamClosed(stream, code: HTTP2ErrorCode(rawValue: code))
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(setup.callbacks) { _, frame, session in
            if unsafe frame!.pointee.hd.isOf(NGHTTP2_GOAWAY) {
                let goaway = unsafe frame!.pointee.goaway
                unsafe HTTP2ServerSession.of(session).goawaySent(
                    code: HTTP2ErrorCode(rawValue: goaway.error_code), reason: goaway.debugData)
            }
            return 0
        }
    }

    private static func of(_ userData: UnsafeMutableRawPointer?) -> HTTP2ServerSession {
        unsafe Unmanaged<HTTP2ServerSession>.fromOpaque(userData!).takeUnretainedValue()
    }

    /// Provides the next part of a response's body.
    static var readBody: nghttp2_data_source_read_callback {
        { _, id, buffer, room, flags, _, session in
            let part = unsafe HTTP2ServerSession.of(session).withStream(id) {
                unsafe $0.takeBody(into: UnsafeMutableBufferPointer(start: buffer, count: room))
            }
            guard let (count, isLast) = part else { preconditionFailure("nghttp2 asks for the body of an open stream") }
            guard isLast else { return count == 0 ? Int(NGHTTP2_ERR_DEFERRED.rawValue) : count }
            unsafe flags!.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue)
            return count
        }
    }

    private func streamOpened(_ id: Int32) {
        var stream = Stream()
        stream.request.headers.reserveCapacity(previousHeaders.count)
        streams[id] = stream
    }

    /// Changes a stream in place; `nil` if it does not exist.
    private func withStream<Result>(_ id: Int32, _ body: (inout Stream) -> Result) -> Result? {
        guard let index = streams.index(forKey: id) else { return nil }
        return body(&streams.values[index])
    }

    private func headerReceived(
        stream id: Int32, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    ) -> Int32 {
        let limit = settings.maximumHeaderList
        let fits = withStream(id) { stream in
            // Trailers are of no use.
            if stream.hasHeaders { return true }
            stream.headerListSize += name.count + value.count + HeaderFields.overhead
            if stream.headerListSize > limit { return false }
            unsafe stream.request.headers.append(shared(at: stream.request.headers.count, name: name, value: value))
            return true
        }
        return fits ?? true ? 0 : Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }

    /// A field that shares its name, and an equal value, with the same field of the previous request.
    private func shared(
        at index: Int, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    ) -> HTTP2Header {
        guard index < previousHeaders.count, unsafe previousHeaders[index].name.isEqual(to: name) else {
            return unsafe HTTP2Header(name: Array(name), value: Array(value))
        }
        let previous = previousHeaders[index]
        if unsafe previous.value.isEqual(to: value) { return previous }
        return unsafe HTTP2Header(name: previous.name, value: Array(value))
    }

    private func bodyReceived(stream id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        let limit = settings.maximumRequestBody
        _ = withStream(id) { stream in
            let kept = min(bytes.count, limit - stream.request.body.count)
            unsafe stream.request.body.append(contentsOf: bytes.prefix(kept))
        }
    }

    private func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = unsafe frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            let padding = unsafe header.isOf(NGHTTP2_HEADERS) ? frame.pointee.headers.padlen : 0
            messageReceived(header, padding: padding)
        case NGHTTP2_PING.rawValue:
            events.append(header.has(NGHTTP2_FLAG_ACK) ? .pong : .ping)
        case NGHTTP2_GOAWAY.rawValue:
            events.append(.goaway)
        case NGHTTP2_PRIORITY.rawValue:
            events.append(.priorityFrame(stream: header.stream_id))
        default:
            break
        }
    }

    private func messageReceived(_ header: nghttp2_frame_hd, padding: Int) {
        let isEnd = header.has(NGHTTP2_FLAG_END_STREAM)
        if header.isOf(NGHTTP2_HEADERS) {
            let hasPriority = header.has(NGHTTP2_FLAG_PRIORITY)
            let first = withStream(header.stream_id) { stream -> [HTTP2Header]? in
                guard !stream.hasHeaders else { return nil }
                stream.hasHeaders = true
                stream.request.hasPriority = hasPriority
                stream.request.headerBlockLength = header.length - padding - (hasPriority ? 5 : 0)
                return stream.request.headers
            }
            if let first = first ?? nil { previousHeaders = first }
        }
        guard isEnd else { return }
        let request = withStream(header.stream_id) { stream in
            let request = stream.request
            stream.request = HTTP2Request()
            return request
        }
        if let request { events.append(.request(stream: header.stream_id, request)) }
    }

    private func streamClosed(_ id: Int32, code: HTTP2ErrorCode) {
        guard streams.removeValue(forKey: id) != nil else { return }
        events.append(.closed(stream: id, code))
    }
}

extension HTTP2ServerSession.Stream {
    /// Copies the next part of the body. `isLast` is true for the last part.
    mutating func takeBody(into buffer: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool) {
        guard let response else { preconditionFailure("nghttp2 asks for the body of a response that was given") }
        let count = min(buffer.count, response.largestFrame, response.body.count - sent)
        unsafe response.body.withUnsafeBufferPointer { bytes in
            if count > 0 { unsafe buffer.baseAddress!.update(from: bytes.baseAddress! + sent, count: count) }
        }
        sent += count
        return (count, !response.staysOpen && sent == response.body.count)
    }
}

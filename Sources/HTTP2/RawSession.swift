import CNghttp2
package import Core

/// An nghttp2 session: the common part of client and server.
///
/// nghttp2 calls back only inside calls made here, and `nghttp2_session_del` does not call back.
@safe
package struct RawSession: ~Copyable {
    /// nghttp2's functions, usable while the session exists.
    let calls: Calls

    var pointer: OpaquePointer { unsafe calls.pointer }

    /// The callbacks and options of a session; nghttp2 copies both.
    @safe
    struct Setup: ~Copyable {
        let callbacks: OpaquePointer
        let options: OpaquePointer

        /// nghttp2 fails here only when out of memory.
        init() {
            var newCallbacks: OpaquePointer?
            unsafe nghttp2_session_callbacks_new(&newCallbacks)
            unsafe callbacks = newCallbacks!
            var newOptions: OpaquePointer?
            unsafe nghttp2_option_new(&newOptions)
            unsafe options = newOptions!
        }

        deinit {
            unsafe nghttp2_option_del(options)
            unsafe nghttp2_session_callbacks_del(callbacks)
        }
    }

    /// What calls back, kept apart from the session's owner, which nghttp2's callbacks change meanwhile.
    @safe
    struct Calls {
        let pointer: OpaquePointer

        func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) {
            guard bytes.count > 0 else { return }
            let consumed = unsafe bytes.withUnsafeBufferPointer {
                unsafe nghttp2_session_mem_recv(pointer, $0.baseAddress, $0.count)
            }
            guard consumed >= 0 else { throw HTTP2Error(library: Int32(consumed)) }
            precondition(consumed == bytes.count, "nghttp2 must consume all input, because no callback pauses it")
        }

        /// Appends complete frames until none is left or `output` has `limit` bytes.
        func drain(into output: inout ByteQueue, upTo limit: Int) throws(HTTP2Error) {
            while output.count < limit {
                let frame = unsafe try nextFrame()
                guard !frame.isEmpty else { return }
                unsafe output.append(Span(_unsafeElements: frame))
            }
        }

        /// A frame or a part of one, valid until the next call; empty when there is none.
        ///
        /// A separate function, because a span of a variable would allocate that variable on the heap for each frame.
        private func nextFrame() throws(HTTP2Error) -> UnsafeBufferPointer<UInt8> {
            var start: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(pointer, &start)
            guard count >= 0 else { throw HTTP2Error(library: Int32(count)) }
            return unsafe UnsafeBufferPointer(start: start, count: count)
        }
    }

    init(_ setup: borrowing Setup, isServer: Bool) throws(HTTP2Error) {
        let make = unsafe isServer ? nghttp2_session_server_new2 : nghttp2_session_client_new2
        var new: OpaquePointer?
        try unsafe check(make(&new, setup.callbacks, nil, setup.options))
        unsafe calls = Calls(pointer: new!)
    }

    deinit {
        unsafe nghttp2_session_del(pointer)
    }

    /// Sends SETTINGS; one that is missing stays unchanged.
    package func submitSettings(_ settings: [HTTP2Setting: UInt32]) throws(HTTP2Error) {
        let entries = settings.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { nghttp2_settings_entry(settings_id: $0.key.rawValue, value: $0.value) }
        try check(
            unsafe entries.withUnsafeBufferPointer {
                unsafe nghttp2_submit_settings(pointer, 0, $0.baseAddress, $0.count)
            })
    }

    /// The peer's current stream limit; `.max` until it has sent one.
    package var remoteMaxConcurrentStreams: UInt32 {
        unsafe nghttp2_session_get_remote_settings(pointer, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    }

    /// The peer's remaining connection window for bodies, in bytes.
    package var remoteConnectionWindow: Int {
        Int(unsafe nghttp2_session_get_remote_window_size(pointer))
    }

    /// The number of a client's requests for which stream IDs are left. At zero, a new connection is needed (RFC
    /// 9113, section 5.1.1).
    package var remainingStreamIDs: Int {
        let next = unsafe Int(nghttp2_session_get_next_stream_id(pointer))
        return next > Int(Int32.max) ? 0 : (Int(Int32.max) - next) / 2 + 1
    }

    /// Sends a PING. Its data is eight zeros.
    package func ping() throws(HTTP2Error) {
        try check(unsafe nghttp2_submit_ping(pointer, 0, nil))
    }
}

/// A parameter of SETTINGS. Source: RFC 9113, section 6.5.2.
package enum HTTP2Setting: Int32, Sendable {
    /// The peer's header table limit, in bytes.
    case headerTableSize = 1
    case enablePush = 2
    case maxConcurrentStreams = 3
    /// The flow-control window of a stream, in bytes, at most 2^31 - 1.
    case initialWindow = 4
    /// The maximum size of the peer's frame, from 16,384 to 16,777,215 bytes.
    case maxFrameSize = 5
    case maxHeaderListSize = 6
}

func check(_ result: Int32) throws(HTTP2Error) {
    guard result == 0 else { throw HTTP2Error(library: result) }
}

extension nghttp2_frame_hd {
    func has(_ flag: nghttp2_flag) -> Bool {
        flags & UInt8(flag.rawValue) != 0
    }

    func isOf(_ type: nghttp2_frame_type) -> Bool {
        self.type == UInt8(type.rawValue)
    }
}

extension nghttp2_goaway {
    /// The debug data, truncated to 4 KiB.
    var debugData: [UInt8] {
        guard let data = unsafe opaque_data else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: data, count: min(opaque_data_len, 4096)))
    }
}

extension LibraryVersion {
    package static var nghttp2: String {
        // Null only if the requested minimum is newer.
        unsafe nghttp2_version(0).map { unsafe String(cString: $0.pointee.version_str) } ?? ""
    }
}

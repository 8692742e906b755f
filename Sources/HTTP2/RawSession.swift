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

        init() throws(HTTP2Error) {
            var newCallbacks: OpaquePointer?
            try unsafe check(nghttp2_session_callbacks_new(&newCallbacks))
            var newOptions: OpaquePointer?
            let failure = unsafe nghttp2_option_new(&newOptions)
            guard failure == 0, let newOptions = unsafe newOptions else {
                unsafe nghttp2_session_callbacks_del(newCallbacks)
                throw HTTP2Error(library: failure)
            }
            unsafe callbacks = newCallbacks!
            unsafe options = newOptions
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

    init(client setup: borrowing Setup) throws(HTTP2Error) {
        var new: OpaquePointer?
        try unsafe check(nghttp2_session_client_new2(&new, setup.callbacks, nil, setup.options))
        unsafe calls = Calls(pointer: new!)
    }

    init(server setup: borrowing Setup) throws(HTTP2Error) {
        var new: OpaquePointer?
        try unsafe check(nghttp2_session_server_new2(&new, setup.callbacks, nil, setup.options))
        unsafe calls = Calls(pointer: new!)
    }

    deinit {
        unsafe nghttp2_session_del(pointer)
    }

    func submitSettings(_ entries: [(nghttp2_settings_id, UInt32)]) throws(HTTP2Error) {
        let entries = entries.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        try check(
            unsafe entries.withUnsafeBufferPointer {
                unsafe nghttp2_submit_settings(pointer, 0, $0.baseAddress, $0.count)
            })
    }

    /// Sets the connection's flow-control window, in bytes.
    func setLocalWindow(_ size: Int32) throws(HTTP2Error) {
        try check(unsafe nghttp2_session_set_local_window_size(pointer, 0, 0, size))
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

    /// Its data is eight zeros.
    func submitPing() throws(HTTP2Error) {
        try check(unsafe nghttp2_submit_ping(pointer, 0, nil))
    }
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
    /// The number of bytes kept of a GOAWAY frame's debug data.
    static var maximumDebugData: Int { 4096 }

    /// The debug data, truncated to ``maximumDebugData``.
    var debugData: [UInt8] {
        guard let data = unsafe opaque_data else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: data, count: min(opaque_data_len, Self.maximumDebugData)))
    }
}

extension LibraryVersion {
    package static var nghttp2: String {
        // Null only if the requested minimum is newer.
        unsafe nghttp2_version(0).map { unsafe String(cString: $0.pointee.version_str) } ?? ""
    }
}

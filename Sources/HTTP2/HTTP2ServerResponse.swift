import CNghttp2

/// A server's response on one stream, including deliberate misbehaviour.
package struct HTTP2ServerResponse: Sendable {
    package var status: UInt16
    package var headers: [HTTP2Header]
    package var body: [UInt8]
    /// The maximum payload of one DATA frame, in bytes.
    package var largestFrame = 16_384
    /// Whether END_STREAM does not follow the last byte of the body.
    package var staysOpen = false

    package init(status: UInt16, headers: [HTTP2Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    var hasData: Bool {
        !body.isEmpty || staysOpen
    }
}

/// The SETTINGS of a server; `nil` omits one.
///
/// Source: RFC 9113, section 6.5.2.
package struct ServerSettings: Equatable, Sendable {
    package var maxConcurrentStreams: UInt32?
    /// The flow-control window of a stream, in bytes, at most 2^31 - 1.
    package var initialWindow: UInt32?
    /// The client's header table limit, in bytes.
    package var headerTableSize: UInt32?
    /// The maximum size of a client's frame, from 16,384 to 16,777,215 bytes.
    package var maxFrameSize: UInt32?
    package var maxHeaderListSize: UInt32?

    package init(
        maxConcurrentStreams: UInt32? = nil, initialWindow: UInt32? = nil, headerTableSize: UInt32? = nil,
        maxFrameSize: UInt32? = nil, maxHeaderListSize: UInt32? = nil
    ) {
        self.maxConcurrentStreams = maxConcurrentStreams
        self.initialWindow = initialWindow
        self.headerTableSize = headerTableSize
        self.maxFrameSize = maxFrameSize
        self.maxHeaderListSize = maxHeaderListSize
    }

    var entries: [(nghttp2_settings_id, UInt32)] {
        [
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, headerTableSize),
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maxConcurrentStreams),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, initialWindow),
            (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, maxFrameSize),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, maxHeaderListSize),
        ]
        .compactMap { id, value in value.map { (id, $0) } }
    }
}

/// The HTTP/2 error code of a stream or a connection: an open set. Codes that the program sends or handles have
/// constants.
///
/// Source: RFC 9113, section 7.
package struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let noError = HTTP2ErrorCode(rawValue: 0x00)
    package static let internalError = HTTP2ErrorCode(rawValue: 0x02)
    /// The peer did not process the stream: the request may be retried (RFC 9113, section 8.7).
    package static let refusedStream = HTTP2ErrorCode(rawValue: 0x07)
    package static let cancel = HTTP2ErrorCode(rawValue: 0x08)
    package static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 0x0b)

    /// The RFC's names, indexed by code.
    package static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The RFC's name, or the number of an unnamed code.
    package var description: String {
        rawValue < Self.names.count ? Self.names[Int(rawValue)] : "error code \(rawValue)"
    }
}

/// Why a stream or a connection was closed, in the words of HTTP/2: an open set, of which those have a
/// constant that the program sends or tells apart.
///
/// Source: RFC 9113, section 7.
package struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let noError = HTTP2ErrorCode(rawValue: 0x00)
    package static let internalError = HTTP2ErrorCode(rawValue: 0x02)
    package static let streamClosed = HTTP2ErrorCode(rawValue: 0x05)
    package static let frameSizeError = HTTP2ErrorCode(rawValue: 0x06)
    /// The peer did no work at all on the stream: the request may be sent again (RFC 9113, section 8.7).
    package static let refusedStream = HTTP2ErrorCode(rawValue: 0x07)
    package static let cancel = HTTP2ErrorCode(rawValue: 0x08)
    package static let connectError = HTTP2ErrorCode(rawValue: 0x0a)
    package static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 0x0b)
}

extension HTTP2ErrorCode: CustomStringConvertible {
    /// The RFC's names, by the codes.
    package static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The RFC's name, or the number of a code that it does not name.
    package var description: String {
        rawValue < Self.names.count ? Self.names[Int(rawValue)] : "error code \(rawValue)"
    }
}

extension HTTP2ErrorCode {
    /// The bytes of an RST_STREAM frame (RFC 9113, section 6.4), for servers that send what nghttp2 does not: a second
    /// one for the same stream.
    package static func resetFrame(stream: Int32, _ code: HTTP2ErrorCode) -> [UInt8] {
        func bytes(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
        return [0, 0, 4, 3, 0] + bytes(UInt32(bitPattern: stream)) + bytes(code.rawValue)
    }
}

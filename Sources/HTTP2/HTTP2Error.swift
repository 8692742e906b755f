import CNghttp2
package import Core

/// Why an HTTP/2 connection is no longer usable, or a request could not be submitted.
package struct HTTP2Error: ComponentError {
    /// nghttp2's name of the error (`NGHTTP2_ERR_FLOODED`), or the RFC's name of the code with which we closed the
    /// connection (`PROTOCOL_ERROR`).
    package typealias Code = ErrorCode<HTTP2Error>

    package let code: Code
    package let message: String
    package let blame: Blame
    package let isTransient: Bool
}

extension HTTP2Error {
    /// An error from an nghttp2 function.
    init(library value: Int32) {
        let local = [
            NGHTTP2_ERR_NOMEM, NGHTTP2_ERR_CALLBACK_FAILURE, NGHTTP2_ERR_INVALID_ARGUMENT, NGHTTP2_ERR_INVALID_STATE,
            NGHTTP2_ERR_FRAME_SIZE_ERROR,
        ]
        .contains { $0.rawValue == value }
        self.init(
            code: Code(rawValue: Self.name(of: value)), message: unsafe String(cString: nghttp2_strerror(value)),
            blame: local ? .local : .remote, isTransient: !local)
    }

    /// The peer violated the protocol, so we closed the connection with GOAWAY.
    init(terminatedBy code: HTTP2ErrorCode, reason: String) {
        let because = reason.isEmpty ? "" : " (\(reason))"
        self.init(
            code: Code(rawValue: code.description),
            message: "the peer broke HTTP/2\(because); the connection was closed",
            blame: .remote, isTransient: true)
    }

    private static func name(of value: Int32) -> String {
        switch nghttp2_error(rawValue: value) {
        case NGHTTP2_ERR_INVALID_ARGUMENT: "NGHTTP2_ERR_INVALID_ARGUMENT"
        case NGHTTP2_ERR_PROTO: "NGHTTP2_ERR_PROTO"
        case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE: Code.streamIDNotAvailable.rawValue
        case NGHTTP2_ERR_STREAM_CLOSED: "NGHTTP2_ERR_STREAM_CLOSED"
        case NGHTTP2_ERR_STREAM_CLOSING: "NGHTTP2_ERR_STREAM_CLOSING"
        case NGHTTP2_ERR_START_STREAM_NOT_ALLOWED: Code.startStreamNotAllowed.rawValue
        case NGHTTP2_ERR_INVALID_STATE: "NGHTTP2_ERR_INVALID_STATE"
        case NGHTTP2_ERR_FRAME_SIZE_ERROR: Code.frameSizeError.rawValue
        case NGHTTP2_ERR_HEADER_COMP: "NGHTTP2_ERR_HEADER_COMP"
        case NGHTTP2_ERR_FLOW_CONTROL: "NGHTTP2_ERR_FLOW_CONTROL"
        case NGHTTP2_ERR_SESSION_CLOSING: "NGHTTP2_ERR_SESSION_CLOSING"
        case NGHTTP2_ERR_TOO_MANY_INFLIGHT_SETTINGS: "NGHTTP2_ERR_TOO_MANY_INFLIGHT_SETTINGS"
        case NGHTTP2_ERR_SETTINGS_EXPECTED: "NGHTTP2_ERR_SETTINGS_EXPECTED"
        case NGHTTP2_ERR_TOO_MANY_SETTINGS: "NGHTTP2_ERR_TOO_MANY_SETTINGS"
        case NGHTTP2_ERR_NOMEM: "NGHTTP2_ERR_NOMEM"
        case NGHTTP2_ERR_CALLBACK_FAILURE: "NGHTTP2_ERR_CALLBACK_FAILURE"
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC: Code.badClientMagic.rawValue
        case NGHTTP2_ERR_FLOODED: Code.flooded.rawValue
        default: "nghttp2 error \(value)"
        }
    }
}

extension ErrorCode<HTTP2Error> {
    /// All stream IDs up to 2^31 - 1 are used: a new connection is needed (RFC 9113, section 5.1.1).
    package static var streamIDNotAvailable: Self { Self(rawValue: "NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE") }
    /// The peer sent GOAWAY, or the connection is closing: no new requests are accepted.
    package static var startStreamNotAllowed: Self { Self(rawValue: "NGHTTP2_ERR_START_STREAM_NOT_ALLOWED") }
    /// The peer requests PING or SETTINGS acknowledgements faster than it reads them.
    package static var flooded: Self { Self(rawValue: "NGHTTP2_ERR_FLOODED") }
    /// The header block exceeds nghttp2's limit.
    package static var frameSizeError: Self { Self(rawValue: "NGHTTP2_ERR_FRAME_SIZE_ERROR") }
    /// The peer is not an HTTP/2 client.
    package static var badClientMagic: Self { Self(rawValue: "NGHTTP2_ERR_BAD_CLIENT_MAGIC") }
}

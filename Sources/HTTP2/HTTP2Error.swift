import CNghttp2
package import Core

/// Why an HTTP/2 connection is no longer usable, or a request could not be submitted.
///
/// The code is nghttp2's name of the error (`NGHTTP2_ERR_FLOODED`), or the RFC's name of the code with which we closed
/// the connection (`PROTOCOL_ERROR`).
package typealias HTTP2Error = ComponentFailure<HTTP2ErrorCode>

extension HTTP2Error {
    init(library value: Int32) {
        let isOurs = [
            NGHTTP2_ERR_NOMEM, NGHTTP2_ERR_CALLBACK_FAILURE, NGHTTP2_ERR_INVALID_ARGUMENT, NGHTTP2_ERR_INVALID_STATE,
            NGHTTP2_ERR_FRAME_SIZE_ERROR,
        ]
        .contains { $0.rawValue == value }
        self.init(
            Code(rawValue: Self.name(of: value)), unsafe String(cString: nghttp2_strerror(value)), isTransient: !isOurs)
    }

    /// The peer violated the protocol, so we closed the connection with GOAWAY.
    init(terminatedBy code: HTTP2ErrorCode, reason: String) {
        let because = reason.isEmpty ? "" : " (\(reason))"
        self.init(
            Code(rawValue: code.description), "the peer broke HTTP/2\(because); the connection was closed")
    }

    /// The name of an error that the functions in use return.
    private static func name(of value: Int32) -> String {
        switch nghttp2_error(rawValue: value) {
        case NGHTTP2_ERR_INVALID_ARGUMENT: "NGHTTP2_ERR_INVALID_ARGUMENT"
        case NGHTTP2_ERR_PROTO: "NGHTTP2_ERR_PROTO"
        case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE: "NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE"
        case NGHTTP2_ERR_START_STREAM_NOT_ALLOWED: "NGHTTP2_ERR_START_STREAM_NOT_ALLOWED"
        case NGHTTP2_ERR_INVALID_STATE: "NGHTTP2_ERR_INVALID_STATE"
        case NGHTTP2_ERR_FRAME_SIZE_ERROR: "NGHTTP2_ERR_FRAME_SIZE_ERROR"
        case NGHTTP2_ERR_FLOW_CONTROL: "NGHTTP2_ERR_FLOW_CONTROL"
        case NGHTTP2_ERR_NOMEM: "NGHTTP2_ERR_NOMEM"
        case NGHTTP2_ERR_CALLBACK_FAILURE: "NGHTTP2_ERR_CALLBACK_FAILURE"
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC: "NGHTTP2_ERR_BAD_CLIENT_MAGIC"
        case NGHTTP2_ERR_FLOODED: "NGHTTP2_ERR_FLOODED"
        default: "nghttp2 error \(value)"
        }
    }
}

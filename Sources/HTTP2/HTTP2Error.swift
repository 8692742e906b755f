import CNghttp2
package import Core

/// Why an HTTP/2 connection is no longer usable, or a request could not be submitted.
///
/// The code is nghttp2's number of the error (`nghttp2 -904`), or the RFC's name of the code with which we closed the
/// connection (`PROTOCOL_ERROR`).
package typealias HTTP2Error = ComponentFailure<HTTP2ErrorCode>

extension HTTP2Error {
    init(library value: Int32) {
        let isOurs = [
            NGHTTP2_ERR_NOMEM, NGHTTP2_ERR_CALLBACK_FAILURE, NGHTTP2_ERR_INVALID_ARGUMENT, NGHTTP2_ERR_INVALID_STATE,
            NGHTTP2_ERR_FRAME_SIZE_ERROR,
        ]
        .contains { $0.rawValue == value }
        self.init(
            Code(rawValue: "nghttp2 \(value)"), unsafe String(cString: nghttp2_strerror(value)), isTransient: !isOurs)
    }

    /// The peer violated the protocol, so we closed the connection with GOAWAY.
    init(terminatedBy code: HTTP2ErrorCode, reason: String) {
        let because = reason.isEmpty ? "" : " (\(reason))"
        self.init(
            Code(rawValue: code.description), "the peer broke HTTP/2\(because); the connection was closed")
    }
}

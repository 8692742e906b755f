package import HTTP2

/// The simulated response to one request: a status, and a reason for failures. The rules throw refusals.
///
/// Source: "Handling notification responses from APNs".
package struct SimulatedResponse: Error, Equatable {
    /// The form of the body; everything but ``json`` is a scripted fault.
    package enum Body: String, CaseIterable, Sendable {
        /// `{"reason":"…"}`, with `"timestamp"` (milliseconds) if there is one; empty for a success.
        case json
        /// No body, regardless of the status.
        case none
        /// Bytes that are not JSON.
        case garbage
        /// A valid JSON object of 64 KiB.
        case huge
        /// JSON that ends prematurely.
        case truncated
        /// The headers without END_STREAM; the body never follows.
        case withheld
    }

    /// The value of `apns-id` or `apns-request-id`; everything but ``same`` is a scripted fault.
    package enum Identifier: String, CaseIterable, Sendable {
        /// The ID of the request.
        case same
        /// The header is missing.
        case none
        /// A random UUID.
        case other
        /// The ID of the request in upper case.
        case upper
        /// Not a UUID.
        case garbage
    }

    package var status: UInt16
    package var reason: String?
    /// The cause of a refusal, for the log.
    package var cause: String?
    /// Milliseconds since 1970 UTC; only in a 410 response.
    package var timestamp: Int64?
    package var body = Body.json
    /// The JSON of a successful response.
    var content = ""
    /// `apns-channel-id` of a new channel.
    var channelID: [UInt8]?
    package var identifier = Identifier.same
    /// The maximum length of a DATA frame, in bytes; `nil` for no limit.
    package var largestFrame: Int?
    /// Whether trailers follow the body.
    package var hasTrailers = false
    /// The error code of a reset after the response.
    package var resetCode: HTTP2ErrorCode?

    package init(_ status: UInt16, _ reason: String? = nil, _ cause: String? = nil) {
        self.status = status
        self.reason = reason
        self.cause = cause
    }

    init(_ status: UInt16, content: String, channelID: [UInt8]? = nil) {
        self.init(status)
        self.content = content
        self.channelID = channelID
    }

    package static let accepted = SimulatedResponse(200)

    /// The bytes of the body; may be empty.
    package var bodyBytes: [UInt8] {
        switch body {
        case .none, .withheld: return []
        case .truncated: return Array("{\"reason\":\"".utf8)
        case .garbage: return Array("<html>this is not the JSON you are looking for".utf8)
        case .huge:
            return Array("{\"reason\":\"\(reason ?? "")\",\"padding\":\"".utf8) + [UInt8](repeating: 0x78, count: 65536)
                + Array("\"}".utf8)
        case .json:
            guard let reason else { return Array(content.utf8) }
            if let timestamp { return Array("{\"reason\":\"\(reason)\",\"timestamp\":\(timestamp)}".utf8) }
            return Array("{\"reason\":\"\(reason)\"}".utf8)
        }
    }
}

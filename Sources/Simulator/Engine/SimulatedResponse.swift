package import HTTP2

/// The simulated response to one request: a status, and a reason for failures. The rules throw refusals.
///
/// Source: "Handling notification responses from APNs".
package struct SimulatedResponse: Error, Equatable {
    /// What follows the headers; everything but ``body`` is a scripted fault.
    package enum Rest: Equatable, Sendable {
        case body
        /// Nothing, although the headers have no END_STREAM.
        case silence
        /// The stream is reset.
        case reset(HTTP2ErrorCode)
    }

    package var status: UInt16
    package var reason: String?
    /// The cause of a refusal, for the log.
    package var cause: String?
    /// Milliseconds since 1970 UTC; only in a 410 response.
    package var timestamp: Int64?
    package var rest = Rest.body
    /// The JSON of a successful response.
    var content = ""
    /// `apns-channel-id` of a new channel.
    var channelID: [UInt8]?

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

    /// `{"reason":"…"}`, with `"timestamp"` if there is one; the content of a success, which may be empty.
    package var body: [UInt8] {
        guard let reason else { return Array(content.utf8) }
        let time = timestamp.map { ",\"timestamp\":\($0)" } ?? ""
        return Array("{\"reason\":\"\(reason)\"\(time)}".utf8)
    }
}

import Core
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

/// A response to a request, and its ledger entry.
struct PreparedResponse {
    var response = SimulatedResponse.accepted
    /// The code of RST_STREAM in place of a response.
    var reset: HTTP2ErrorCode?
    var record: SimulatorLedger.Record
    /// `nil` if the request has no valid one.
    var target: RequestTarget?

    /// - Parameters:
    ///   - environment: development adds `apns-unique-id`, as for every broadcast.
    ///   - uniqueID: a new one.
    func message(in environment: Environment, uniqueID: @autoclosure () -> NotificationID) -> HTTP2ServerResponse {
        let body = response.rest == .body ? response.body : []
        var isDevice = true
        var hasUniqueID = environment == .development
        switch target {
        case .device: break
        case nil: isDevice = !["/1/", "/4/"].contains { record.fields.path?.starts(with: $0.utf8) == true }
        case .broadcast: (isDevice, hasUniqueID) = (false, true)
        case .channels: (isDevice, hasUniqueID) = (false, false)
        }
        var id = record.apnsID.description
        // "The request identifier specified in the corresponding request."
        if !isDevice, let own = record.fields.requestID, NotificationID(own[...]) != nil {
            id = String(decoding: own, as: UTF8.self)
        }
        var headers = [HTTP2Header(isDevice ? "apns-id" : "apns-request-id", id)]
        if hasUniqueID, response.status == 200 {
            headers.append(HTTP2Header("apns-unique-id", uniqueID().description))
        }
        if let id = response.channelID {
            headers.append(HTTP2Header("apns-channel-id", String(decoding: id, as: UTF8.self)))
        }
        if !body.isEmpty { headers.append(HTTP2Header("content-type", "application/json")) }
        var message = HTTP2ServerResponse(status: response.status, headers: headers, body: body)
        message.staysOpen = response.rest != .body
        return message
    }
}

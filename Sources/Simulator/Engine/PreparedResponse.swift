import Core
import HTTP2

/// A response to a request, and its ledger entry.
struct PreparedResponse {
    var response = SimulatedResponse.accepted
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
        case .device, nil: break
        case .broadcast: (isDevice, hasUniqueID) = (false, true)
        case .channels: (isDevice, hasUniqueID) = (false, false)
        }
        var headers = [HTTP2Header(isDevice ? "apns-id" : "apns-request-id", record.apnsID.description)]
        if hasUniqueID, response.status == 200 {
            headers.append(HTTP2Header("apns-unique-id", uniqueID().description))
        }
        if let id = response.channelID {
            headers.append(HTTP2Header("apns-channel-id", String(decoding: id, as: UTF8.self)))
        }
        if !body.isEmpty { headers.append(HTTP2Header("content-type", "application/json")) }
        var message = HTTP2ServerResponse(status: response.status, headers: headers, body: body)
        if response.rest != .body { message.ending = .never }
        return message
    }
}

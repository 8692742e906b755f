import Core
import HTTP2

/// A response with its headers for a stream, and its ledger entry.
struct PreparedResponse {
    var response: SimulatedResponse
    var headers: [HTTP2Header]
    var record: SimulatorLedger.Record
    /// Whether a successful response has `apns-unique-id`.
    var addsUniqueID = false

    private static let idName = Array("apns-id".utf8)
    private static let uniqueIDName = Array("apns-unique-id".utf8)
    private static let requestIDName = Array("apns-request-id".utf8)
    private static let channelIDName = Array("apns-channel-id".utf8)
    private static let contentType = HTTP2Header("content-type", "application/json")

    private static let trailer = HTTP2Header("apns-trailer", "1")

    static func id(_ value: [UInt8]) -> HTTP2Header { HTTP2Header(name: idName, value: value) }
    static func uniqueID(_ value: [UInt8]) -> HTTP2Header { HTTP2Header(name: uniqueIDName, value: value) }
    static func requestID(_ value: [UInt8]) -> HTTP2Header { HTTP2Header(name: requestIDName, value: value) }

    /// Sends it.
    ///
    /// - Returns: `false` if the stream is closed already.
    func send(on session: HTTP2ServerSession, stream: Int32) throws(HTTP2Error) -> Bool {
        let bytes = response.bodyBytes
        var headers = headers
        if let id = response.channelID { headers.append(HTTP2Header(name: Self.channelIDName, value: id)) }
        if !bytes.isEmpty { headers.append(Self.contentType) }
        var message = HTTP2ServerResponse(status: response.status, headers: headers, body: bytes)
        if response.body == .withheld { message.ending = .never }
        if let limit = response.largestFrame { message.largestFrame = limit }
        if response.hasTrailers { message.trailers = [Self.trailer] }
        return try session.respond(stream: stream, message)
    }

    /// Applies ``SimulatedResponse/identifier`` to the header that identifies the request.
    ///
    /// - Parameter other: a random ID.
    mutating func bendIdentifier(_ other: @autoclosure () -> [UInt8]) {
        guard let index = headers.firstIndex(where: { $0.name == Self.idName || $0.name == Self.requestIDName }) else {
            return
        }
        switch response.identifier {
        case .same: return
        case .none: headers.remove(at: index)
        case .other: headers[index] = HTTP2Header(name: headers[index].name, value: other())
        case .upper:
            let value = headers[index].value.map { (0x61...0x7A).contains($0) ? $0 & ~0x20 : $0 }
            headers[index] = HTTP2Header(name: headers[index].name, value: value)
        case .garbage:
            headers[index] = HTTP2Header(name: headers[index].name, value: Array("not a UUID".utf8))
        }
    }
}

extension NotificationID {
    /// The canonical 36 bytes.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }
}

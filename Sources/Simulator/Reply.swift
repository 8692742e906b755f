import Core
import HTTP2

/// An answer with its headers, ready for a stream, and the ledger's entry for it.
struct Reply {
    var answer: Answer
    var headers: [HTTP2Header]
    /// The JSON of a success that has one; a failure's comes from its answer.
    var body: [UInt8] = []
    var record: SimulatorLedger.Record

    private static let idName = Array("apns-id".utf8)
    private static let uniqueIDName = Array("apns-unique-id".utf8)
    private static let requestIDName = Array("apns-request-id".utf8)
    private static let channelIDName = Array("apns-channel-id".utf8)
    private static let contentType = HTTP2Header("content-type", "application/json")

    static func id(_ value: [UInt8]) -> HTTP2Header { HTTP2Header(name: idName, value: value) }
    static func uniqueID(_ value: [UInt8]) -> HTTP2Header { HTTP2Header(name: uniqueIDName, value: value) }
    static func requestID(_ value: [UInt8]) -> HTTP2Header { HTTP2Header(name: requestIDName, value: value) }
    static func channelID(_ value: [UInt8]) -> HTTP2Header { HTTP2Header(name: channelIDName, value: value) }

    /// Sends it.
    ///
    /// - Returns: `false` if the stream is closed already.
    func send(on session: HTTP2ServerSession, stream: Int32) throws(HTTP2Error) -> Bool {
        let bytes = body.isEmpty ? answer.bodyBytes : body
        let headers = bytes.isEmpty ? headers : headers + [Self.contentType]
        return try session.respond(stream: stream, status: answer.status, headers: headers, body: bytes)
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

package import Core
import Decoding
package import Simulator

/// A notification that the simulator accepted, or one that it refused.
package struct InboxEntry: Sendable {
    /// From 1, in the order of the responses. Accepted and refused notifications are numbered separately.
    var id = 0
    let time: WallTime
    let apnsID: NotificationID
    /// In lower case; empty for a broadcast.
    let deviceToken: [UInt8]
    /// `apns-topic`, or the bundle ID of a broadcast.
    let topic: [UInt8]
    /// In the order of ``fieldNames``.
    private let fields: [[UInt8]?]
    private let status: UInt16
    private let reason: String?
    private let cause: String?
    /// Empty for a refused notification, because its payload may have any size.
    private let payload: [UInt8]

    private static let fieldNames = ["channel_id", "push_type", "priority", "expiration", "collapse_id"]

    var isAccepted: Bool { status == 200 }

    /// - Returns: `nil` for a channel management request, and for one without a response.
    package init?(_ record: SimulatorLedger.Record, at time: WallTime) {
        guard case .responded(let status, let reason) = record.ending else { return nil }
        let target = record.fields.path.flatMap { RequestTarget(path: $0) }
        switch target {
        case .device(let token): deviceToken = Array(String(decoding: token, as: UTF8.self).lowercased().utf8)
        case .broadcast, nil: deviceToken = []
        case .channels, .allChannels: return nil
        }
        if case .broadcast(let bundleID) = target { topic = Array(bundleID) } else { topic = record.fields.topic ?? [] }
        self.time = time
        apnsID = record.apnsID
        fields = [
            record.fields.channelID, record.fields.pushType, record.fields.priority, record.fields.expiration,
            record.fields.collapseID,
        ]
        self.status = status
        self.reason = reason
        cause = record.cause
        payload = status == 200 ? record.payload : []
    }

    /// Appends it as a JSON object. A payload that is not JSON becomes `payload_text`.
    func append(to json: inout [UInt8]) {
        json.append("{\"id\":")
        json.append(decimal: id)
        var texts: [(String, ArraySlice<UInt8>?)] = [
            ("time", time.rfc3339.utf8Slice), ("apns_id", "\(apnsID)".utf8Slice),
            ("device_token", deviceToken.isEmpty ? nil : deviceToken[...]), ("topic", topic.isEmpty ? nil : topic[...]),
        ]
        texts += zip(Self.fieldNames, fields).map { ($0, $1?[...]) }
        texts += [("reason", reason?.utf8Slice), ("cause", cause?.utf8Slice)]
        let isJSON = Self.isJSON(payload)
        if !isJSON { texts.append(("payload_text", payload[...])) }
        for (name, value) in texts {
            json.append(contentsOf: ",\"\(name)\":".utf8)
            if let value { json.appendJSON(string: value) } else { json.append("null") }
        }
        json.append(contentsOf: ",\"status\":\(status),\"payload\":".utf8)
        if isJSON { json.append(contentsOf: payload) } else { json.append("null") }
        json.append("}")
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        var scanner = JSONScanner()
        do throws(JSONFailure) {
            _ = try scanner.value(bytes.span, depth: 0)
            try scanner.end(bytes.span)
            return true
        } catch {
            return false
        }
    }
}

extension String {
    fileprivate var utf8Slice: ArraySlice<UInt8> { ArraySlice(utf8) }
}

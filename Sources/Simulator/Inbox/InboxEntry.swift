package import Core
import Decoding

/// A notification that the simulator accepted, or one that it refused.
package struct InboxEntry: Sendable {
    /// From 1, in the order of the responses. Accepted and refused notifications are numbered separately.
    var id = 0
    let time: WallTime
    /// In lower case; empty for a broadcast.
    let deviceToken: [UInt8]
    /// `apns-topic`, or the bundle ID of a broadcast.
    let topic: [UInt8]
    private let status: UInt16
    private let reason: String?
    /// Without the payload of a refused notification, because that may have any size.
    private var record: SimulatorLedger.Record

    var isAccepted: Bool { status == 200 }

    /// The status, the reason and its cause.
    var refusal: String {
        "\(status) \(reason ?? "")" + (record.cause.map { ": \($0)" } ?? "")
    }

    /// - Returns: `nil` for a channel management request, and for one without a response.
    package init?(_ record: SimulatorLedger.Record, at time: WallTime) {
        guard case .responded(let status, let reason) = record.ending else { return nil }
        let path = (record.fields.path ?? [])[...]
        guard !path.hasPrefix("/1/") else { return nil }
        deviceToken = Array(String(decoding: record.deviceToken, as: UTF8.self).lowercased().utf8)
        let isBroadcast = path.hasPrefix("/4/broadcasts/apps/")
        topic = isBroadcast ? Array(path.dropFirst(19)) : record.fields.topic ?? []
        self.time = time
        self.status = status
        self.reason = reason
        self.record = record
        if status != 200 { self.record.payload = [] }
    }

    /// With the keys of a result. A payload that is not JSON becomes `payload-text`.
    var json: JSONOutput {
        let fields = record.fields
        let isJSON = (try? JSONPart(record.payload[...])) != nil
        var members: [(String, JSONOutput)] = [
            ("id", .integer(id)), ("time", .text(time.rfc3339)), ("apns-id", .text(record.apnsID.description)),
            ("device-token", .bytes(deviceToken.isEmpty ? nil : deviceToken[...])),
            ("apns-topic", .bytes(topic.isEmpty ? nil : topic[...])),
            ("bundle-id", .bytes(topic.isEmpty ? nil : PushTypeRule.bundleID(of: topic))),
            ("kind", .text(PushTypeRule.label(of: fields.pushType))),
            ("apns-channel-id", .bytes(fields.channelID?[...])),
            ("apns-push-type", .bytes(fields.pushType?[...])), ("apns-priority", .bytes(fields.priority?[...])),
            ("apns-expiration", .bytes(fields.expiration?[...])), ("apns-collapse-id", .bytes(fields.collapseID?[...])),
            ("reason", .optional(reason)), ("detail", .optional(record.cause)),
        ]
        let text = String(decoding: record.payload, as: UTF8.self)
        if !isJSON { members.append(("payload-text", .text(text))) }
        return .object(
            members + [("status", .integer(Int(status))), ("payload", isJSON ? .json(text) : .null)])
    }
}

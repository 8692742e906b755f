import Core

/// `rpush`: a row of Rpush's notifications table as JSON.
///
/// Source: Rpush, `client/active_model/apns/notification.rb`, `daemon/apnsp8/delivery.rb` and its migrations.
struct RpushDecoder: RefusingDecoder {
    let name = "rpush"

    static let format = DecoderFormat("rpush", version: "1.0.0", "Rows of Rpush's notifications.") { _ in RpushDecoder()
    }

    func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let row = JSONMembers(try JSONPart.object(delivery.body))
        if let type = row["type"]?.text, !Self.ownTypes.contains(where: type.equals) {
            return .ignore(reason: "for another service")
        }
        return .request(try Self.request(row, delivery, at: now))
    }

    /// Rpush's Ruby classes for APNs.
    private static let ownTypes: [StaticString] = [
        "Rpush::Apns::Notification", "Rpush::Apns2::Notification", "Rpush::Apnsp8::Notification",
        "Rpush::Client::ActiveRecord::Apns::Notification", "Rpush::Client::ActiveRecord::Apns2::Notification",
        "Rpush::Client::ActiveRecord::Apnsp8::Notification",
    ]

    /// Keys of `data` with a meaning in Rpush.
    private enum Marker {
        static let mdm: StaticString = "__rpush_mdm__"
        static let contentAvailable: StaticString = "__rpush_content_available__"
        static let mutableContent: StaticString = "__rpush_mutable_content__"
        static let headers: StaticString = "headers"
        static let all = [mdm, contentAvailable, mutableContent, headers]
    }

    private static func request(
        _ row: JSONMembers, _ delivery: Delivery, at now: WallTime
    ) throws(DecodingFailure) -> Request {
        let data = try data(of: row)
        let members = data.map(JSONMembers.init)
        var fields = RequestFields()
        fields.takesDigits = true
        if let headers = members?[Marker.headers] { try fill(&fields, from: headers) }
        fields.deviceToken = token(row)
        if case .missing = fields.priority { fields.priority = row.value("priority") }
        if case .missing = fields.expiration, let expiry = row["expiry"] {
            guard let seconds = expiry.integer else { throw DecodingFailure("expiry: expected seconds as an integer") }
            fields.expiration = RequestFields.end(of: seconds, delivery, at: now)
        }
        let mdm = row.filled("mdm") ?? members?.filled(Marker.mdm)
        fields.fill(from: delivery)
        fields.defaultPushType = mdm == nil ? .alert : .mdm
        if let mdm {
            var payload = PayloadComposer()
            payload.add("mdm", mdm)
            return try fields.request(payload: payload.end()[...])
        }
        return try fields.request(payload: try payload(row, data)[...])
    }

    /// A manually entered token may have brackets and spaces.
    private static func token(_ row: JSONMembers) -> RequestFields.Value {
        guard case .text(let text) = row.value("device_token") else { return row.value("device_token") }
        let unwanted = Array(" <>".utf8)
        guard text.contains(where: unwanted.contains) else { return .text(text) }
        return .text(ArraySlice(text.filter { !unwanted.contains($0) }))
    }

    /// An object, or a text that contains one: the column type is text.
    private static func data(of row: JSONMembers) throws(DecodingFailure) -> JSONPart? {
        guard let data = row.filled("data") else { return nil }
        guard data.kind == .string else { return try data.requireObject("data") }
        let part = try JSONPart(data.text ?? [], called: "data")
        guard part.kind == .object else { throw DecodingFailure("data: expected an object in the text") }
        return part
    }

    private static func fill(_ fields: inout RequestFields, from headers: JSONPart) throws(DecodingFailure) {
        for (key, part) in try headers.requireObject("data.headers").members {
            guard let name = RequestFields.Name(key) else { continue }
            fields.set(name, RequestFields.Value(part.value, in: part.document))
        }
    }

    private static func payload(_ row: JSONMembers, _ data: JSONPart?) throws(DecodingFailure) -> [UInt8] {
        let members = data.map(JSONMembers.init)
        var aps = PayloadComposer()
        if let alert = row.filled("alert") { aps.add("alert", json: try self.alert(alert, row)) }
        aps.add("badge", row["badge"])
        aps.add("sound", row.filled("sound"))
        aps.add("category", row.filled("category"))
        aps.add("thread-id", row.filled("thread_id"))
        aps.add("url-args", row.filled("url_args"))
        if row.isSet("mutable_content") || members?.isSet(Marker.mutableContent) ?? false {
            aps.add("mutable-content", json: "1".utf8)
        }
        if row.isSet("content_available") || members?.isSet(Marker.contentAvailable) ?? false {
            aps.add("content-available", json: "1".utf8)
        }
        var payload = PayloadComposer()
        payload.add("aps", aps)
        for (key, part) in data?.members ?? [] where !Marker.all.contains(where: key.equals) {
            guard !key.equals("aps") else { throw DecodingFailure("data: aps is made of the other columns") }
            payload.add(key: key, json: part.raw)
        }
        return payload.end()
    }

    /// A dictionary is stored in the text column as JSON.
    private static func alert(_ alert: JSONPart, _ row: JSONMembers) throws(DecodingFailure) -> ArraySlice<UInt8> {
        guard row.isSet("alert_is_json"), let text = alert.text else { return alert.raw }
        return try JSONPart(text, called: "alert").raw
    }
}

import Core

/// `fcm-v1`: the APNs part of a message for Firebase Cloud Messaging's HTTP v1 API.
///
/// Source: FCM, REST resource `projects.messages`, `ApnsConfig`. Its `token` is a Firebase token, so the device token
/// must come from another field.
struct FCMDecoder: RefusingDecoder {
    let name = "fcm-v1"
    private let sources: FieldSources

    static let format = DecoderFormat(
        "fcm-v1", version: "1.0.0", "Messages for FCM's HTTP v1 API: their part for APNs.", FieldSources.settings()
    ) { options in FCMDecoder(sources: FieldSources(&options)) }

    func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let body = try JSONPart.object(delivery.body)
        // Some libraries publish only the message.
        let message = JSONMembers(body)["message"] ?? body
        return .request(
            try request(
                JSONMembers(try message.requireObject("message")), MappedMessage(delivery: delivery, document: body)))
    }

    private func request(_ message: JSONMembers, _ mapped: MappedMessage) throws(DecodingFailure) -> Request {
        let apns = try (message["apns"]?.requireObject("apns")).map(JSONMembers.init)
        let data = try message["data"]?.requireObject("data")
        var fields = RequestFields()
        fields.takesDigits = true
        if let headers = apns?["headers"] {
            for (key, part) in try headers.requireObject("apns.headers").members {
                guard let name = RequestFields.Name(key.lowered[...]) else { continue }
                fields.set(name, RequestFields.Value(part.value, in: part.document))
            }
        }
        if let token = apns?.filled("live_activity_token")?.text ?? data?[Self.tokenKey.utf8]?.text {
            fields.deviceToken = .text(token)
        }
        try sources.fill(&fields, from: mapped)
        fields.fill(from: mapped.delivery)
        if apns?.filled("live_activity_token") != nil, case .missing = fields.pushType {
            fields.pushType = .text(ArraySlice("liveactivity".utf8))
        }
        fields.defaultPushType = .alert
        return try fields.request(payload: try Self.payload(apns?["payload"], message, data))
    }

    /// An optional device token in `data`; it is not sent to the device.
    private static let tokenKey = "apns_token"

    /// The payload unchanged, unless `notification` or `data` adds to it, as in FCM.
    private static func payload(
        _ given: JSONPart?, _ message: JSONMembers, _ data: JSONPart?
    ) throws(DecodingFailure) -> ArraySlice<UInt8> {
        _ = try given?.requireObject("apns.payload")
        let notification = try (message["notification"]?.requireObject("notification")).map(JSONMembers.init)
        let title = notification?.filled("title")
        let text = notification?.filled("body")
        let custom = (data?.members ?? []).filter { !$0.key.elementsEqual(tokenKey.utf8) }
        let members = given?.members ?? []
        let aps = members.last { $0.key.equals("aps") }?.part
        let addsAlert = (title != nil || text != nil) && aps?["alert".utf8] == nil
        let added = custom.filter { entry in !members.contains { $0.key.elementsEqual(entry.key) } }
        if let given, !addsAlert, added.isEmpty {
            guard !given.isEmptyObject else { throw DecodingFailure("apns.payload: expected at least one key") }
            return given.raw
        }
        var payload = PayloadComposer()
        if addsAlert {
            var whole = PayloadComposer()
            var alert = PayloadComposer()
            alert.add("title", title)
            alert.add("body", text)
            whole.add("alert", alert)
            for (key, part) in aps?.members ?? [] { whole.add(key: key, json: part.raw) }
            payload.add("aps", whole)
        } else {
            payload.add("aps", aps)
        }
        for (key, part) in members where !key.equals("aps") { payload.add(key: key, json: part.raw) }
        for (key, part) in added { payload.add(key: key, json: part.raw) }
        guard !payload.isEmpty else { throw DecodingFailure("apns.payload: missing, and there is no notification") }
        return payload.end()[...]
    }
}

import Core

/// `gaurun`: what Gaurun's HTTP interface takes, or one entry of it.
///
/// Source: Gaurun, `SPEC.md`, `gaurun/notification.go` and `gaurun/apns_http2.go`.
struct GaurunDecoder: Decoder {
    let name = "gaurun"

    static let format = DecoderFormat("gaurun", version: "1.0.0", "Gaurun's requests.") { _ in GaurunDecoder() }

    func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        do throws(DecodingFailure) {
            let body = try JSONPart.object(delivery.body)
            guard let list = JSONMembers(body)["notifications"] else {
                guard let request = try Self.request(body, delivery, at: now) else {
                    return .ignore(reason: "for Android")
                }
                return .request(request)
            }
            guard list.kind == .array else {
                throw DecodingFailure("notifications: expected an array, found \(list.kind.name)")
            }
            let entries = list.elements
            guard !entries.isEmpty else { throw DecodingFailure("notifications: expected at least one") }
            var batch = RequestBatch("notifications")
            for entry in entries {
                try batch.add { () throws(DecodingFailure) in try Self.request(entry, delivery, at: now) }
            }
            return batch.decoded(else: "for Android")
        } catch {
            return .reject(error)
        }
    }

    /// - Returns: `nil` for Android's.
    private static func request(
        _ part: JSONPart, _ delivery: Delivery, at now: WallTime
    ) throws(DecodingFailure) -> Request? {
        guard part.kind == .object else { throw DecodingFailure("entry: expected an object, found \(part.kind.name)") }
        let members = JSONMembers(part)
        switch members["platform"]?.integer {
        case 1: break
        case 2: return nil
        default: throw DecodingFailure("platform: expected 1 (iOS) or 2 (Android)")
        }
        var fields = RequestFields()
        fields.deviceTokens =
            try members["token"].map { part throws(DecodingFailure) in try part.texts("token") } ?? []
        fields.pushType = members.filledValue("push_type")
        if let expiry = members["expiry"] {
            guard let seconds = expiry.integer else { throw DecodingFailure("expiry: expected seconds as an integer") }
            if seconds > 0 { fields.expiration = RequestFields.end(of: seconds, delivery, at: now) }
        }
        fields.fill(from: delivery)
        fields.defaultPushType = .alert
        return try fields.request(payload: try payload(members)[...])
    }

    private static func payload(_ members: JSONMembers) throws(DecodingFailure) -> [UInt8] {
        var alert = PayloadComposer()
        alert.add("title", members.filled("title"))
        alert.add("subtitle", members.filled("subtitle"))
        var aps = PayloadComposer()
        if alert.isEmpty {
            aps.add("alert", members.filled("message"))
        } else {
            alert.add("body", members.filled("message"))
            aps.add("alert", alert)
        }
        // Gaurun sends the badge always, and 0 where there is none.
        aps.add("badge", json: members["badge"]?.raw ?? ArraySlice("0".utf8))
        aps.add("sound", members.filled("sound"))
        aps.add("category", members.filled("category"))
        if members.isSet("content_available") { aps.add("content-available", json: "1".utf8) }
        if members.isSet("mutable_content") { aps.add("mutable-content", json: "1".utf8) }
        var payload = PayloadComposer()
        payload.add("aps", aps)
        for (index, element) in (members["extend"]?.elements ?? []).enumerated() {
            let pair = JSONMembers(element)
            guard let key = pair["key"]?.text, let value = pair["val"], !key.equals("aps") else {
                throw DecodingFailure("extend[\(index)]: expected key and val, and no aps")
            }
            payload.add(key: key, json: value.raw)
        }
        return payload.end()
    }
}

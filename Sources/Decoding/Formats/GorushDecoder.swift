package import Core

/// `gorush`: the body of gorush's HTTP API (`notifications`), one entry of it, or a job for gorush's workers. A job
/// has the entry as base64 in its `body`.
///
/// Source: gorush, `notify/notification.go` and `notify/notification_apns.go`; golang-queue, `job/job.go`.
package struct GorushDecoder: RefusingDecoder {
    package let name = "gorush"

    static let format = DecoderFormat(
        "gorush", version: "1.0.0", "Gorush's requests, bare or as its queue wraps them."
    ) { _ in GorushDecoder() }

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let body = try JSONPart.object(delivery.body)
        let members = JSONMembers(body)
        if members["notifications"] == nil, members["platform"] == nil, let job = members["body"] {
            return try Self.decoded(try Self.unwrap(job), delivery)
        }
        return try Self.decoded(body, delivery)
    }

    /// The names of the notification at a position in the message: `notif_id` and `message`, unchanged.
    package static func names(of delivery: Delivery, at position: Int) -> (id: JSONPart?, message: JSONPart?) {
        do throws(DecodingFailure) {
            var body = try JSONPart.object(delivery.body)
            let members = JSONMembers(body)
            if members["notifications"] == nil, members["platform"] == nil, let job = members["body"] {
                body = try unwrap(job)
            }
            guard let list = JSONMembers(body)["notifications"] else { return names(of: body) }
            var rest = position
            for part in list.elements {
                let places = places(of: part, delivery)
                if rest < places { return names(of: part) }
                rest -= places
            }
            return (nil, nil)
        } catch {
            return (nil, nil)
        }
    }

    private static func names(of part: JSONPart) -> (id: JSONPart?, message: JSONPart?) {
        let entry = JSONMembers(part)
        return (entry.filled("notif_id"), entry.filled("message"))
    }

    /// The number of positions that a list entry occupies; one if it is invalid.
    private static func places(of part: JSONPart, _ delivery: Delivery) -> Int {
        do throws(DecodingFailure) {
            return try GorushEntry(part).request(delivery)?.count ?? 0
        } catch {
            return 1
        }
    }

    private static func unwrap(_ job: JSONPart) throws(DecodingFailure) -> JSONPart {
        guard let text = job.text, let bytes = Base64.standard.decode(text.span) else {
            throw DecodingFailure("body.body: expected base64")
        }
        return try JSONPart.object(bytes[...])
    }

    private static func decoded(_ part: JSONPart, _ delivery: Delivery) throws(DecodingFailure) -> Decoded {
        var batch = RequestBatch("notifications")
        guard let list = JSONMembers(part)["notifications"] else {
            guard let request = try GorushEntry(part).request(delivery) else { return .ignore(reason: otherPlatforms) }
            return .request(request)
        }
        guard list.kind == .array else {
            throw DecodingFailure("notifications: expected an array, found \(list.kind.name)")
        }
        let entries = list.elements
        guard !entries.isEmpty else { throw DecodingFailure("notifications: expected at least one") }
        for entry in entries {
            try batch.add { () throws(DecodingFailure) in try GorushEntry(entry).request(delivery) }
        }
        return batch.decoded(else: otherPlatforms)
    }

    private static let otherPlatforms = "for other platforms"
}

/// One gorush notification: one payload for several devices.
private struct GorushEntry {
    private let members: JSONMembers

    init(_ part: JSONPart) throws(DecodingFailure) {
        members = JSONMembers(try part.requireObject("entry"))
    }

    /// - Returns: `nil` for another platform.
    func request(_ delivery: Delivery) throws(DecodingFailure) -> Request? {
        guard let platform = members["platform"]?.integer else {
            throw DecodingFailure("platform: expected 1 (iOS), or another one's number")
        }
        guard platform == 1 else { return nil }
        var fields = RequestFields()
        var tokens = try members["tokens"].map { part throws(DecodingFailure) in try part.texts("tokens") } ?? []
        if let to = members.filled("to")?.text { tokens.append(to) }
        fields.deviceTokens = tokens
        fields.topic = members.filledValue("topic")
        fields.id = members.filledValue("apns_id")
        fields.collapseID = members.filledValue("collapse_id")
        fields.pushType = members.filledValue("push_type")
        fields.expiration = members.value("expiration")
        fields.priority = try priority()
        if members.isSet("production") {
            fields.environment = .text(ArraySlice("production".utf8))
        } else if members.isSet("development") {
            fields.environment = .text(ArraySlice("development".utf8))
        }
        fields.fill(from: delivery)
        fields.defaultPushType = .alert
        return try fields.request(payload: try payload()[...])
    }

    private func priority() throws(DecodingFailure) -> RequestFields.Value {
        guard let part = members.filled("priority") else { return .missing }
        switch part.text {
        case .some(let text) where text.equals("high"): return .integer(10)
        case .some(let text) where text.equals("normal"): return .integer(5)
        default: throw DecodingFailure("priority: expected high or normal")
        }
    }

    private func payload() throws(DecodingFailure) -> [UInt8] {
        var payload = PayloadComposer()
        payload.add("aps", aps())
        if let data = members["data"] {
            for (key, part) in try data.requireObject("data").members {
                guard !key.equals("aps") else { throw DecodingFailure("data: aps is made of the other fields") }
                payload.add(key: key, json: part.raw)
            }
        }
        return payload.end()
    }

    private func aps() -> PayloadComposer {
        var aps = PayloadComposer()
        addAlert(to: &aps)
        if let badge = members["badge"], badge.integer ?? -1 >= 0 { aps.add("badge", badge) }
        addSound(to: &aps)
        if members.isSet("content_available") { aps.add("content-available", json: "1".utf8) }
        if members.isSet("mutable_content") { aps.add("mutable-content", json: "1".utf8) }
        aps.add("category", members.filled("category"))
        aps.add("thread-id", members.filled("thread-id"))
        aps.add("interruption-level", members.filled("interruption_level"))
        for name: StaticString in [
            "url-args", "content-state", "stale-date", "dismissal-date", "event", "timestamp", "attributes-type",
            "attributes", "relevance-score",
        ] {
            aps.add(name, members.filled(name))
        }
        return aps
    }

    /// A text if only `message` is set, else a dictionary.
    private func addAlert(to aps: inout PayloadComposer) {
        let given = members["alert"].map(JSONMembers.init)
        var alert = PayloadComposer()
        alert.add("title", given?.filled("title") ?? members.filled("title"))
        alert.add("subtitle", given?.filled("subtitle"))
        for name: StaticString in [
            "title-loc-key", "title-loc-args", "loc-key", "loc-args", "action-loc-key", "launch-image", "action",
            "summary-arg", "summary-arg-count",
        ] {
            alert.add(name, given?.filled(name))
        }
        let body = given?.filled("body")
        let message = members.filled("message")
        if alert.isEmpty, body == nil {
            aps.add("alert", message)
        } else {
            alert.add("body", body ?? message)
            aps.add("alert", alert)
        }
    }

    /// `name` and `volume` make it a critical sound.
    private func addSound(to aps: inout PayloadComposer) {
        let (name, volume) = (members.filled("name"), members["volume"])
        guard name != nil || volume != nil else { return aps.add("sound", members.filled("sound")) }
        var sound = PayloadComposer()
        sound.add("critical", json: "1".utf8)
        sound.add("name", json: name?.raw ?? ArraySlice("\"default\"".utf8))
        sound.add("volume", json: volume?.raw ?? ArraySlice("1.0".utf8))
        aps.add("sound", sound)
    }
}

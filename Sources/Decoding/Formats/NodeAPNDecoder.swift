import Core

/// `node-apn`: the properties of node-apn's `Notification` as JSON, plus the device tokens.
///
/// Source: node-apn, `lib/notification/index.js` and `lib/notification/apsProperties.js`.
struct NodeAPNDecoder: RefusingDecoder {
    let name = "node-apn"
    private let sources: FieldSources

    static let format = DecoderFormat(
        "node-apn", version: "1.0.0", "Notifications of node-apn, with their device tokens beside them.",
        FieldSources.settings()
    ) { options in NodeAPNDecoder(sources: FieldSources(&options)) }

    func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let body = try JSONPart.object(delivery.body)
        return .request(try request(JSONMembers(body), MappedMessage(delivery: delivery, document: body)))
    }

    private func request(_ note: JSONMembers, _ mapped: MappedMessage) throws(DecodingFailure) -> Request {
        var fields = RequestFields()
        fields.takesDigits = true
        fields.topic = note.filledValue("topic")
        fields.id = note.filledValue("id")
        fields.collapseID = note.filledValue("collapseId")
        fields.pushType = note.filledValue("pushType")
        fields.priority = note.value("priority")
        fields.channelID = note.filledValue("channelId")
        // -1 means no expiry.
        if let expiry = note["expiry"], expiry.integer ?? 0 >= 0 { fields.expiration = note.value("expiry") }
        if case .missing = fields.channelID { try Self.addTokens(&fields, note) }
        try sources.fill(&fields, from: mapped)
        fields.fill(from: mapped.delivery)
        fields.defaultPushType = .alert
        return try fields.request(payload: try Self.payload(note))
    }

    /// In node-apn the tokens are a separate argument; producers use these names for them.
    private static func addTokens(_ fields: inout RequestFields, _ note: JSONMembers) throws(DecodingFailure) {
        for key: StaticString in ["deviceToken", "token", "deviceTokens", "tokens"] {
            guard let part = note.filled(key) else { continue }
            if part.kind == .array {
                fields.deviceTokens = try part.texts(key.description)
            } else {
                fields.deviceToken = note.value(key)
            }
            return
        }
    }

    private static func payload(_ note: JSONMembers) throws(DecodingFailure) -> ArraySlice<UInt8> {
        if let raw = note["rawPayload"] {
            guard raw.kind == .object, !raw.isEmptyObject else {
                throw DecodingFailure("rawPayload: expected an object with a key, found \(raw.kind.name)")
            }
            return raw.raw
        }
        var payload = PayloadComposer()
        if let mdm = note["mdm"] ?? note["_mdm"] {
            payload.add("mdm", mdm)
            return payload.end()[...]
        }
        let aps = try NodeAPS(note).compose()
        if !aps.isEmpty { payload.add("aps", aps) }
        if let custom = note["payload"] {
            for (key, part) in try custom.requireObject("payload").members where !key.equals("aps") {
                payload.add(key: key, json: part.raw)
            }
        }
        guard !payload.isEmpty else { throw DecodingFailure("aps: missing, expected it or what it is made of") }
        return payload.end()[...]
    }
}

/// The `aps` dictionary that node-apn's setters would produce.
private struct NodeAPS {
    private let note: JSONMembers
    private let given: [(key: ArraySlice<UInt8>, part: JSONPart)]

    /// Properties whose value is copied to `aps` unchanged.
    private static let plain: [(property: StaticString, key: StaticString)] = [
        ("badge", "badge"), ("sound", "sound"), ("category", "category"), ("threadId", "thread-id"),
        ("interruptionLevel", "interruption-level"), ("targetContentIdentifier", "target-content-id"),
        ("relevanceScore", "relevance-score"), ("urlArgs", "url-args"), ("timestamp", "timestamp"),
        ("staleDate", "stale-date"), ("event", "event"), ("contentState", "content-state"),
        ("dismissalDate", "dismissal-date"), ("attributesType", "attributes-type"), ("attributes", "attributes"),
    ]

    private static let flags: [(property: StaticString, key: StaticString)] = [
        ("contentAvailable", "content-available"), ("mutableContent", "mutable-content"),
    ]

    /// Properties that make the alert a dictionary.
    private static let alert: [(property: StaticString, key: StaticString)] = [
        ("title", "title"), ("subtitle", "subtitle"), ("locKey", "loc-key"), ("locArgs", "loc-args"),
        ("titleLocKey", "title-loc-key"), ("titleLocArgs", "title-loc-args"), ("subtitleLocKey", "subtitle-loc-key"),
        ("subtitleLocArgs", "subtitle-loc-args"), ("action", "action"), ("actionLocKey", "action-loc-key"),
        ("launchImage", "launch-image"),
    ]

    init(_ note: JSONMembers) throws(DecodingFailure) {
        self.note = note
        let aps = note["aps"]
        guard aps?.kind ?? .object == .object else { throw DecodingFailure("aps: expected an object") }
        given = aps?.members ?? []
    }

    func compose() -> PayloadComposer {
        var aps = PayloadComposer()
        addAlert(to: &aps)
        for (property, key) in Self.plain { aps.add(key, note[property]) }
        for (property, key) in Self.flags where note.isSet(property) { aps.add(key, json: "1".utf8) }
        for (key, part) in given where !isWritten(key) { aps.add(key: key, json: part.raw) }
        return aps
    }

    private func isWritten(_ key: ArraySlice<UInt8>) -> Bool {
        key.equals("alert") || Self.plain.contains { key.equals($0.key) && note[$0.property] != nil }
            || Self.flags.contains { key.equals($0.key) && note.isSet($0.property) }
    }

    private func addAlert(to aps: inout PayloadComposer) {
        let base = note["alert"] ?? given.last { $0.key.equals("alert") }?.part
        let body = note["body"]
        let parts = Self.alert.compactMap { property, key in note[property].map { (key, $0) } }
        guard !parts.isEmpty || (body != nil && base?.kind == .object) else { return aps.add("alert", body ?? base) }
        var alert = PayloadComposer()
        for (key, part) in parts { alert.add(key, part) }
        if base?.kind == .object {
            alert.add("body", body)
            for (key, part) in base?.members ?? []
            where !parts.contains(where: { key.equals($0.0) }) && !(body != nil && key.equals("body")) {
                alert.add(key: key, json: part.raw)
            }
        } else {
            alert.add("body", body ?? base)
        }
        aps.add("alert", alert)
    }
}

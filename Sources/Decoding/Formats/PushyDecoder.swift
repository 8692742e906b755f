import Core

/// `pushy`: Pushy's `SimpleApnsPushNotification`, serialised by Jackson or Gson.
///
/// Source: Pushy, `util/SimpleApnsPushNotification.java`, `PushType.java` and `DeliveryPriority.java`. The payload is
/// JSON in a string, and is sent unchanged after unescaping.
struct PushyDecoder: RefusingDecoder {
    let name = "pushy"

    static let format = DecoderFormat(
        "pushy", version: "1.0.0", "Pushy's notifications, as Jackson or Gson writes them."
    ) { _ in PushyDecoder() }

    func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        return .request(try Self.request(JSONMembers(try JSONPart.object(delivery.body)), delivery))
    }

    private static func request(_ members: JSONMembers, _ delivery: Delivery) throws(DecodingFailure) -> Request {
        var fields = RequestFields()
        fields.deviceToken = members.filledValue("token")
        fields.topic = members.filledValue("topic")
        fields.collapseID = members.filledValue("collapseId")
        fields.id = members.filledValue("apnsId")
        fields.pushType = pushType(members)
        fields.priority = try priority(members)
        fields.expiration = try expiration(members["invalidationTime"] ?? members["expiration"])
        fields.fill(from: delivery)
        fields.defaultPushType = .alert
        guard let payload = members["payload"]?.text else {
            throw DecodingFailure("payload: expected JSON in a string")
        }
        try RequestFields.checkPayload(payload, "payload")
        return try fields.request(payload: payload)
    }

    /// An enum's name, such as `LIVE_ACTIVITY`.
    private static func pushType(_ members: JSONMembers) -> RequestFields.Value {
        guard case .text(let name) = members.filledValue("pushType") else { return members.filledValue("pushType") }
        return .text(name.filter { $0 != UInt8(ascii: "_") }.lowered[...])
    }

    private static func priority(_ members: JSONMembers) throws(DecodingFailure) -> RequestFields.Value {
        guard let part = members["priority"] else { return .missing }
        if let integer = part.integer { return .integer(integer) }
        switch part.text {
        case .some(let name) where name.equals("IMMEDIATE"): return .integer(10)
        case .some(let name) where name.equals("CONSERVE_POWER"): return .integer(5)
        default: throw DecodingFailure("priority: expected IMMEDIATE or CONSERVE_POWER")
        }
    }

    /// Numbers from here on are milliseconds; as seconds they would be after the year 5138.
    private static let smallestMilliseconds: Int64 = 100_000_000_000

    /// Accepts ISO 8601 text, seconds with a fraction, milliseconds, or an object with the fields of Java's `Instant`.
    private static func expiration(_ part: JSONPart?) throws(DecodingFailure) -> RequestFields.Value {
        guard let part else { return .missing }
        switch part.kind {
        case .string:
            if let time = part.text.flatMap({ WallTime(rfc3339: $0) }) { return .integer(time.seconds) }
        case .number:
            let whole = part.raw.prefix { $0 != UInt8(ascii: ".") }
            if let number = JSONText.integer(whole) {
                return .integer(number >= smallestMilliseconds ? number / 1000 : number)
            }
        case .object:
            let members = JSONMembers(part)
            if let seconds = (members["seconds"] ?? members["epochSecond"])?.integer { return .integer(seconds) }
        default: break
        }
        throw DecodingFailure("invalidationTime: expected a time as Jackson or Gson writes it")
    }
}

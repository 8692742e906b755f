import HarebellKit

/// `orders`: what a shop says of its orders.
///
///     {
///         "order": "4711", "state": "shipped", "not-before": "2026-09-21T08:00:00Z",
///         "title": "On its way", "text": "Order 4711 has been handed over.",
///         "devices": ["00fc13ad…"]
///     }
struct OrderDecoder: Decoder {
    let name = "orders"
    private let topic: String
    private let quietStates: [String]
    private let longestDelay: Int

    static let format = DecoderFormat(
        "orders", version: "1.0.0", "What the shop says of its orders.",
        [
            .text("topic", bytes: 1...255, "The bundle ID of the app that customers have."),
            .texts(
                "quiet_states", bytes: 1...64, count: 0...16, default: .value(["draft"]),
                "States that nobody is told of."),
            .integer(
                "longest_delay_seconds", 0...604_800, default: .value(86400),
                "How long not-before may put a message off."),
        ]
    ) { options in OrderDecoder(&options) }

    private init(_ options: inout DecoderOptions) {
        topic = options.text("topic") ?? ""
        quietStates = options.texts("quiet_states") ?? []
        longestDelay = options.integer("longest_delay_seconds") ?? 0
        // What the schema cannot say of one option alone is said here, with its place in the file.
        if topic.hasSuffix(".voip") { options.report("topic", "the shop makes no calls: expected the bundle ID alone") }
    }

    func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        do throws(DecodingFailure) {
            return try decode(JSONPart.object(delivery.body), at: now)
        } catch {
            return .reject(error)
        }
    }

    private func decode(_ order: JSONPart, at now: WallTime) throws(DecodingFailure) -> Decoded {
        guard let state = order["state"]?.text else { throw DecodingFailure("state: expected a string") }
        guard !quietStates.contains(where: { state.elementsEqual($0.utf8) }) else {
            return .ignore(reason: "a quiet state")
        }
        if let wait = try wait(order["not-before"], at: now) { return .later(wait) }
        guard let number = order["order"]?.text else { throw DecodingFailure("order: expected a string") }

        var fields = RequestFields()
        fields.set(.topic, RequestFields.Value(topic))
        fields.set(.pushType, RequestFields.Value("alert"))
        // A later state of the same order takes the place of an earlier one on the device.
        fields.set(.collapseID, RequestFields.Value("order-\(String(decoding: number, as: UTF8.self))"))
        fields.deviceTokens = try tokens(order["devices"])
        var request = try fields.request(checking: payload(of: order))
        // Tells requests apart where the shop sets no message id.
        request.key = number + [UInt8(ascii: " ")] + state
        return .request(request)
    }

    /// How long to wait; `nil` where it is time.
    private func wait(_ part: JSONPart?, at now: WallTime) throws(DecodingFailure) -> Duration? {
        guard let part else { return nil }
        guard let start = part.text.flatMap({ WallTime(rfc3339: $0) }) else {
            throw DecodingFailure("not-before: expected a time such as 2026-09-21T08:00:00Z")
        }
        guard start > now else { return nil }
        let wait = start.seconds - now.seconds
        guard wait <= longestDelay else {
            throw DecodingFailure("not-before: more than longest_delay_seconds (\(longestDelay)) away")
        }
        return .seconds(max(wait, 1))
    }

    private func tokens(_ part: JSONPart?) throws(DecodingFailure) -> [ArraySlice<UInt8>] {
        var tokens: [ArraySlice<UInt8>] = []
        for (place, element) in (part?.elements ?? []).enumerated() {
            guard let token = element.text else { throw DecodingFailure("devices[\(place)]: expected a string") }
            tokens.append(token)
        }
        return tokens
    }

    /// The strings go into the payload as they stand in the message, with their quotes and escapes.
    private func payload(of order: JSONPart) throws(DecodingFailure) -> ArraySlice<UInt8> {
        guard let title = order["title"], title.text != nil, let text = order["text"], text.text != nil else {
            throw DecodingFailure("title, text: expected strings")
        }
        var payload = Array(#"{"aps":{"alert":{"title":"#.utf8)
        payload += title.raw
        payload += Array(#","body":"#.utf8)
        payload += text.raw
        payload += Array("}}}".utf8)
        return payload[...]
    }
}

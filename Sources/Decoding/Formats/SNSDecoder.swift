import Core
import Settings

/// `sns`: a message for Amazon SNS mobile push, with one JSON text per platform.
///
/// The text for APNs is sent unchanged after unescaping. Attributes are AMQP headers, or fields of the enclosing
/// message. Source: Amazon SNS developer guide, "Publishing with platform-specific payloads", "Message attributes for
/// mobile push" (`AWS.SNS.MOBILE.…`).
struct SNSDecoder: RefusingDecoder {
    let name = "sns"
    private let sources: FieldSources
    /// Whether the sandbox text takes precedence if both are present.
    private let prefersSandbox: Bool

    static let format = DecoderFormat(
        "sns", version: "1.0.0", "Amazon SNS's messages for mobile push.",
        FieldSources.settings(FieldSources.names.filter { $0 != .environment }) + [
            Setting(
                "platform", .choice(["APNS", "APNS_SANDBOX"]), default: "APNS",
                "The text to use if the message has both.")
        ]
    ) { options in
        SNSDecoder(
            sources: FieldSources(&options, FieldSources.names.filter { $0 != .environment }),
            prefersSandbox: options.text("platform") == "APNS_SANDBOX")
    }

    /// A key of the message for APNs.
    private struct Platform {
        let key: StaticString
        let environment: StaticString
        let pushType: PushType?
    }

    private static let production = [
        Platform(key: "APNS", environment: "production", pushType: nil),
        Platform(key: "APNS_VOIP", environment: "production", pushType: .voip),
    ]
    private static let sandbox = [
        Platform(key: "APNS_SANDBOX", environment: "development", pushType: nil),
        Platform(key: "APNS_VOIP_SANDBOX", environment: "development", pushType: .voip),
    ]

    func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let body = try JSONPart.object(delivery.body)
        let outer = JSONMembers(body)
        guard let message = outer["Message"] else {
            return try decoded(outer, nil, body, delivery, at: now)
        }
        // As passed to Publish, or as forwarded by a topic.
        let inner = try JSONPart.object(message.text ?? [], called: "Message")
        return try decoded(JSONMembers(inner), outer["MessageAttributes"], body, delivery, at: now)
    }

    private func decoded(
        _ message: JSONMembers, _ attributes: JSONPart?, _ body: JSONPart, _ delivery: Delivery, at now: WallTime
    ) throws(DecodingFailure) -> Decoded {
        let platforms =
            prefersSandbox ? Self.sandbox + Self.production : Self.production + Self.sandbox
        guard let platform = platforms.first(where: { message[$0.key] != nil }) else {
            // SNS sends the default text to a platform without a specific one.
            guard let text = message["default"]?.text, message.isAlone("default") else {
                return .ignore(reason: "for other platforms")
            }
            var aps = PayloadComposer()
            aps.add("alert", text: text)
            var payload = PayloadComposer()
            payload.add("aps", aps)
            let usual = prefersSandbox ? Self.sandbox[0] : Self.production[0]
            return .request(
                try fields(usual, attributes, body, delivery, at: now).request(payload: payload.end()[...]))
        }
        guard let text = message[platform.key]?.text else {
            throw DecodingFailure("\(platform.key): expected JSON in a string")
        }
        try RequestFields.checkPayload(text, platform.key.description)
        return .request(try fields(platform, attributes, body, delivery, at: now).request(payload: text))
    }

    private func fields(
        _ platform: Platform, _ attributes: JSONPart?, _ body: JSONPart, _ delivery: Delivery, at now: WallTime
    ) throws(DecodingFailure) -> RequestFields {
        var fields = RequestFields()
        fields.takesDigits = true
        func attribute(_ name: String) -> RequestFields.Value {
            switch delivery.header(named: name.utf8) {
            case .text(let text): return .text(text)
            case .integer(let integer): return .integer(integer)
            default: break
            }
            let found = attributes?[name.utf8]
            let text = found?["StringValue".utf8]?.text ?? found?["Value".utf8]?.text
            return text.map { .text($0) } ?? .missing
        }
        fields.pushType = attribute("AWS.SNS.MOBILE.APNS.PUSH_TYPE")
        fields.topic = attribute("AWS.SNS.MOBILE.APNS.TOPIC")
        fields.priority = attribute("AWS.SNS.MOBILE.APNS.PRIORITY")
        fields.collapseID = attribute("AWS.SNS.MOBILE.APNS.COLLAPSE_ID")
        switch attribute("AWS.SNS.MOBILE.\(platform.key).TTL") {
        case .missing: break
        case .integer(let seconds): fields.expiration = RequestFields.end(of: seconds, delivery, at: now)
        case .text(let text):
            guard let seconds = JSONText.integer(text) else {
                throw DecodingFailure("AWS.SNS.MOBILE.\(platform.key).TTL: expected seconds")
            }
            fields.expiration = RequestFields.end(of: seconds, delivery, at: now)
        case .other: throw DecodingFailure("AWS.SNS.MOBILE.\(platform.key).TTL: expected seconds")
        }
        fields.environment = .text(ArraySlice(platform.environment.description.utf8))
        try sources.fill(&fields, from: MappedMessage(delivery: delivery, document: body))
        fields.fill(from: delivery)
        fields.defaultPushType = platform.pushType ?? .alert
        return fields
    }
}

extension JSONMembers {
    /// Whether this is the only key.
    fileprivate func isAlone(_ key: StaticString) -> Bool {
        keys.allSatisfy { $0.equals(key) }
    }
}

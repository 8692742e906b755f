import Core

/// The fields of a request under Apple's header names, not yet validated.
///
/// All formats use it, so that validation and errors are the same for each.
package struct RequestFields {
    /// The known keys and headers.
    package enum Name: CaseIterable, Sendable {
        case deviceToken, deviceTokens, channelID, topic, pushType, id, priority, expiration, collapseID, environment
        case notBefore, payload, channel

        /// Apple's header name, or ours.
        package var text: StaticString {
            switch self {
            case .deviceToken: "device-token"
            case .deviceTokens: "device-tokens"
            case .channelID: "apns-channel-id"
            case .topic: "apns-topic"
            case .pushType: "apns-push-type"
            case .id: "apns-id"
            case .priority: "apns-priority"
            case .expiration: "apns-expiration"
            case .collapseID: "apns-collapse-id"
            case .environment: "environment"
            case .notBefore: "not-before"
            case .payload: "payload"
            case .channel: "channel"
            }
        }

        init?(_ text: ArraySlice<UInt8>) { self.init(text.span) }

        init?(_ text: Span<UInt8>) {
            // Most names differ in length, so one comparison suffices.
            switch text.count {
            case 7 where text.equals("payload"): self = .payload
            case 7 where text.equals("apns-id"): self = .id
            case 7 where text.equals("channel"): self = .channel
            case 10 where text.equals("apns-topic"): self = .topic
            case 10 where text.equals("not-before"): self = .notBefore
            case 11 where text.equals("environment"): self = .environment
            case 12 where text.equals("device-token"): self = .deviceToken
            case 13 where text.equals("apns-priority"): self = .priority
            case 13 where text.equals("device-tokens"): self = .deviceTokens
            case 14 where text.equals("apns-push-type"): self = .pushType
            case 15 where text.equals("apns-expiration"): self = .expiration
            case 15 where text.equals("apns-channel-id"): self = .channelID
            case 16 where text.equals("apns-collapse-id"): self = .collapseID
            default: return nil
            }
        }
    }

    /// The value of a field in a message.
    enum Value: Sendable {
        case missing
        case text(ArraySlice<UInt8>)
        case integer(Int64)
        /// Any other type; never valid.
        case other

        init(_ value: Delivery.HeaderValue) {
            switch value {
            case .text(let text): self = .text(text)
            case .integer(let integer): self = .integer(integer)
            default: self = .other
            }
        }
    }

    /// The maximum number of device tokens in a fan-out.
    static let maximumTokens = 500
    /// Source: "Sending broadcast push notification requests to APNs".
    static let maximumBroadcast = 5120

    var deviceToken = Value.missing
    /// The tokens of a fan-out; their order determines the notifications' positions. `nil` if there are none. An
    /// invalid token does not affect the others.
    var deviceTokens: [ArraySlice<UInt8>]?
    var channelID = Value.missing
    var topic = Value.missing
    var pushType = Value.missing
    var id = Value.missing
    var priority = Value.missing
    var expiration = Value.missing
    var collapseID = Value.missing
    var environment = Value.missing
    var notBefore = Value.missing
    /// Whether digits in a text are accepted as an integer.
    var takesDigits = false

    /// Fields without values.
    init() {}

    /// Sets one field. `payload`, `deviceTokens` and `channel` are ignored; they are set differently.
    mutating func set(_ name: Name, _ value: Value) {
        switch name {
        case .deviceToken: deviceToken = value
        case .channelID: channelID = value
        case .topic: topic = value
        case .pushType: pushType = value
        case .id: id = value
        case .priority: priority = value
        case .expiration: expiration = value
        case .collapseID: collapseID = value
        case .environment: environment = value
        case .notBefore: notBefore = value
        case .payload, .deviceTokens, .channel: break
        }
    }

    /// - Parameter place: its name in an error.
    /// - Throws: unless the bytes are a JSON object with at least one key.
    static func checkPayload(_ payload: ArraySlice<UInt8>, _ place: String) throws(DecodingFailure) {
        let value: JSONValue
        do throws(JSONFailure) {
            var scanner = JSONScanner()
            value = try scanner.value(payload.span, depth: 0)
            try scanner.end(payload.span)
        } catch {
            throw DecodingFailure(error, in: place)
        }
        guard value.kind == .object else {
            throw DecodingFailure("\(place): expected a JSON object, found \(value.kind.name)")
        }
        guard !value.isEmptyObject(in: payload) else { throw DecodingFailure("\(place): expected at least one key") }
    }

    /// Validates the fields and creates a request.
    ///
    /// Exactly one of device token, device tokens and channel is required. The push type is optional if the payload
    /// determines it. All other fields are optional.
    ///
    /// - Parameter payload: a validated JSON object. It is sent to APNs unchanged.
    /// - Throws: the first error, with the name of the field.
    func request(payload: ArraySlice<UInt8>) throws(DecodingFailure) -> Request {
        let recipients = try recipients()
        var isBroadcast = false
        if case .one(.channel) = recipients { isBroadcast = true }
        let type = try parsePushType(payload: payload, isBroadcast: isBroadcast)
        if isBroadcast { try expectNone(collapseID, "apns-collapse-id", beside: "apns-channel-id") }
        let limit = isBroadcast ? Self.maximumBroadcast : type.maximumPayload
        guard payload.count <= limit else {
            throw DecodingFailure(
                "payload: \(payload.count) bytes, expected at most \(limit) for "
                    + "\(isBroadcast ? "a broadcast" : "\(type)")"
            )
        }
        let topic = try parseTopic()
        let priority = try parsePriority(type, isBroadcast: isBroadcast)
        let expiration = try parseExpiration(isBroadcast: isBroadcast)
        let collapseID = try parseCollapseID()
        let id = try parseID()
        let environment = try parseEnvironment()
        let notBefore = try parseNotBefore()
        let content = Notification.Content(
            topic: topic, pushType: type, priority: priority, expiration: expiration, collapseID: collapseID, id: id,
            environment: environment, payload: payload)
        switch recipients {
        case .one(let target): return Request([Notification(target: target, content)], notBefore: notBefore)
        case .several(let tokens):
            var notifications: [Notification] = []
            notifications.reserveCapacity(tokens.count)
            var refusals: [Request.Refusal] = []
            for (position, digits) in tokens.enumerated() {
                if let token = DeviceToken(hex: digits) {
                    notifications.append(Notification(target: .device(token), content))
                } else {
                    let failure = Self.badToken("device-tokens[\(position)]")
                    refusals.append(Request.Refusal(position: position, failure, id: id))
                }
            }
            return Request(notifications, refusals: refusals, notBefore: notBefore)
        }
    }

    /// - Throws: if a target is set as well.
    func request(about operation: ChannelOperation) throws(DecodingFailure) -> Request {
        guard case (.missing, .missing) = (deviceToken, channelID) else {
            throw DecodingFailure("channel: expected neither device-token nor apns-channel-id beside it")
        }
        try expectNone(pushType, "apns-push-type", beside: "channel")
        try expectNone(priority, "apns-priority", beside: "channel")
        try expectNone(collapseID, "apns-collapse-id", beside: "channel")
        let notification = Notification(
            operation, topic: try parseTopic(), expiration: try parseExpiration(isBroadcast: false),
            id: try parseID(), environment: try parseEnvironment())
        return Request([notification], notBefore: try parseNotBefore())
    }

    /// Refuses fields that do not apply: the producer's mistake is reported instead of ignored.
    private func expectNone(_ value: Value, _ name: StaticString, beside other: StaticString) throws(DecodingFailure) {
        if case .missing = value { return }
        throw DecodingFailure("\(name): expected none beside \(other)")
    }

    private enum Recipients {
        case one(Notification.Target)
        /// Device tokens, not yet validated. An invalid one does not affect the others.
        case several([ArraySlice<UInt8>])
    }

    private func recipients() throws(DecodingFailure) -> Recipients {
        switch (deviceToken, deviceTokens, channelID) {
        case (.missing, .none, .missing):
            throw DecodingFailure("device-token: missing, expected it or device-tokens or apns-channel-id")
        case (.text(let digits), .none, .missing):
            guard let token = DeviceToken(hex: digits) else { throw Self.badToken("device-token") }
            return .one(.device(token))
        case (.missing, .some(let tokens), .missing):
            guard (1...Self.maximumTokens).contains(tokens.count) else {
                throw Self.badCount(tokens.count)
            }
            return .several(tokens)
        case (.missing, .none, .text(let id)):
            guard ChannelOperation.isChannelID(id) else { throw Self.badChannelID }
            return .one(.channel(id))
        case (.missing, .none, _):
            throw Self.badChannelID
        case (_, .none, .missing):
            throw Self.badToken("device-token")
        default:
            throw DecodingFailure("device-token: expected only one of device-token, device-tokens and apns-channel-id")
        }
    }

    private static func badToken(_ place: String) -> DecodingFailure {
        DecodingFailure(
            "\(place): expected an even number of hexadecimal digits, at most \(DeviceToken.maximumDigits)")
    }

    /// The error for an invalid number of device tokens.
    static func badCount(_ count: Int) -> DecodingFailure {
        DecodingFailure(
            "device-tokens: \(count) tokens, expected 1 to \(maximumTokens)", limit: count > 0 ? .tokens : nil)
    }

    private static var badChannelID: DecodingFailure {
        DecodingFailure("apns-channel-id: expected base64, at most \(ChannelOperation.maximumChannelID) characters")
    }

    private func parseTopic() throws(DecodingFailure) -> ArraySlice<UInt8>? {
        switch topic {
        case .missing: return nil
        case .text(let text) where !text.isEmpty && text.count <= 255 && text.allSatisfy(Self.isVisible): return text
        default: throw DecodingFailure("apns-topic: expected 1 to 255 visible ASCII characters")
        }
    }

    private func parsePushType(
        payload: ArraySlice<UInt8>, isBroadcast: Bool
    ) throws(DecodingFailure) -> PushType {
        let type: PushType
        switch pushType {
        case .missing:
            let content: PayloadContent
            do throws(JSONFailure) {
                content = try PayloadContent(payload)
            } catch {
                throw DecodingFailure(error, in: "payload")
            }
            guard let resolved = content.pushType else {
                throw DecodingFailure("apns-push-type: missing, and aps is ambiguous")
            }
            type = resolved
        case .text(let name):
            guard let known = PushType(name: name) else { throw Self.badPushType }
            type = known
        default:
            throw Self.badPushType
        }
        if isBroadcast, type != .liveactivity {
            throw DecodingFailure("apns-push-type: expected liveactivity for a broadcast, found \(type)")
        }
        return type
    }

    private static var badPushType: DecodingFailure {
        DecodingFailure(
            "apns-push-type: expected one of \(PushType.allCases.map(\.description).joined(separator: ", "))")
    }

    /// Apple requires 5 for background notifications, and a priority in every broadcast.
    private func parsePriority(_ type: PushType, isBroadcast: Bool) throws(DecodingFailure) -> Priority? {
        if case .missing = priority {
            return isBroadcast ? .immediate : type.rules.defaultPriority
        }
        guard let number = integer(priority), let value = UInt8(exactly: number), let known = Priority(rawValue: value)
        else {
            throw DecodingFailure("apns-priority: expected 1, 5 or 10")
        }
        guard type.rules.permits(known) else { throw DecodingFailure("apns-priority: expected 5 for \(type)") }
        return known
    }

    /// Apple requires an expiration in every broadcast; every channel accepts 0.
    private func parseExpiration(isBroadcast: Bool) throws(DecodingFailure) -> Int64? {
        if case .missing = expiration { return isBroadcast ? 0 : nil }
        guard let seconds = integer(expiration), seconds >= 0 else {
            throw DecodingFailure("apns-expiration: expected seconds since 1970 as an integer, or 0")
        }
        return seconds
    }

    private func parseCollapseID() throws(DecodingFailure) -> ArraySlice<UInt8>? {
        switch collapseID {
        case .missing:
            return nil
        case .text(let text):
            guard !text.isEmpty, text.count <= Notification.maximumCollapseID else {
                throw DecodingFailure(
                    "apns-collapse-id: \(text.count) bytes, expected 1 to \(Notification.maximumCollapseID)")
            }
            // Source: RFC 9113, section 8.2.1: the invalid characters of a field value.
            guard text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), text.first != 0x20, text.last != 0x20 else {
                throw DecodingFailure("apns-collapse-id: expected no control characters, and no space around it")
            }
            return text
        default:
            throw DecodingFailure("apns-collapse-id: expected a string")
        }
    }

    private func parseID() throws(DecodingFailure) -> NotificationID? {
        switch id {
        case .missing: return nil
        case .text(let text):
            if let id = NotificationID(text) { return id }
        default: break
        }
        throw DecodingFailure("apns-id: expected a UUID as 8-4-4-4-12 hexadecimal digits")
    }

    private func parseEnvironment() throws(DecodingFailure) -> Environment? {
        switch environment {
        case .missing: return nil
        case .text(let name) where name.equals("production"): return .production
        case .text(let name) where name.equals("development"): return .development
        default: throw DecodingFailure("environment: expected production or development")
        }
    }

    /// The end of the year 9999, in seconds since 1970.
    private static let latestTime: Int64 = 253_402_300_799

    private func parseNotBefore() throws(DecodingFailure) -> Int64? {
        if case .missing = notBefore { return nil }
        guard let seconds = integer(notBefore), (0...Self.latestTime).contains(seconds) else {
            throw DecodingFailure("not-before: expected seconds since 1970 as an integer")
        }
        return seconds
    }

    private func integer(_ value: Value) -> Int64? {
        switch value {
        case .integer(let integer): integer
        case .text(let digits) where takesDigits: JSONText.integer(digits)
        default: nil
        }
    }

    private static func isVisible(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F
    }
}

import Core

/// The fields of a request under Apple's header names, not yet validated.
///
/// All formats use it, so that validation and errors are the same for each.
package struct RequestFields {
    package enum Name: Int, CaseIterable, Sendable {
        case deviceToken, deviceTokens, channelID, topic, pushType, id, requestID, priority, expiration, collapseID
        case environment, notBefore, payload, channel

        /// In the order of the cases.
        private static let texts: [StaticString] = [
            "device-token", "device-tokens", "apns-channel-id", "apns-topic", "apns-push-type", "apns-id",
            "apns-request-id", "apns-priority", "apns-expiration", "apns-collapse-id", "environment", "not-before",
            "payload", "channel",
        ]

        /// Apple's header name, or ours.
        package var text: StaticString { Self.texts[rawValue] }

        /// Whether it names a target.
        package var isTarget: Bool { self == .deviceToken || self == .deviceTokens || self == .channelID }

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
            case 15 where text.equals("apns-request-id"): self = .requestID
            case 16 where text.equals("apns-collapse-id"): self = .collapseID
            default: return nil
            }
        }

        /// Compares without case, as HTTP does.
        init?(header text: Span<UInt8>) {
            if let name = Name(text) {
                self = name
                return
            }
            guard 7...16 ~= text.count, text.indices.contains(where: { 0x41...0x5A ~= text[$0] }) else { return nil }
            self.init(text.lowered[...])
        }
    }

    package enum Value: Sendable {
        case missing
        case text(ArraySlice<UInt8>)
        case integer(Int64)
        /// Any other type, by its name in errors; never valid.
        case other(StaticString)

        init(_ value: Delivery.HeaderValue) {
            switch value {
            case .text(let text): self = .text(text)
            case .integer(let integer): self = .integer(integer)
            case .number(let number):
                self = JSONText.wholeNumber(number).map { .integer($0) } ?? .other("a number with a fraction")
            case .boolean: self = .other("a boolean")
            case .other: self = .other("a value of another type")
            }
        }

        /// A value that the scanner found in `body`.
        init(_ value: JSONValue, in body: ArraySlice<UInt8>) {
            switch value.kind {
            case .null: self = .missing
            case .string: self = body.text(of: value).map { .text($0) } ?? .other("half of a surrogate pair")
            case .number:
                let number = JSONText.wholeNumber(body.slice(value.range))
                self = number.map { .integer($0) } ?? .other("a number that is not a 64-bit integer")
            case .object: self = KombuValue.plain(JSONPart(value, of: body)) ?? .other(value.kind.name)
            default: self = .other(value.kind.name)
            }
        }

        /// As an error shows it.
        var shown: String {
            switch self {
            case .missing: "nothing"
            case .integer(let integer): "\(integer)"
            case .other(let kind): kind.description
            case .text(let text): RequestFields.quoted(text)
            }
        }
    }

    private(set) var deviceToken = Value.missing
    /// The tokens of a fan-out; their order determines the notifications' positions. `nil` if there are none. An
    /// invalid token does not affect the others.
    private(set) var deviceTokens: [ArraySlice<UInt8>]?
    private(set) var channelID = Value.missing
    private(set) var topic = Value.missing
    private(set) var pushType = Value.missing
    private(set) var id = Value.missing
    private(set) var requestID = Value.missing
    private(set) var priority = Value.missing
    private(set) var expiration = Value.missing
    private(set) var collapseID = Value.missing
    private(set) var environment = Value.missing
    private(set) var notBefore = Value.missing
    /// Whether digits in a text are accepted as an integer.
    var takesDigits = false
    /// Where the values come from, for errors; `nil` for keys or headers of the same names.
    var sources: FieldSources?
    /// What is wrong with the message.
    var findings = Findings()
    /// Whether ``findings`` say that the target is not valid.
    private(set) var isTargetRefused = false
    /// Unknown keys or headers that look like fields.
    private(set) var nearMisses: [String] = []

    init() {}

    /// Sets one field. `payload`, `device-tokens` and `channel` are ignored; they are set differently.
    mutating func set(_ name: Name, _ value: Value) {
        switch name {
        case .deviceToken: deviceToken = value
        case .channelID: channelID = value
        case .topic: topic = value
        case .pushType: pushType = value
        case .id: id = value
        case .requestID: requestID = value
        case .priority: priority = value
        case .expiration: expiration = value
        case .collapseID: collapseID = value
        case .environment: environment = value
        case .notBefore: notBefore = value
        case .payload, .deviceTokens, .channel: break
        }
    }

    /// - Parameters:
    ///   - tokens: `nil` if the field holds something else.
    ///   - expectation: for the error then.
    mutating func setDeviceTokens(_ tokens: [ArraySlice<UInt8>]?, else expectation: @autoclosure () -> String) {
        deviceTokens = tokens
        guard tokens == nil else { return }
        isTargetRefused = true
        findings.add(DecodingFailure("device-tokens: expected \(expectation())"))
    }

    // MARK: Near misses

    /// The maximum number of near misses that are named.
    private static let maximumNearMisses = 4
    /// The first two letters of each field's name, with and without `apns-` or `device-`. Names that begin otherwise
    /// are not compared, because a message may have many other headers.
    private static let beginnings: Set<UInt16> = Set(
        ["ap", "de", "en", "no", "pa", "ch", "to", "pr", "pu", "ex", "co"].map { text in
            text.utf8.reduce(0) { $0 << 8 | UInt16($1) }
        })

    /// Keeps the name of an unknown key or header if it looks like that of a field.
    mutating func notice(unknown name: Span<UInt8>) {
        guard 3...20 ~= name.count, nearMisses.count < Self.maximumNearMisses else { return }
        let beginning = UInt16(name[0] | 0x20) << 8 | UInt16(name[1] | 0x20)
        guard Self.beginnings.contains(beginning), name.indices.allSatisfy({ name[$0].isLetterOrDigit(or: "-_") })
        else { return }
        let text = String(decoding: name.indices.map { name[$0] }, as: UTF8.self)
        if text == "aps" { return nearMisses.append("aps: belongs in payload") }
        guard let field = Self.field(like: text) else { return }
        nearMisses.append("\(text): not a field; did you mean \"\(field)\"?")
    }

    private static func field(like text: String) -> String? {
        let names = Name.allCases.map(\.text.description)
        let word = Suggestion.normal(text)
        let rest = names.first { name in
            let normal = Suggestion.normal(name)
            return ["apns", "device"].contains { normal == Array($0.utf8) + word }
        }
        return rest ?? Suggestion.closest(to: text, among: names)
    }
}

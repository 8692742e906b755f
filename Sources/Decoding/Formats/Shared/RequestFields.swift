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
        /// One that is not an integer, as written. Valid in conditions and payload templates only, as a boolean is.
        case number(ArraySlice<UInt8>)
        case boolean(Bool)
        /// Any other type, by its name in errors; never valid.
        case other(StaticString)

        init(_ value: Delivery.HeaderValue) {
            switch value {
            case .text(let text): self = .text(text)
            case .integer(let integer): self = .integer(integer)
            case .number(let number):
                self = JSONText.wholeNumber(number).map { .integer($0) } ?? .number(Array("\(number)".utf8)[...])
            case .boolean(let isTrue): self = .boolean(isTrue)
            case .other: self = .other("a decimal, a table, an array or nothing")
            }
        }

        /// A value that the scanner found in `body`.
        init(_ value: JSONValue, in body: borrowing ArraySlice<UInt8>) {
            switch value.kind {
            case .null: self = .missing
            case .string: self = body.text(of: value).map { .text($0) } ?? .other("half of a surrogate pair")
            case .number:
                let digits = body.slice(value.range)
                self = JSONText.wholeNumber(digits).map { .integer($0) } ?? .number(digits)
            case .boolean: self = .boolean(body.slice(value.range).equals("true"))
            case .object:
                self = KombuValue.plain(JSONPart(value, of: copy body)) ?? .other(value.kind.name)
            default: self = .other(value.kind.name)
            }
        }

        var isMissing: Bool {
            if case .missing = self { true } else { false }
        }

        var shown: String {
            switch self {
            case .missing: "nothing"
            case .integer(let integer): "\(integer)"
            case .number(let digits): RequestFields.shortened(digits)
            case .boolean: "a boolean"
            case .other(let kind): kind.description
            case .text(let text): RequestFields.quoted(text)
            }
        }
    }

    private var values = InlineArray<14, Value> { _ in .missing }
    /// The tokens of a fan-out; their order determines the notifications' positions. `nil` if there are none. An
    /// invalid token does not affect the others.
    private(set) var deviceTokens: [ArraySlice<UInt8>]?
    /// Whether digits in a text are accepted as an integer.
    var takesDigits = false
    /// Where the values come from, for errors; empty for keys or headers of the same names.
    var places: [Name: String] = [:]
    var findings = Findings()
    /// ``Request/key``.
    var key: ArraySlice<UInt8>?
    /// Whether ``findings`` say that the target is not valid.
    private(set) var isTargetRefused = false
    /// Mistakes that do not make the message invalid.
    var remarks = Remarks()
    /// One bit for each field that was found.
    private var found: UInt16 = 0

    /// The value of a field. `payload`, `device-tokens` and `channel` are read differently.
    subscript(name: Name) -> Value {
        _read { yield values[name.rawValue] }
        _modify { yield &values[name.rawValue] }
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

    /// Counts a key or header, of which the last one is used.
    mutating func count(_ name: Name) {
        let bit: UInt16 = 1 << name.rawValue
        if found & bit != 0 { remarks.add("\(name.text): comes twice; the last one is used") }
        found |= bit
    }

    /// Names the headers beside a request in JSON that look like fields, or are ones that its body lacks.
    mutating func remark(onHeadersOf delivery: Delivery) {
        func isFound(_ name: Name) -> Bool { found & 1 << name.rawValue != 0 }
        let isForDevices = !self[.deviceToken].isMissing || isFound(.deviceTokens)
        let isForChannel = !self[.channelID].isMissing || isFound(.channel)
        delivery.forEachHeader { header, _ in
            guard let name = Name(header: header.span) else { return remarks.notice(unknown: header.span) }
            // Without any field, the body may be meant as a payload. In the body, a second target would be refused, and
            // beside a channel some fields.
            guard found != 0, self[name].isMissing, !isForChannel, !isForDevices || !name.isTarget,
                ![.payload, .channel, .requestID].contains(name)
            else { return }
            remarks.add("\(name.text): a header has no effect on a request in JSON; write it in the body")
        }
    }

    /// All that is wrong with a message.
    struct Findings {
        private(set) var details: [String] = []
        /// The first one that was exceeded.
        private(set) var limit: DecodingLimit?

        var isEmpty: Bool { details.isEmpty }

        mutating func add(_ failure: DecodingFailure) {
            limit = limit ?? failure.limit
            if !details.contains(failure.detail) { details.append(failure.detail) }
        }

        /// The value, or `nil` and a finding.
        @discardableResult
        mutating func check<Result>(_ parse: () throws(DecodingFailure) -> Result) -> Result? {
            do throws(DecodingFailure) {
                return try parse()
            } catch {
                add(error)
                return nil
            }
        }

        /// The content of a message whose envelope has these findings: with any, it is refused for them and its own.
        ///
        /// - Parameter key: from the envelope, for content without one.
        func joined(to content: Decoded, key: ArraySlice<UInt8>?) -> Decoded {
            let envelope = details.joined(separator: "; ")
            switch content {
            case .request(var request):
                request.key = request.key ?? key
                return isEmpty ? .request(request) : .reject(request.failure(envelope))
            case .reject(let failure):
                var failure = failure.keyed(key)
                if !isEmpty { failure.detail = "\(envelope); \(failure.detail)" }
                return .reject(failure)
            case .ignore, .later: return isEmpty ? content : .reject(DecodingFailure(envelope).keyed(key))
            }
        }
    }

    // MARK: Values in errors

    /// The beginning of a text from the message, on one line.
    static func quoted(_ text: ArraySlice<UInt8>) -> String {
        "\"\(shortened(text))\""
    }

    static func shortened(_ text: ArraySlice<UInt8>) -> String {
        let beginning = String(decoding: text.prefix(longestShown), as: UTF8.self)
        return ControlCharacters.escaped(beginning, quotes: true) + (text.count > longestShown ? "…" : "")
    }

    /// In bytes; shorter than a device token, which an error must not contain.
    static let longestShown = 40
}

package import Core

/// The source of a field's value, as written in the configuration.
///
/// | text | value |
/// |---|---|
/// | `/a/b` | the value at a JSON pointer (RFC 6901) in the body |
/// | `header:NAME`, `property:NAME` | an AMQP header or property |
/// | text with `{/a/b}`, `{header:NAME}`, `{property:NAME}` | a template; `{/a/b\|text}` has a default, `{{` is `{` |
/// | `constant:TEXT`, and any other text | the text itself |
package struct FieldSource: Equatable, Sendable {
    private enum Part: Equatable, Sendable {
        case text([UInt8])
        /// - Parameters:
        ///   - text: the reference as written in the configuration.
        ///   - isInString: whether it is within a JSON string.
        case value(FieldReference, text: String, fallback: [UInt8]?, isInString: Bool)
    }

    private let parts: [Part]
    /// As written in the configuration.
    let description: String
    /// The reference that is the whole source: its value keeps its type.
    let reference: FieldReference?

    package init(_ source: String) throws(Complaint) {
        if let constant = source.dropPrefix("constant:") {
            self.init([.text(Array(constant.utf8))], description: source)
        } else if Self.beginsReference(source) {
            let reference = try FieldReference(source)
            let part = Part.value(reference, text: source, fallback: nil, isInString: false)
            self.init([part], reference, description: source)
        } else {
            try self.init(template: source)
        }
    }

    /// - Parameter source: text such as `order-{/order/id}`, or JSON whose strings and values contain placeholders.
    init(template source: String) throws(Complaint) {
        var parts: [Part] = []
        var rest = Substring(source)
        var text: [UInt8] = []
        var (isInString, isEscaped) = (false, false)
        while let next = rest.popFirst() {
            let isDoubled = next == "{" && rest.first == "{"
            if isDoubled { rest.removeFirst() }
            guard !isDoubled, next == "{", Self.beginsReference(rest) else {
                for byte in String(next).utf8 {
                    text.append(byte)
                    if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
                    isEscaped = byte == UInt8(ascii: "\\") && isInString && !isEscaped
                }
                continue
            }
            guard let end = rest.firstIndex(of: "}") else {
                throw Complaint("\"{\(rest.prefix(20))\" has no closing brace")
            }
            let content = rest[..<end].split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
            rest = rest[rest.index(after: end)...]
            if !text.isEmpty { parts.append(.text(text)) }
            text = []
            let reference = try FieldReference(String(content[0]))
            let fallback = content.count > 1 ? Array(content[1].utf8) : nil
            parts.append(.value(reference, text: String(content[0]), fallback: fallback, isInString: isInString))
        }
        if !text.isEmpty || parts.isEmpty { parts.append(.text(text)) }
        self.init(parts, description: source)
    }

    private init(_ parts: [Part], _ reference: FieldReference? = nil, description: String) {
        self.description = description
        self.parts = parts
        self.reference = reference
    }

    private static func beginsReference(_ text: some StringProtocol) -> Bool {
        text.hasPrefix("/") || text.hasPrefix("header:") || text.hasPrefix("property:")
    }

    /// The value, if it is the same for every message.
    var constant: ArraySlice<UInt8>? {
        if parts.count == 1, case .text(let text) = parts[0] { text[...] } else { nil }
    }

    /// The template with 1 in place of each placeholder in a string and `value` in place of others, or with defaults.
    func example(_ value: String, usesDefaults: Bool) -> [UInt8] {
        parts.flatMap { part -> [UInt8] in
            switch part {
            case .text(let text): text
            case .value(_, _, let fallback?, _) where usesDefaults: fallback
            case .value(_, _, _, let isInString): Array((isInString ? "1" : value).utf8)
            }
        }
    }

    var readsBody: Bool {
        parts.contains { if case .value(.pointer, _, _, _) = $0 { true } else { false } }
    }

    /// Missing if one of its values is missing and has no default.
    func value(in message: MappedMessage) -> RequestFields.Value {
        if let reference { return message.value(of: reference) }
        if let constant { return .text(constant) }
        var text: [UInt8] = []
        for part in parts {
            switch part {
            case .text(let bytes): text += bytes
            case .value(let reference, _, let fallback, _):
                let value = message.value(of: reference)
                switch value {
                case .text(let value): text += value
                case .integer(let value): text.append(decimal: Int(value))
                case .missing:
                    guard let fallback else { return .missing }
                    text += fallback
                case .number, .boolean, .other: return value
                }
            }
        }
        return .text(text[...])
    }

    /// The template as JSON. A placeholder within quotes becomes part of that string; any other value is inserted as
    /// in the message.
    ///
    /// - Throws: if a value is missing and has no default, or is not allowed in a string.
    func json(in message: MappedMessage) throws(DecodingFailure) -> [UInt8] {
        var json: [UInt8] = []
        for part in parts {
            switch part {
            case .text(let bytes): json += bytes
            case .value(let reference, let text, let fallback, let isInString):
                if let value = try Self.json(of: reference, text, in: message, isInString: isInString) {
                    json += value
                } else if let fallback {
                    json += fallback
                } else {
                    throw DecodingFailure("payload: \(text) is missing")
                }
            }
        }
        return json
    }

    /// A value with characters for escapes, or as a part of a string; `nil` if it is missing.
    private static func json(
        of reference: FieldReference, _ text: String, in message: MappedMessage, isInString: Bool
    ) throws(DecodingFailure) -> ArraySlice<UInt8>? {
        var json: [UInt8] = []
        if case .pointer(let pointer) = reference {
            guard let part = message.part(at: pointer) else { return nil }
            guard !isInString || part.kind != .object && part.kind != .array else {
                throw DecodingFailure("payload: \(text): expected text, found \(part.kind.name)")
            }
            part.append(to: &json)
        } else {
            switch message.value(of: reference) {
            case .text(let text): json.appendJSON(string: text)
            case .integer(let value): json.append(decimal: Int(value))
            case .number(let digits): json += digits
            case .boolean(let isTrue): json.append(isTrue ? "true" : "false")
            case .missing, .other: return nil
            }
        }
        return isInString && json.first == UInt8(ascii: "\"") ? json.dropFirst().dropLast() : json[...]
    }
}

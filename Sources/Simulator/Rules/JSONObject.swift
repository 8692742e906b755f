import Core

/// The members of one JSON object; its whole text is validated.
///
/// Source: RFC 8259. Strings are validated for escapes and control characters, not for UTF-8. Nesting deeper than
/// ``maximumDepth`` is refused.
struct JSONObject {
    enum Kind {
        case object, array, string, number, literal
    }

    struct Member {
        /// Unmodified, without the quotes.
        let key: ArraySlice<UInt8>
        let kind: Kind
        /// Unmodified; a string without its quotes.
        let value: ArraySlice<UInt8>
    }

    static let maximumDepth = 64

    private(set) var members: [Member] = []

    /// - Returns: `nil` unless `text` is one JSON object, optionally surrounded by white space.
    init?(_ text: ArraySlice<UInt8>) {
        let bytes = text.span
        let base = text.startIndex
        var scanner = Scanner()
        scanner.skipSpace(bytes)
        guard scanner.take(bytes, UInt8(ascii: "{")) else { return nil }
        scanner.skipSpace(bytes)
        if !scanner.take(bytes, UInt8(ascii: "}")) {
            repeat {
                guard let key = scanner.key(bytes), let value = scanner.value(bytes, depth: 1) else { return nil }
                let range = value.range
                members.append(
                    Member(
                        key: text[base + key.lowerBound..<base + key.upperBound], kind: value.kind,
                        value: text[base + range.lowerBound..<base + range.upperBound]))
                scanner.skipSpace(bytes)
            } while scanner.take(bytes, UInt8(ascii: ","))
            guard scanner.take(bytes, UInt8(ascii: "}")) else { return nil }
        }
        scanner.skipSpace(bytes)
        guard scanner.position == bytes.count else { return nil }
    }

    subscript(key: StaticString) -> Member? {
        members.first { $0.key.equals(key) }
    }

    func string(_ key: StaticString) -> ArraySlice<UInt8>? {
        guard let member = self[key], member.kind == .string else { return nil }
        return member.value
    }

    func integer(_ key: StaticString) -> Int64? {
        guard let member = self[key], member.kind == .number else { return nil }
        return Int64(String(decoding: member.value, as: UTF8.self))
    }
}

/// A position in a JSON text that each call receives.
private struct Scanner {
    var position = 0

    mutating func skipSpace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    mutating func take(_ bytes: Span<UInt8>, _ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    mutating func key(_ bytes: Span<UInt8>) -> Range<Int>? {
        skipSpace(bytes)
        guard let key = string(bytes) else { return nil }
        skipSpace(bytes)
        return take(bytes, UInt8(ascii: ":")) ? key : nil
    }

    /// The content of a string.
    mutating func string(_ bytes: Span<UInt8>) -> Range<Int>? {
        guard take(bytes, UInt8(ascii: "\"")) else { return nil }
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return start..<position - 1
            case UInt8(ascii: "\\"):
                position += 1
                guard escape(bytes) else { return nil }
            case 0..<0x20:
                return nil
            default:
                position += 1
            }
        }
        return nil
    }

    private mutating func escape(_ bytes: Span<UInt8>) -> Bool {
        guard position < bytes.count else { return false }
        switch bytes[position] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
            return true
        case UInt8(ascii: "u"):
            guard position + 4 < bytes.count else { return false }
            for digit in position + 1...position + 4 {
                guard Character(UnicodeScalar(bytes[digit])).isHexDigit, bytes[digit] < 0x80 else { return false }
            }
            position += 5
            return true
        default:
            return false
        }
    }

    mutating func value(_ bytes: Span<UInt8>, depth: Int) -> (kind: JSONObject.Kind, range: Range<Int>)? {
        skipSpace(bytes)
        guard position < bytes.count else { return nil }
        let start = position
        switch bytes[position] {
        case UInt8(ascii: "\""):
            guard let inside = string(bytes) else { return nil }
            return (.string, inside)
        case UInt8(ascii: "{"):
            return object(bytes, depth: depth + 1) ? (.object, start..<position) : nil
        case UInt8(ascii: "["):
            return array(bytes, depth: depth + 1) ? (.array, start..<position) : nil
        case UInt8(ascii: "t"):
            return word(bytes, "true") ? (.literal, start..<position) : nil
        case UInt8(ascii: "f"):
            return word(bytes, "false") ? (.literal, start..<position) : nil
        case UInt8(ascii: "n"):
            return word(bytes, "null") ? (.literal, start..<position) : nil
        default:
            return number(bytes) ? (.number, start..<position) : nil
        }
    }

    private mutating func object(_ bytes: Span<UInt8>, depth: Int) -> Bool {
        guard depth <= JSONObject.maximumDepth else { return false }
        position += 1
        skipSpace(bytes)
        if take(bytes, UInt8(ascii: "}")) { return true }
        repeat {
            guard key(bytes) != nil, value(bytes, depth: depth) != nil else { return false }
            skipSpace(bytes)
        } while take(bytes, UInt8(ascii: ","))
        return take(bytes, UInt8(ascii: "}"))
    }

    private mutating func array(_ bytes: Span<UInt8>, depth: Int) -> Bool {
        guard depth <= JSONObject.maximumDepth else { return false }
        position += 1
        skipSpace(bytes)
        if take(bytes, UInt8(ascii: "]")) { return true }
        repeat {
            guard value(bytes, depth: depth) != nil else { return false }
            skipSpace(bytes)
        } while take(bytes, UInt8(ascii: ","))
        return take(bytes, UInt8(ascii: "]"))
    }

    private mutating func word(_ bytes: Span<UInt8>, _ word: String) -> Bool {
        for byte in word.utf8 {
            guard take(bytes, byte) else { return false }
        }
        return true
    }

    private mutating func digits(_ bytes: Span<UInt8>) -> Int {
        let start = position
        while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
            position += 1
        }
        return position - start
    }

    private mutating func number(_ bytes: Span<UInt8>) -> Bool {
        _ = take(bytes, UInt8(ascii: "-"))
        let first = position
        let whole = digits(bytes)
        guard whole > 0, whole == 1 || bytes[first] != UInt8(ascii: "0") else { return false }
        if take(bytes, UInt8(ascii: ".")) {
            guard digits(bytes) > 0 else { return false }
        }
        if take(bytes, UInt8(ascii: "e")) || take(bytes, UInt8(ascii: "E")) {
            if !take(bytes, UInt8(ascii: "+")) { _ = take(bytes, UInt8(ascii: "-")) }
            guard digits(bytes) > 0 else { return false }
        }
        return true
    }
}

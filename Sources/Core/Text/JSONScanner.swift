/// Why bytes are not JSON.
package struct JSONFailure: Error {
    /// Counted from 0.
    package let offset: Int
    /// The expected token.
    package let expectation: StaticString
    /// Whether it may be valid JSON that is nested too deeply.
    package private(set) var isTooDeep = false
}

/// A value's location in the bytes: nothing is copied and no tree is built.
package struct JSONValue: Sendable {
    package enum Kind: Equatable {
        case object, array, string, number, boolean, null

        /// For error texts: "found …".
        package var name: StaticString {
            switch self {
            case .object: "an object"
            case .array: "an array"
            case .string: "a string"
            case .number: "a number"
            case .boolean: "a boolean"
            case .null: "null"
            }
        }
    }

    package let kind: Kind
    /// The value's bytes; for a string, those between the quotes.
    package let range: Range<Int>
    /// Whether a string has escapes, so that its bytes differ from its text.
    package let isEscaped: Bool
}

/// Reads JSON once from start to end and validates it: grammar, escapes, UTF-8 and depth.
///
/// Source: RFC 8259; UTF-8 by RFC 3629, section 4. Like the grammar, it accepts a lone surrogate as an escape.
package struct JSONScanner {
    /// Deeper nesting is refused.
    package static let maximumDepth = 64

    package private(set) var position: Int
    /// The number of `null`s that were read.
    package private(set) var nulls = 0
    /// Whether nothing has been read since ``open(_:_:)``.
    private var isFirst = false

    package init(at position: Int = 0) {
        self.position = position
    }

    private static let space = UInt8(ascii: " ")
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    /// - Returns: the value at the current offset, which is skipped.
    /// - Parameter depth: the number of brackets open around it.
    package mutating func value(_ bytes: Span<UInt8>, depth: Int) throws(JSONFailure) -> JSONValue {
        skipSpace(bytes)
        let start = position
        switch peek(bytes) {
        case Self.quote:
            let isEscaped = try string(bytes)
            return JSONValue(kind: .string, range: start + 1..<position - 1, isEscaped: isEscaped)
        case UInt8(ascii: "{"):
            try container(bytes, depth: depth)
            return JSONValue(kind: .object, range: start..<position, isEscaped: false)
        case UInt8(ascii: "["):
            try container(bytes, depth: depth)
            return JSONValue(kind: .array, range: start..<position, isEscaped: false)
        default:
            return JSONValue(kind: try scalar(bytes), range: start..<position, isEscaped: false)
        }
    }

    /// Enters an object or an array.
    ///
    /// - Returns: whether the opening bracket was found.
    package mutating func open(_ bytes: Span<UInt8>, _ bracket: Unicode.Scalar) -> Bool {
        skipSpace(bytes)
        guard peek(bytes) == UInt8(ascii: bracket) else { return false }
        position += 1
        isFirst = true
        return true
    }

    /// Reads the next key of the current object and its colon; `nil` after the last one.
    package mutating func nextKey(_ bytes: Span<UInt8>) throws(JSONFailure) -> JSONValue? {
        guard try nextOfOpen(bytes, end: UInt8(ascii: "}")) else { return nil }
        let start = position
        guard peek(bytes) == Self.quote else { throw failure("a key") }
        let isEscaped = try string(bytes)
        let key = JSONValue(kind: .string, range: start + 1..<position - 1, isEscaped: isEscaped)
        try colon(bytes)
        return key
    }

    /// Whether the current array has another element.
    package mutating func nextElement(_ bytes: Span<UInt8>) throws(JSONFailure) -> Bool {
        try nextOfOpen(bytes, end: UInt8(ascii: "]"))
    }

    private mutating func nextOfOpen(_ bytes: Span<UInt8>, end: UInt8) throws(JSONFailure) -> Bool {
        let isFirst = isFirst
        self.isFirst = false
        return try next(bytes, isFirst: isFirst, end: end)
    }

    /// Requires that only white space follows.
    package mutating func end(_ bytes: Span<UInt8>) throws(JSONFailure) {
        skipSpace(bytes)
        guard position == bytes.count else { throw failure("nothing after the value") }
    }

    private mutating func next(_ bytes: Span<UInt8>, isFirst: Bool, end: UInt8) throws(JSONFailure) -> Bool {
        skipSpace(bytes)
        let byte = peek(bytes)
        if byte == end {
            position += 1
            return false
        }
        guard !isFirst else { return true }
        guard byte == UInt8(ascii: ",") else { throw failure("a comma or the closing bracket") }
        position += 1
        skipSpace(bytes)
        return true
    }

    /// Skips an object or an array without recursion: one bit per open bracket stores its kind.
    private mutating func container(_ bytes: Span<UInt8>, depth: Int) throws(JSONFailure) {
        var objects: UInt64 = 0
        var level = 0
        var isFirst = true
        repeat {
            if isFirst {
                level += 1
                guard depth + level <= Self.maximumDepth else {
                    throw JSONFailure(offset: position, expectation: "at most 64 levels of brackets", isTooDeep: true)
                }
                objects = objects << 1 | (bytes[position] == UInt8(ascii: "{") ? 1 : 0)
                position += 1
            }
            let isObject = objects & 1 == 1
            guard try next(bytes, isFirst: isFirst, end: isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                level -= 1
                objects >>= 1
                isFirst = false
                continue
            }
            isFirst = false
            if isObject {
                guard peek(bytes) == Self.quote else { throw failure("a key") }
                _ = try string(bytes)
                try colon(bytes)
                skipSpace(bytes)
            }
            switch peek(bytes) {
            case Self.quote: _ = try string(bytes)
            case UInt8(ascii: "{"), UInt8(ascii: "["): isFirst = true
            default: _ = try scalar(bytes)
            }
        } while level > 0
    }

    private mutating func colon(_ bytes: Span<UInt8>) throws(JSONFailure) {
        skipSpace(bytes)
        guard peek(bytes) == UInt8(ascii: ":") else { throw failure("a colon") }
        position += 1
    }

    private mutating func scalar(_ bytes: Span<UInt8>) throws(JSONFailure) -> JSONValue.Kind {
        switch peek(bytes) {
        case UInt8(ascii: "t"):
            try literal(bytes, "true")
            return .boolean
        case UInt8(ascii: "f"):
            try literal(bytes, "false")
            return .boolean
        case UInt8(ascii: "n"):
            try literal(bytes, "null")
            nulls += 1
            return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            try number(bytes)
            return .number
        default:
            throw failure("a value")
        }
    }

    private mutating func literal(_ bytes: Span<UInt8>, _ text: StaticString) throws(JSONFailure) {
        let count = text.utf8CodeUnitCount
        guard count <= bytes.count - position else { throw failure("a value") }
        for index in 0..<count where unsafe bytes[position + index] != text.utf8Start[index] {
            throw failure("a value")
        }
        position += count
    }

    private mutating func number(_ bytes: Span<UInt8>) throws(JSONFailure) {
        if peek(bytes) == UInt8(ascii: "-") { position += 1 }
        if peek(bytes) == UInt8(ascii: "0") {
            position += 1
        } else {
            try digits(bytes)
        }
        if peek(bytes) == UInt8(ascii: ".") {
            position += 1
            try digits(bytes)
        }
        if peek(bytes) | 0x20 == UInt8(ascii: "e") {
            position += 1
            if peek(bytes) == UInt8(ascii: "+") || peek(bytes) == UInt8(ascii: "-") { position += 1 }
            try digits(bytes)
        }
    }

    private mutating func digits(_ bytes: Span<UInt8>) throws(JSONFailure) {
        let start = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else { throw failure("a digit") }
    }

    /// Skips a string including its quotes.
    ///
    /// - Returns: whether it has escapes.
    private mutating func string(_ bytes: Span<UInt8>) throws(JSONFailure) -> Bool {
        var isEscaped = false
        var index = position + 1
        while true {
            index = Self.endOfPlainText(bytes, from: index)
            guard index < bytes.count else { break }
            let byte = bytes[index]
            if byte == Self.quote {
                position = index + 1
                return isEscaped
            }
            if byte == Self.backslash {
                isEscaped = true
                position = index
                try escape(bytes)
                index = position
            } else if 0xC2...0xDF ~= byte, index + 1 < bytes.count, bytes[index + 1] & 0xC0 == 0x80 {
                // The most frequent case of non-ASCII text.
                index += 2
            } else if byte >= 0x80 {
                position = index
                try sequence(bytes)
                index = position
            } else {
                position = index
                throw failure("no bare control character in a string")
            }
        }
        position = index
        throw failure("a closing quote")
    }

    /// The first byte that is not plain ASCII: a quote, a backslash, a control character, or part of a multi-byte
    /// character.
    ///
    /// Payloads are mostly text, so eight bytes are checked at a time. The highest bit of each byte that is not plain
    /// is set. A borrow may set the next byte's bit wrongly, but only the first set bit counts.
    @inline(__always)
    package static func endOfPlainText(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var index = start
        let lastWord = bytes.count - 8
        while index <= lastWord {
            let word = UInt64(
                littleEndian: unsafe bytes.bytes.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: index, as: UInt64.self))
            // Exchanges space and quote, so that a quote is below 0x21 like the control characters.
            let exchanged = word ^ ones &* UInt64(space ^ quote)
            var found = word | (exchanged &- ones &* UInt64(space + 1))
            // The minuend is zero for a backslash.
            found |= (word ^ ones &* UInt64(backslash)) &- ones
            found &= ones << 7
            guard found == 0 else { return index + found.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < bytes.count {
            let byte = bytes[index]
            guard byte >= space, byte < 0x80, byte != quote, byte != backslash else { break }
            index += 1
        }
        return index
    }

    private mutating func escape(_ bytes: Span<UInt8>) throws(JSONFailure) {
        position += 1
        switch peek(bytes) {
        case Self.quote, Self.backslash, UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            position += 1
            for _ in 0..<4 {
                guard peek(bytes).hexDigit != nil else { throw failure("four hexadecimal digits") }
                position += 1
            }
        default:
            throw failure("an escape")
        }
    }

    /// Skips one character of three or four bytes of UTF-8.
    private mutating func sequence(_ bytes: Span<UInt8>) throws(JSONFailure) {
        let lead = bytes[position]
        let second: ClosedRange<UInt8>
        let continuations: Int
        switch lead {
        case 0xE0: (second, continuations) = (0xA0...0xBF, 2)
        case 0xED: (second, continuations) = (0x80...0x9F, 2)
        case 0xE1...0xEF: (second, continuations) = (0x80...0xBF, 2)
        case 0xF0: (second, continuations) = (0x90...0xBF, 3)
        case 0xF1...0xF3: (second, continuations) = (0x80...0xBF, 3)
        case 0xF4: (second, continuations) = (0x80...0x8F, 3)
        default: throw failure("UTF-8")
        }
        guard position + continuations < bytes.count, second.contains(bytes[position + 1]) else {
            throw failure("UTF-8")
        }
        for index in position + 1...position + continuations where bytes[index] & 0xC0 != 0x80 {
            throw failure("UTF-8")
        }
        position += 1 + continuations
    }

    private mutating func skipSpace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case Self.space, UInt8(ascii: "\n"), UInt8(ascii: "\t"), UInt8(ascii: "\r"): position += 1
            default: return
            }
        }
    }

    /// The current byte; 0, which is never valid, at the end.
    private func peek(_ bytes: Span<UInt8>) -> UInt8 {
        position < bytes.count ? bytes[position] : 0
    }

    private func failure(_ expectation: StaticString) -> JSONFailure {
        JSONFailure(offset: position, expectation: expectation)
    }
}

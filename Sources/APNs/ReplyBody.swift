package import Core

/// The JSON dictionary in the body of an answer, and perhaps in GOAWAY's debug data.
///
/// Source: APNs Provider API, Table 6-5, "JSON data keys". Anything that is not a JSON dictionary gives neither key;
/// other keys are passed over.
package struct ReplyBody: Equatable, Sendable {
    package private(set) var reason: RejectionReason?
    /// Milliseconds since 1970 UTC.
    package private(set) var timestamp: Int64?

    /// Longer than every documented reason: a longer one is none, for reasons become labels of metrics.
    package static let maximumReason = 64
    private static let maximumDepth = 16

    package init(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        var scanner = Scanner(bytes: bytes)
        var body = ReplyBody(reason: nil, timestamp: nil)
        guard scanner.readDictionary({ key, scanner in body.readValue(of: key, from: &scanner) }) else { return }
        self = body
    }

    private init(reason: RejectionReason?, timestamp: Int64?) {
        self.reason = reason
        self.timestamp = timestamp
    }

    private mutating func readValue(of key: Range<Int>, from scanner: inout Scanner) -> Bool {
        if scanner.bytes[key].equals("reason"), scanner.peek == UInt8(ascii: "\"") {
            guard let text = scanner.readString() else { return false }
            reason = Self.reason(scanner.bytes[text])
            return true
        }
        let start = scanner.position
        guard scanner.skipValue(depth: Self.maximumDepth) else { return false }
        if scanner.bytes[key].equals("timestamp") { timestamp = Self.integer(scanner.bytes[start..<scanner.position]) }
        return true
    }

    /// Apple's reasons are words of ASCII; one of them has been seen with a space.
    private static func reason(_ text: ArraySlice<UInt8>) -> RejectionReason? {
        let isWord = text.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
        guard isWord, !text.isEmpty, text.count <= maximumReason else { return nil }
        return RejectionReason(rawValue: String(decoding: text, as: UTF8.self))
    }

    private static func integer(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard !digits.isEmpty, digits.count <= 18 else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return value
    }
}

/// Walks over JSON without building anything. Source: RFC 8259.
private struct Scanner {
    let bytes: [UInt8]
    private(set) var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The byte at the position; 0, which no JSON text contains, at the end.
    var peek: UInt8 {
        position < bytes.count ? bytes[position] : 0
    }

    /// Reads one dictionary that is the whole text; `readValue` consumes the value of each key.
    mutating func readDictionary(_ readValue: (Range<Int>, inout Scanner) -> Bool) -> Bool {
        skipSpace()
        guard readMembers(readValue) else { return false }
        skipSpace()
        return position == bytes.count
    }

    mutating func skipValue(depth: Int) -> Bool {
        switch peek {
        case UInt8(ascii: "\""): return readString() != nil
        case UInt8(ascii: "{"):
            return depth > 0 && readMembers { _, scanner in scanner.skipValue(depth: depth - 1) }
        case UInt8(ascii: "["): return depth > 0 && skipArray(depth: depth - 1)
        default:
            // A number or one of the three words: whatever they are, they end at a delimiter.
            let start = position
            while position < bytes.count, isPartOfScalar(bytes[position]) { position += 1 }
            return position > start
        }
    }

    /// - Returns: Where the text between the quotes stands, escapes and all.
    mutating func readString() -> Range<Int>? {
        guard take("\"") else { return nil }
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return start..<position - 1
            case UInt8(ascii: "\\"): position += 2
            case 0..<0x20: return nil
            default: position += 1
            }
        }
        return nil
    }

    private mutating func readMembers(_ readValue: (Range<Int>, inout Scanner) -> Bool) -> Bool {
        guard take("{") else { return false }
        skipSpace()
        if take("}") { return true }
        while true {
            skipSpace()
            guard let key = readString() else { return false }
            skipSpace()
            guard take(":") else { return false }
            skipSpace()
            guard readValue(key, &self) else { return false }
            skipSpace()
            if take("}") { return true }
            guard take(",") else { return false }
        }
    }

    private mutating func skipArray(depth: Int) -> Bool {
        guard take("[") else { return false }
        skipSpace()
        if take("]") { return true }
        while true {
            skipSpace()
            guard skipValue(depth: depth) else { return false }
            skipSpace()
            if take("]") { return true }
            guard take(",") else { return false }
        }
    }

    private mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: byte) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while [0x20, 0x09, 0x0A, 0x0D].contains(peek) { position += 1 }
    }

    private func isPartOfScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            return true
        default: return false
        }
    }
}

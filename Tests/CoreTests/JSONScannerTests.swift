import Testing

@testable import Core

/// Strings are scanned eight bytes at a time: every position of every kind of byte is tried.
@Suite("JSON scanner, string by string")
struct JSONScannerTests {
    private func scan(_ bytes: [UInt8]) throws(JSONFailure) -> JSONValue {
        var scanner = JSONScanner()
        return try scanner.value(bytes.span, depth: 0)
    }

    @Test("A string ends at its closing quote, whatever surrounds it", arguments: 0...40)
    func end(length: Int) throws {
        for filler in [" ", "!", "#", "[", "]", "a", "~", "\u{7F}"] {
            let text = String(repeating: filler, count: length)
            let value = try scan(Array("\"\(text)\"\"\\\u{1}".utf8))
            #expect(value.range == 1..<length + 1)
            #expect(!value.isEscaped)
            let failure = #expect(throws: JSONFailure.self) { try scan(Array("\"\(text)".utf8)) }
            #expect(failure?.offset == length + 1 && failure?.expectation.description == "a closing quote")
        }
    }

    @Test("A byte is classified as plain or not at any position", arguments: 0...20)
    func everyByte(offset: Int) {
        let before = [UInt8(ascii: "\"")] + [UInt8](repeating: UInt8(ascii: "a"), count: offset)
        let after = [UInt8](repeating: UInt8(ascii: "b"), count: 12) + [UInt8(ascii: "\"")]
        for byte in UInt8.min...UInt8.max {
            let found: String
            do {
                found = "\(try scan(before + [byte] + after).range)"
            } catch {
                found = "\(error.expectation) at \(error.offset)"
            }
            let expected =
                switch byte {
                case UInt8(ascii: "\""): "\(1..<offset + 1)"
                // The next letter completes an escape.
                case UInt8(ascii: "\\"): "\(1..<offset + 14)"
                case 0..<0x20: "no bare control character in a string at \(offset + 1)"
                case 0x80...: "UTF-8 at \(offset + 1)"
                default: "\(1..<offset + 14)"
                }
            #expect(found == expected, "byte \(byte)")
        }
    }
}

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
            #expect(value.range == 1..<length + 1 && !value.isEscaped)
            let failure = #expect(throws: JSONFailure.self) { try scan(Array("\"\(text)".utf8)) }
            #expect(failure?.offset == length + 1 && failure?.expectation.description == "a closing quote")
        }
    }

    @Test("Each escape stands for its character, and a whole number for its value, beyond those of a double")
    func texts() {
        let text = JSONText.unescape(Array(#"\b\f\n\r\t\/\"\\\u00e9\ud83d\ude00"#.utf8)[...])
        #expect(text?.elementsEqual("\u{8}\u{C}\n\r\t/\"\\\u{E9}\u{1F600}".utf8) == true)
        let long = [30, 31].map { "1." + String(repeating: "0", count: $0) }
        let numbers = ["9007199254740993", "9:", "9007199254740992.0"] + long
        #expect(
            numbers.map { JSONText.wholeNumber(ArraySlice($0.utf8)) }
                == [9_007_199_254_740_993, nil, 9_007_199_254_740_992, 1, nil])
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

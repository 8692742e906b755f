import Core

extension Span<UInt8> {
    /// Passes on the text of a string that a scanner of these bytes found. A string with an unpaired surrogate is
    /// passed on encoded.
    func withText<Result>(of string: JSONValue, _ body: (Span<UInt8>) -> Result) -> Result {
        guard string.isEscaped, let text = JSONText.unescape(bytes(string.range)) else {
            return body(extracting(string.range))
        }
        return body(text.span)
    }

    func isText(_ string: JSONValue, _ text: StaticString) -> Bool {
        withText(of: string) { $0.equals(text) }
    }

    /// The value of a number; NaN, which is in no range, if Swift cannot parse it.
    func number(_ number: JSONValue) -> Double {
        let digits = extracting(number.range)
        if digits.count == 1 { return Double(digits[0] - UInt8(ascii: "0")) }
        let text = unsafe digits.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        return Double(text) ?? .nan
    }

    /// A key as a path component. A long key is omitted, and one with other characters than ASCII's.
    func pathPart(_ key: JSONValue) -> String {
        withText(of: key) { name in
            let isShown = name.indices.allSatisfy {
                0x20...0x7E ~= name[$0] && name[$0] != UInt8(ascii: "\"") && name[$0] != UInt8(ascii: "\\")
            }
            guard 1...Self.maximumPathPart ~= name.count, isShown else { return "[…]" }
            let text = String(decoding: name.bytes(name.indices), as: UTF8.self)
            return name.indices.allSatisfy { name[$0].isLetterOrDigit(or: "-_") } ? ".\(text)" : "[\"\(text)\"]"
        }
    }

    private static var maximumPathPart: Int { 40 }

    private func bytes(_ range: Range<Int>) -> ArraySlice<UInt8> {
        range.map { self[$0] }[...]
    }
}

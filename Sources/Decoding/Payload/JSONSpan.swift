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

    /// A key as a path component. A key that does not look like an identifier is omitted, because it may contain
    /// anything.
    func pathPart(_ key: JSONValue) -> String {
        withText(of: key) { name in
            guard 1...Self.maximumPathPart ~= name.count,
                name.indices.allSatisfy({ name[$0].isLetterOrDigit(or: "-_") })
            else {
                return "[…]"
            }
            return "." + String(decoding: name.bytes(name.indices), as: UTF8.self)
        }
    }

    private static var maximumPathPart: Int { 40 }

    private func bytes(_ range: Range<Int>) -> ArraySlice<UInt8> {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        for index in range { bytes.append(self[index]) }
        return bytes[...]
    }
}

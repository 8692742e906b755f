import Core

extension Span<UInt8> {
    /// Gives the text of a string that a scanner of these bytes found; what is half of a surrogate pair is no text, and
    /// stays as it stands there.
    func withText<Result>(of string: JSONValue, _ body: (Span<UInt8>) -> Result) -> Result {
        guard string.isEscaped, let text = JSONText.unescape(bytes(string.range)) else {
            return body(extracting(string.range))
        }
        return body(text.span)
    }

    func isText(_ string: JSONValue, _ text: StaticString) -> Bool {
        withText(of: string) { $0.equals(text) }
    }

    /// The value of a number; beyond what Swift can read, none that lies in a range.
    func number(_ number: JSONValue) -> Double {
        let digits = extracting(number.range)
        if digits.count == 1 { return Double(digits[0] - UInt8(ascii: "0")) }
        let text = unsafe digits.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        return Double(text) ?? .nan
    }

    /// A key as the next part of a path; what does not look like an identifier is left out, since it may be anything.
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

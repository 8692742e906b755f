package import Core

extension ArraySlice<UInt8> {
    /// The bytes at offsets relative to the slice's start.
    package func slice(_ range: Range<Int>) -> ArraySlice<UInt8> {
        self[startIndex + range.lowerBound..<startIndex + range.upperBound]
    }

    /// The text of a string that a scanner of these bytes found; a view unless it has escapes.
    package func text(of string: JSONValue) -> ArraySlice<UInt8>? {
        string.isEscaped ? JSONText.unescape(slice(string.range)) : slice(string.range)
    }
}

extension JSONValue {
    /// Whether this object is empty.
    func isEmptyObject(in bytes: ArraySlice<UInt8>) -> Bool {
        bytes.slice(range.lowerBound + 1..<range.upperBound - 1).allSatisfy { byte in
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t")
                || byte == UInt8(ascii: "\r")
        }
    }
}

extension DecodingFailure {
    /// - Parameter bytes: those that are not JSON.
    init(_ failure: JSONFailure, of bytes: ArraySlice<UInt8>, in place: String = "body") {
        let form = Self.form(of: bytes).map { "; it looks like \($0)" } ?? ""
        self.init(
            "\(place): not JSON: expected \(failure.expectation) at byte \(failure.offset)\(form)",
            limit: failure.isTooDeep ? .depth : nil)
    }

    /// The format that bytes begin like.
    private static func form(of bytes: ArraySlice<UInt8>) -> StaticString? {
        let start = Array(bytes.prefix(2))
        guard start.count == 2 else { return nil }
        switch (start[0], start[1]) {
        case (0xFE, 0xFF), (0xFF, 0xFE), (0, 0x7B), (0x7B, 0): return "UTF-16: expected UTF-8"
        case (0x1F, 0x8B): return "gzip: set content_encoding to gzip"
        case (0x78, 0x01), (0x78, 0x9C), (0x78, 0xDA): return "the zlib format: set content_encoding to deflate"
        case (0x80, 2...5): return "a pickle of Python"
        case (UInt8(ascii: "<"), _): return "XML"
        case (UInt8(ascii: "'"), _), (UInt8(ascii: "{"), UInt8(ascii: "'")): return "Python's notation: use json.dumps"
        default: return nil
        }
    }
}

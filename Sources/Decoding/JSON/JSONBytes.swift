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
    func isEmptyObject(in bytes: ArraySlice<UInt8>) -> Bool {
        // White space; the only other byte that can come first begins a key.
        bytes.slice(range.lowerBound + 1..<range.upperBound - 1).allSatisfy { $0 <= UInt8(ascii: " ") }
    }
}

extension DecodingFailure {
    init(_ failure: JSONFailure, of bytes: ArraySlice<UInt8>, in place: String = "body") {
        let form = Self.forms.first { bytes.starts(with: $0.beginning) }
        let hint = form.map { "; it looks like \($0.name)" } ?? ""
        self.init(
            bytes.isEmpty
                ? "\(place): empty, expected JSON"
                : "\(place): not JSON: expected \(failure.expectation) at byte \(failure.offset)\(hint)",
            limit: failure.isTooDeep ? .depth : nil)
    }

    /// How other formats begin; longer beginnings come first.
    private static let forms: [(beginning: [UInt8], name: String)] = [
        ([0xFF, 0xFE, 0, 0], "UTF-32: expected UTF-8"), ([0, 0, 0xFE, 0xFF], "UTF-32: expected UTF-8"),
        ([0x7B, 0, 0, 0], "UTF-32: expected UTF-8"), ([0, 0, 0, 0x7B], "UTF-32: expected UTF-8"),
        ([0xFF, 0xFE], "UTF-16: expected UTF-8"), ([0xFE, 0xFF], "UTF-16: expected UTF-8"),
        ([0x7B, 0], "UTF-16: expected UTF-8"), ([0, 0x7B], "UTF-16: expected UTF-8"),
        ([0x1F, 0x8B], "gzip: set content_encoding to gzip"),
        ([0x78, 0x01], "the zlib format: set content_encoding to deflate"),
        ([0x78, 0x9C], "the zlib format: set content_encoding to deflate"),
        ([0x78, 0xDA], "the zlib format: set content_encoding to deflate"),
        ([0x80, 2], "a pickle of Python"), ([0x80, 3], "a pickle of Python"), ([0x80, 4], "a pickle of Python"),
        ([0x80, 5], "a pickle of Python"), (Array("<".utf8), "XML"),
        (Array("'".utf8), "Python's notation: use json.dumps"),
        (Array("{'".utf8), "Python's notation: use json.dumps"),
        (ValueSection.descriptors[0], "an AMQP 1.0 value: send text or binary"),
    ]
}

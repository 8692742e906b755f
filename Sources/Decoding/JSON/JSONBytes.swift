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
    init(_ failure: JSONFailure, in place: String = "body") {
        self.init(
            "\(place): not JSON: expected \(failure.expectation) at byte \(failure.offset)",
            limit: failure.isTooDeep ? .depth : nil)
    }
}

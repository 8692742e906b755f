import Core

/// The members of one JSON object, in order; its whole text is validated.
struct JSONObject {
    struct Member {
        /// Unmodified, without the quotes.
        let key: ArraySlice<UInt8>
        let kind: JSONValue.Kind
        /// Unmodified; a string without its quotes.
        let value: ArraySlice<UInt8>

        /// A number without fraction and exponent.
        var integer: Int64? { kind == .number ? Int64(String(decoding: value, as: UTF8.self)) : nil }
    }

    private(set) var members: [Member] = []

    /// - Returns: `nil` unless `text` is one JSON object, optionally surrounded by white space.
    init?(_ text: ArraySlice<UInt8>) {
        func slice(_ range: Range<Int>) -> ArraySlice<UInt8> {
            text[text.startIndex + range.lowerBound..<text.startIndex + range.upperBound]
        }
        let bytes = text.span
        var scanner = JSONScanner()
        guard scanner.open(bytes, "{") else { return nil }
        do throws(JSONFailure) {
            while let key = try scanner.nextKey(bytes, isFirst: members.isEmpty) {
                let value = try scanner.value(bytes, depth: 1)
                members.append(Member(key: slice(key.range), kind: value.kind, value: slice(value.range)))
            }
            try scanner.end(bytes)
        } catch {
            return nil
        }
    }

    subscript(key: StaticString) -> Member? {
        members.first { $0.key.equals(key) }
    }
}

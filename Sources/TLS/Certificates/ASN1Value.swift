/// The subset of ASN.1 in Apple's extensions: strings, and lists of strings to a depth of two.
///
/// Source: ITU-T X.690, sections 8.1 and 10 (DER).
enum ASN1Value: Equatable {
    case text(String)
    /// A SEQUENCE or a SET.
    indirect case list([ASN1Value])

    /// A list within a list.
    private static let maximumDepth = 2

    /// - Parameter der: the complete encoding.
    /// - Returns: `nil` for any other type, and for damaged encodings.
    init?(_ der: [UInt8]) {
        var rest = der[...]
        guard let value = ASN1Value(next: &rest, depth: 0), rest.isEmpty else { return nil }
        self = value
    }

    private init?(next rest: inout ArraySlice<UInt8>, depth: Int) {
        guard let type = rest.popFirst(), let length = Self.length(&rest), length <= rest.count else { return nil }
        var content = rest.prefix(length)
        rest = rest.dropFirst(length)
        switch type {
        // UTF8String, PrintableString and IA5String.
        case 0x0C, 0x13, 0x16:
            guard let text = String(validating: content, as: UTF8.self) else { return nil }
            self = .text(text)
        // SEQUENCE and SET.
        case 0x30, 0x31:
            guard depth < Self.maximumDepth else { return nil }
            var elements: [ASN1Value] = []
            while !content.isEmpty {
                guard let element = ASN1Value(next: &content, depth: depth + 1) else { return nil }
                elements.append(element)
            }
            self = .list(elements)
        default:
            return nil
        }
    }

    /// One byte, or the number of the following bytes with the highest bit set.
    private static func length(_ rest: inout ArraySlice<UInt8>) -> Int? {
        guard let first = rest.popFirst() else { return nil }
        guard first > 0x80 else { return first < 0x80 ? Int(first) : nil }
        let count = Int(first & 0x7F)
        guard count <= min(rest.count, 4) else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
    }
}

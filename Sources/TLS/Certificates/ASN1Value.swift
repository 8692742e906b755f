import COpenSSL

/// The subset of ASN.1 in Apple's extensions: strings, and lists of strings to a depth of two.
enum ASN1Value: Equatable {
    case text(String)
    /// A SEQUENCE or a SET.
    indirect case list([ASN1Value])

    /// A list within a list.
    private static let maximumDepth = 2

    /// - Parameter der: the complete encoding.
    /// - Returns: `nil` for any other type, and for damaged encodings.
    init?(_ der: [UInt8]) {
        defer { ErrorQueue.clear() }
        let (value, length) = unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            let value = unsafe d2i_ASN1_TYPE(nil, &position, bytes.count)
            return unsafe (value, Self.distance(bytes.baseAddress, position))
        }
        guard let value = unsafe value else { return nil }
        defer { unsafe ASN1_TYPE_free(value) }
        guard length == der.count else { return nil }
        unsafe self.init(value, depth: 0)
    }

    private init?(_ value: UnsafeMutablePointer<ASN1_TYPE>, depth: Int) {
        switch unsafe value.pointee.type {
        case V_ASN1_UTF8STRING, V_ASN1_IA5STRING, V_ASN1_PRINTABLESTRING:
            guard let text = unsafe Self.text(of: value.pointee.value.asn1_string) else { return nil }
            self = .text(text)
        case V_ASN1_SEQUENCE, V_ASN1_SET:
            guard depth < Self.maximumDepth, let elements = unsafe Self.elements(of: value, depth) else { return nil }
            self = .list(elements)
        default:
            return nil
        }
    }

    private static func text(of string: UnsafeMutablePointer<ASN1_STRING>?) -> String? {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&bytes, string)
        guard count >= 0, let bytes = unsafe bytes else { return nil }
        defer { unsafe CRYPTO_free(bytes, #fileID, #line) }
        return unsafe String(validating: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
    }

    private static func elements(of value: UnsafeMutablePointer<ASN1_TYPE>, _ depth: Int) -> [ASN1Value]? {
        // The string is the complete encoding, including tag and length.
        let string = unsafe value.pointee.value.asn1_string
        let count = unsafe Int(ASN1_STRING_length(string))
        let start = unsafe ASN1_STRING_get0_data(string)
        var position = unsafe start
        let list =
            unsafe value.pointee.type == V_ASN1_SET
            ? unsafe d2i_ASN1_SET_ANY(nil, &position, count) : unsafe d2i_ASN1_SEQUENCE_ANY(nil, &position, count)
        guard let parsed = unsafe Owned(list, { unsafe shim_sk_ASN1_TYPE_pop_free($0) }) else { return nil }
        guard unsafe distance(start, position) == count else { return nil }
        var elements: [ASN1Value] = []
        for index in unsafe 0..<shim_sk_ASN1_TYPE_num(parsed.pointer) {
            guard
                let element = unsafe shim_sk_ASN1_TYPE_value(parsed.pointer, index),
                let value = unsafe ASN1Value(element, depth: depth + 1)
            else { return nil }
            elements.append(value)
        }
        return elements
    }

    private static func distance(_ start: UnsafePointer<UInt8>?, _ end: UnsafePointer<UInt8>?) -> Int {
        guard let start = unsafe start, let end = unsafe end else { return 0 }
        return unsafe end - start
    }
}

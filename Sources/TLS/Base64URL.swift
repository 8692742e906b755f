/// Base64 with the URL and filename safe alphabet, without padding (RFC 4648 section 5, RFC 7515 appendix C).
package enum Base64URL {
    /// Appends the text of `bytes` as ASCII.
    package static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        text.reserveCapacity(text.count + (bytes.count * 4 + 2) / 3)
        var index = 0
        while index < bytes.count {
            let left = min(3, bytes.count - index)
            var group = UInt32(bytes[index]) << 16
            if left > 1 { group |= UInt32(bytes[index + 1]) << 8 }
            if left > 2 { group |= UInt32(bytes[index + 2]) }
            for position in 0...left {
                text.append(character(of: UInt8(truncatingIfNeeded: group >> (18 - 6 * UInt32(position))) & 63))
            }
            index += left
        }
    }

    package static func encode(_ bytes: Span<UInt8>) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    package static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes.span)
    }

    /// `nil` unless `text` is the one spelling of some bytes: no padding, no line breaks, unused bits zero.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(Array(text.utf8).span)
    }

    /// `nil` unless `text` is the one spelling of some bytes: no padding, no line breaks, unused bits zero.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var group: UInt32 = 0
        var bits = 0
        for index in text.indices {
            guard let value = value(of: text[index]) else { return nil }
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            }
        }
        return group & (1 << UInt32(bits) - 1) == 0 ? bytes : nil
    }

    private static func character(of value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + (value - 26)
        case 52..<62: UInt8(ascii: "0") + (value - 52)
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// Base64 (RFC 4648) in two alphabets. Only the canonical encoding is decoded: no line breaks, unused bits zero.
package enum Base64: Sendable {
    /// `+` and `/`, padded with `=` to groups of four (RFC 4648 section 4).
    case standard
    /// `-` and `_`, not padded (RFC 4648 section 5, RFC 7515 appendix C).
    case url

    package func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        text.reserveCapacity(text.count + (bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let left = min(3, bytes.count - index)
            var group = UInt32(bytes[index]) << 16
            if left > 1 { group |= UInt32(bytes[index + 1]) << 8 }
            if left > 2 { group |= UInt32(bytes[index + 2]) }
            for position in 0...left {
                text.append(digit(of: UInt8(truncatingIfNeeded: group >> (18 - 6 * UInt32(position))) & 63))
            }
            if self == .standard {
                for _ in left..<3 { text.append(UInt8(ascii: "=")) }
            }
            index += left
        }
    }

    package func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        append(bytes.span, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    package func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(Array(text.utf8).span)
    }

    /// - Returns: `nil` unless `text` is a canonical encoding.
    package func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard let digits = countOfDigits(in: text) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits * 3 / 4)
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for index in 0..<digits {
            guard let value = value(of: text[index]) else { return nil }
            group = group << 6 | UInt32(value)
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: group >> bits))
            group &= 1 << bits - 1
        }
        return group == 0 ? bytes : nil
    }

    /// The number of digits before the padding; `nil` for an invalid length or padding.
    private func countOfDigits(in text: Span<UInt8>) -> Int? {
        switch self {
        case .url: return text.count % 4 == 1 ? nil : text.count
        case .standard:
            guard text.count % 4 == 0 else { return nil }
            var count = text.count
            while count > 0, text.count - count < 2, text[count - 1] == UInt8(ascii: "=") { count -= 1 }
            return count
        }
    }

    private func digit(of value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + (value - 26)
        case 52..<62: UInt8(ascii: "0") + (value - 52)
        case 62: self == .url ? UInt8(ascii: "-") : UInt8(ascii: "+")
        default: self == .url ? UInt8(ascii: "_") : UInt8(ascii: "/")
        }
    }

    private func value(of digit: UInt8) -> UInt8? {
        switch (digit, self) {
        case (UInt8(ascii: "A")...UInt8(ascii: "Z"), _): digit - UInt8(ascii: "A")
        case (UInt8(ascii: "a")...UInt8(ascii: "z"), _): digit - UInt8(ascii: "a") + 26
        case (UInt8(ascii: "0")...UInt8(ascii: "9"), _): digit - UInt8(ascii: "0") + 52
        case (UInt8(ascii: "+"), .standard), (UInt8(ascii: "-"), .url): 62
        case (UInt8(ascii: "/"), .standard), (UInt8(ascii: "_"), .url): 63
        default: nil
        }
    }
}

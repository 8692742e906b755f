/// Base64 with padding. Source: RFC 4648, section 4.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func append(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
        text.reserveCapacity(text.count + (bytes.count + 2) / 3 * 4)
        var rest = bytes
        while !rest.isEmpty {
            let part = rest.prefix(3)
            rest = rest.dropFirst(3)
            var group: UInt32 = 0
            for byte in part { group = group << 8 | UInt32(byte) }
            group <<= 8 * UInt32(3 - part.count)
            for position in 0..<4 {
                let isThere = position <= part.count
                text.append(isThere ? alphabet[Int(group >> (18 - 6 * UInt32(position))) & 63] : UInt8(ascii: "="))
            }
        }
    }

    /// - Returns: `nil` unless it is the one spelling of some bytes.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let digits =
            text.last == UInt8(ascii: "=") ? text.dropLast(text.dropLast().last == UInt8(ascii: "=") ? 2 : 1) : text
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            group = group << 6 | UInt32(value)
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: group >> bits))
            group &= 1 << bits - 1
        }
        return group == 0 ? bytes : nil
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// A device token: the address of one app on one device, as lower-case hexadecimal digits.
///
/// Apple asks providers not to assume a size, so the only limit is ``maximumDigits``. Source: "Sending notification
/// requests to APNs", `:path`.
package struct DeviceToken: Hashable, Sendable, CustomStringConvertible {
    /// Well above all known sizes (64 to 200 digits), well below the limit of a header list.
    package static let maximumDigits = 1024

    /// ASCII, lower case, an even number of digits.
    package let hex: ArraySlice<UInt8>

    /// - Returns: `nil` unless `digits` is a non-empty, even number of hexadecimal digits, at most ``maximumDigits``.
    package init?(hex digits: ArraySlice<UInt8>) {
        guard !digits.isEmpty, digits.count % 2 == 0, digits.count <= Self.maximumDigits else { return nil }
        if Self.isLowerCase(digits) {
            hex = digits
            return
        }
        guard digits.allSatisfy({ $0.hexDigit != nil }) else { return nil }
        // Digits have this bit already.
        hex = ArraySlice(digits.map { $0 | 0x20 })
    }

    private init(valid hex: ArraySlice<UInt8>) {
        self.hex = hex
    }

    /// The same token in its own memory, so that it does not keep its message in memory.
    package var copy: DeviceToken {
        DeviceToken(valid: ArraySlice(Array(hex)))
    }

    /// Whether these are lower-case digits in groups of eight, as in nearly every device token.
    ///
    /// Eight bytes are checked at a time. Adding the distance from a character to 0x80 sets a byte's highest bit if
    /// the byte is at or above that character. Nothing carries into the next byte if all are ASCII.
    private static func isLowerCase(_ digits: ArraySlice<UInt8>) -> Bool {
        guard digits.count % 8 == 0 else { return false }
        let bytes = unsafe digits.span.bytes
        let ones: UInt64 = 0x0101_0101_0101_0101
        func areAtLeast(_ character: Unicode.Scalar, _ word: UInt64) -> UInt64 {
            word &+ ones &* (0x80 - UInt64(character.value))
        }
        var isOther: UInt64 = 0
        for offset in stride(from: 0, to: bytes.byteCount, by: 8) {
            let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let ascii = word & ~(ones << 7)
            let areNumbers = areAtLeast("0", ascii) & ~areAtLeast(":", ascii)
            let areLetters = areAtLeast("a", ascii) & ~areAtLeast("g", ascii)
            isOther |= word | ~(areNumbers | areLetters)
        }
        return isOther & ones << 7 == 0
    }

    /// Shortened: complete tokens belong into results, not into logs or errors.
    package var description: String {
        "\(String(decoding: hex.prefix(8), as: UTF8.self))…"
    }
}

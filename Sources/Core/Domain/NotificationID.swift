/// The value of `apns-id`: a UUID that a notification keeps through every attempt, redelivery and replay.
package struct NotificationID: Hashable, Sendable, CustomStringConvertible {
    /// The first eight bytes, most significant first.
    package let high: UInt64
    /// The last eight bytes, most significant first.
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A name-based UUID (version 5) from the SHA-1 of namespace and name. Source: RFC 9562, section 5.5.
    package init(sha1 digest: Span<UInt8>) {
        precondition(digest.count >= 16, "SHA-1 gives 20 bytes")
        var (first, second): (UInt64, UInt64) = (0, 0)
        for index in 0..<8 {
            first = first << 8 | UInt64(digest[index])
            second = second << 8 | UInt64(digest[index + 8])
        }
        high = first & ~0xF000 | 0x5000
        low = second & ~(0b11 << 62) | 0b10 << 62
    }

    /// A random UUID (version 4). Source: RFC 9562, section 5.4.
    package static func random(using generator: inout some RandomNumberGenerator) -> NotificationID {
        NotificationID(
            high: generator.next() & ~0xF000 | 0x4000, low: generator.next() & ~(0b11 << 62) | 0b10 << 62)
    }

    /// - Returns: `nil` unless `text` is a UUID as 8-4-4-4-12 hexadecimal digits; upper case is accepted.
    package init?(_ text: ArraySlice<UInt8>) {
        guard text.count == 36 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for (position, byte) in text.enumerated() {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = byte.hexDigit.map(UInt64.init) else { return nil }
            if digits < 16 { words.0 = words.0 << 4 | digit } else { words.1 = words.1 << 4 | digit }
            digits += 1
        }
        (high, low) = words
    }

    package static let textLength = 36

    /// Appends the canonical text: lower case, 8-4-4-4-12.
    package func append(to queue: inout ByteQueue) {
        withText { queue.append($0) }
    }

    /// Passes the canonical text to `body`.
    package func withText(_ body: (Span<UInt8>) -> Void) {
        var text = InlineArray<36, UInt8>(repeating: UInt8(ascii: "-"))
        let first = Self.digits(UInt32(truncatingIfNeeded: high >> 32))
        let second = Self.digits(UInt32(truncatingIfNeeded: high))
        let third = Self.digits(UInt32(truncatingIfNeeded: low >> 32))
        let fourth = Self.digits(UInt32(truncatingIfNeeded: low))
        var span = text.mutableSpan
        var raw = unsafe span.mutableBytes
        raw.storeBytes(of: first, toByteOffset: 0, as: UInt64.self)
        raw.storeBytes(of: UInt32(truncatingIfNeeded: second), toByteOffset: 9, as: UInt32.self)
        raw.storeBytes(of: UInt32(second >> 32), toByteOffset: 14, as: UInt32.self)
        raw.storeBytes(of: UInt32(truncatingIfNeeded: third), toByteOffset: 19, as: UInt32.self)
        raw.storeBytes(of: UInt32(third >> 32), toByteOffset: 24, as: UInt32.self)
        raw.storeBytes(of: fourth, toByteOffset: 28, as: UInt64.self)
        body(text.span)
    }

    /// The eight digits of a number as ASCII, computed in parallel. In memory the most significant digit is first.
    private static func digits(_ number: UInt32) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // Spreads each byte over two bytes, then one hexadecimal digit into each.
        var digits = UInt64(number.bigEndian)
        digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
        digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
        digits = (digits >> 4 | digits << 8) & 0x0F0F_0F0F_0F0F_0F0F
        let areLetters = (digits &+ ones &* 6) >> 4 & ones
        let characters =
            digits &+ ones &* UInt64(UInt8(ascii: "0"))
            &+ areLetters &* UInt64(UInt8(ascii: "a") - UInt8(ascii: "0") - 10)
        return characters.littleEndian
    }

    package var description: String {
        var bytes: [UInt8] = []
        withText { bytes.append($0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

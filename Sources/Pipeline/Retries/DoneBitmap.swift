import Core

/// The notifications of a fan-out that a copy of the request omits because they have ended.
///
/// The text is lower-case hexadecimal, two digits for every eight notifications in order: notification `n` is bit `n %
/// 8`, counted from the least significant one, of byte `n / 8`. Bits beyond the last notification are 0.
package struct DoneBitmap: Equatable, Sendable {
    private var bytes: [UInt8]
    /// The number of notifications that are done.
    package var count: Int { bytes.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// All of `notifications` are done except those at `positions`.
    package init(notifications: Int, leaving positions: some Sequence<Int>) {
        bytes = [UInt8](repeating: .max, count: (notifications + 7) / 8)
        if notifications % 8 != 0 { bytes[bytes.count - 1] = 1 << UInt8(notifications % 8) - 1 }
        for position in positions { bytes[position / 8] &= ~(1 << UInt8(position % 8)) }
    }

    /// - Returns: `nil` if `text` does not match this number of notifications, or marks all as done.
    package init?(_ text: ArraySlice<UInt8>, notifications: Int) {
        guard text.count == (notifications + 7) / 8 * 2 else { return nil }
        let digits = text.compactMap(\.hexDigit)
        guard digits.count == text.count else { return nil }
        bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        if notifications % 8 != 0, let last = bytes.last, last >> UInt8(notifications % 8) != 0 { return nil }
        guard count < notifications else { return nil }
    }

    package func contains(_ position: Int) -> Bool {
        bytes[position / 8] >> UInt8(position % 8) & 1 != 0
    }

    package var text: [UInt8] {
        bytes.reduce(into: []) { $0.append(hex: $1) }
    }
}

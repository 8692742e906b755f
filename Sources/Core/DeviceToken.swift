/// A device token: the address of one app on one device, as lower-case hexadecimal digits.
///
/// Apple asks providers to assume nothing about its size, so the only limit is ``maximumDigits``.
/// Source: "Sending notification requests to APNs", `:path`.
package struct DeviceToken: Hashable, Sendable {
    /// Well above every size seen (64 to 200 digits), well below what a header list may hold.
    package static let maximumDigits = 1024

    /// ASCII, lower case, an even number of digits.
    package let hex: ArraySlice<UInt8>

    /// - Returns: `nil` unless `digits` is a non-empty, even number of hexadecimal digits, at most ``maximumDigits``.
    package init?(hex digits: ArraySlice<UInt8>) {
        guard !digits.isEmpty, digits.count % 2 == 0, digits.count <= Self.maximumDigits else { return nil }
        var hasUpperCase = false
        for byte in digits {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): continue
            case UInt8(ascii: "A")...UInt8(ascii: "F"): hasUpperCase = true
            default: return nil
            }
        }
        hex = hasUpperCase ? ArraySlice(digits.map { $0 | 0x20 }) : digits
    }

    package init?(_ text: String) {
        self.init(hex: ArraySlice(text.utf8))
    }
}

extension DeviceToken: CustomStringConvertible {
    /// Shortened: a whole token belongs into results, never into logs or errors.
    package var description: String {
        "\(String(decoding: hex.prefix(8), as: UTF8.self))…"
    }
}

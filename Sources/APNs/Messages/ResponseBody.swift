package import Core

/// The JSON dictionary in a response body or in GOAWAY's debug data.
///
/// Source: APNs Provider API, Table 6-5, "JSON data keys". Anything but a JSON dictionary has neither key; unknown
/// keys are ignored.
package struct ResponseBody: Equatable, Sendable {
    package private(set) var reason: RejectionReason?
    /// Milliseconds since 1970 UTC.
    package private(set) var timestamp: Int64?

    /// More than any documented reason has. A longer one is ignored, because reasons become labels of metrics.
    package static let maximumReason = 64

    package init(_ bytes: [UInt8]) {
        guard !bytes.isEmpty, let body = try? ResponseBody(checked: bytes) else { return }
        self = body
    }

    private init(checked bytes: [UInt8]) throws(JSONFailure) {
        var scanner = JSONScanner()
        guard scanner.open(bytes.span, "{") else { return }
        while let key = try scanner.nextKey(bytes.span) {
            let value = try scanner.value(bytes.span, depth: 1)
            if value.kind == .string, bytes[key.range].equals("reason") {
                reason = Self.reason(bytes[value.range])
            } else if value.kind == .number, bytes[key.range].equals("timestamp") {
                timestamp = JSONText.integer(bytes[value.range]).flatMap { $0 < 0 ? nil : $0 }
            }
        }
        try scanner.end(bytes.span)
    }

    /// Apple's reasons are ASCII words; one was seen with a space.
    private static func reason(_ text: ArraySlice<UInt8>) -> RejectionReason? {
        let isWord = text.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
        guard isWord, !text.isEmpty, text.count <= maximumReason else { return nil }
        return RejectionReason(rawValue: String(decoding: text, as: UTF8.self))
    }
}

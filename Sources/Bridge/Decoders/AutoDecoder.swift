package import Core

/// `auto`: our own formats by their content type; without one, a header that names the target tells them apart.
package struct AutoDecoder: Decoder {
    package let name = "auto"
    private let json = APNsJSONDecoder()
    private let headers = APNsHeadersDecoder()

    package init() {}

    package func decode(_ delivery: Delivery) -> Decoded {
        guard let contentType = delivery.contentType, !contentType.isEmpty else {
            return Self.namesTarget(delivery) ? headers.decode(delivery) : json.decode(delivery)
        }
        let type = Self.withoutParameters(contentType)
        if Self.matches(type, "application/json") || Self.matches(type, "application/vnd.harebell.request+json") {
            return json.decode(delivery)
        }
        if Self.matches(type, "application/vnd.apple.apns+json") { return headers.decode(delivery) }
        return .reject(
            DecodingFailure(
                "content-type: expected application/json, application/vnd.harebell.request+json or "
                    + "application/vnd.apple.apns+json; for another one name the queue's decoder"))
    }

    private static func namesTarget(_ delivery: Delivery) -> Bool {
        delivery.header("device-token") != nil || delivery.header("device-tokens") != nil
            || delivery.header("apns-channel-id") != nil
    }

    private static func withoutParameters(_ contentType: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var type = contentType.prefix { $0 != UInt8(ascii: ";") }
        while type.last == UInt8(ascii: " ") { type.removeLast() }
        return type
    }

    /// Types are compared without regard to case. Source: RFC 9110, section 8.3.1.
    private static func matches(_ type: ArraySlice<UInt8>, _ name: StaticString) -> Bool {
        guard type.count == name.utf8CodeUnitCount else { return false }
        if type.equals(name) { return true }
        return type.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }.equals(name)
    }
}

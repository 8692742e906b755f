package import Core

/// `auto`: our own formats by their content type; without one, a header that names the target tells them apart.
package struct AutoDecoder: Decoder {
    package let name = "auto"
    private let json = APNsJSONDecoder()
    private let headers = APNsHeadersDecoder()

    static let format = DecoderFormat(
        "auto", version: "1.0.0", "Chooses by content type and headers."
    ) { _ in AutoDecoder() }

    package init() {}

    package func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        guard let contentType = delivery.contentType, !contentType.isEmpty else {
            return Self.namesTarget(delivery) ? headers.decode(delivery, at: now) : json.decode(delivery, at: now)
        }
        let type = ContentType(contentType)
        if type.matches("application/json") || type.matches("application/vnd.harebell.request+json") {
            return json.decode(delivery, at: now)
        }
        if type.matches("application/vnd.apple.apns+json") { return headers.decode(delivery, at: now) }
        return .reject(
            DecodingFailure(
                "content-type: expected application/json, application/vnd.harebell.request+json or "
                    + "application/vnd.apple.apns+json; for another one name the queue's decoder"))
    }

    private static func namesTarget(_ delivery: Delivery) -> Bool {
        delivery.header("device-token") != nil || delivery.header("device-tokens") != nil
            || delivery.header("apns-channel-id") != nil
    }
}

package import Core

/// `auto`: selects between our formats and events by content type and headers. Without either, a header with the
/// target identifies our header format.
package struct AutoDecoder: Decoder {
    package let name = "auto"
    private let json = APNsJSONDecoder()
    private let headers = APNsHeadersDecoder()
    /// `nil` for the data of an event, because events cannot be nested.
    private let events: CloudEventsDecoder?

    package init() {
        events = CloudEventsDecoder(AutoDecoder(events: nil))
    }

    private init(events: CloudEventsDecoder?) {
        self.events = events
    }

    package func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        guard let contentType = delivery.contentType, !contentType.isEmpty else {
            if CloudEventsDecoder.isBinary(delivery), let events { return events.decode(delivery, at: now) }
            return Self.namesTarget(delivery) ? headers.decode(delivery, at: now) : json.decode(delivery, at: now)
        }
        let type = ContentType(contentType)
        if type.matches("application/vnd.apple.apns+json") { return headers.decode(delivery, at: now) }
        if type.matches("application/vnd.harebell.request+json") { return json.decode(delivery, at: now) }
        if CloudEventsDecoder.isBinary(delivery), let events { return events.decode(delivery, at: now) }
        if type.matches("application/json") { return json.decode(delivery, at: now) }
        if type.hasPrefix("application/cloudevents"), let events { return events.decode(delivery, at: now) }
        return .reject(
            DecodingFailure(
                "content-type: expected application/json, application/vnd.harebell.request+json or "
                    + "application/vnd.apple.apns+json; for another one set the queue's decoder"))
    }

    private static func namesTarget(_ delivery: Delivery) -> Bool {
        delivery.header("device-token") != nil || delivery.header("device-tokens") != nil
            || delivery.header("apns-channel-id") != nil
    }
}

package import Core

/// `auto`: reads our formats and events. The content type of one of them decides, then the headers, then the body.
///
/// Any other content type says nothing: many clients set `application/octet-stream` or `text/plain` for every message.
package struct AutoDecoder: RefusingDecoder {
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

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        guard let text = delivery.contentType, !text.isEmpty else { return try byContent(delivery, at: now) }
        let type = ContentType(text)
        if type.matches("application/vnd.apple.apns+json") { return try headers.decoded(delivery, at: now) }
        if type.matches("application/vnd.harebell.request+json") { return try json.decoded(delivery, at: now) }
        if type.hasPrefix("application/cloudevents"), let events { return try events.decoded(delivery, at: now) }
        guard type.isOurs || !type.isForeign else {
            throw DecodingFailure(
                "content-type: \(RequestFields.quoted(text)) is another format, expected application/json", limit: nil,
                known: APNsHeadersDecoder.known(of: delivery))
        }
        do throws(DecodingFailure) {
            return try byContent(delivery, at: now)
        } catch {
            throw error.known?.target == nil ? error.naming(text) : error
        }
    }

    private func byContent(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        if CloudEventsDecoder.isBinary(delivery), let events { return try events.decoded(delivery, at: now) }
        if APNsHeadersDecoder.namesTarget(delivery) { return try headers.decoded(delivery, at: now) }
        do throws(DecodingFailure) {
            return try json.decoded(delivery, at: now)
        } catch {
            // A name that is nearly right may be that of the target, which makes the body a payload.
            guard let remark = APNsHeadersDecoder.remark(about: delivery) else { throw error }
            throw DecodingFailure("\(error.detail); \(remark)", limit: error.limit, known: error.known)
        }
    }
}

package import Core

/// `auto`: reads our formats and events. The content type of one of them decides, then the headers, then the body.
///
/// Any other content type says nothing: many clients set `application/octet-stream` or `text/plain` for every message.
package struct AutoDecoder: RefusingDecoder {
    private let headers = APNsHeadersDecoder()
    private let takesEvents: Bool

    /// - Parameter takesEvents: false inside another decoder: events cannot be nested, and the headers are its own.
    package init(takesEvents: Bool = true) {
        self.takesEvents = takesEvents
    }

    private var events: CloudEventsDecoder? {
        takesEvents ? CloudEventsDecoder(AutoDecoder(takesEvents: false)) : nil
    }

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        guard let text = delivery.contentType, !text.isEmpty else { return try byContent(delivery, at: now) }
        let type = ContentType(text)
        if type.matches("application/vnd.apple.apns+json") { return try headers.decoded(delivery, at: now) }
        if type.matches("application/vnd.harebell.request+json") { return try envelope(delivery) }
        if type.hasPrefix("application/cloudevents"), let events { return try events.decoded(delivery, at: now) }
        guard type.isOurs || !type.isForeign else {
            throw DecodingFailure(
                "content-type: \(RequestFields.quoted(text)) is another format, expected application/json", limit: nil,
                known: APNsHeadersDecoder.known(of: delivery))
        }
        do throws(DecodingFailure) {
            return try byContent(delivery, isJSON: type.matches("application/json"), at: now)
        } catch {
            let isNoRequest = error.known?.target == nil || error.detail.contains("payload: missing")
            throw isNoRequest ? error.naming(text) : error
        }
    }

    /// - Parameter isJSON: whether a whole request in the body counts more than headers.
    private func byContent(
        _ delivery: Delivery, isJSON: Bool = false, at now: WallTime
    ) throws(DecodingFailure) -> Decoded {
        if CloudEventsDecoder.isBinary(delivery), let events { return try events.decoded(delivery, at: now) }
        guard APNsHeadersDecoder.namesTarget(delivery), !isJSON || !APNsJSONDecoder.isRequest(delivery.body) else {
            return try envelope(delivery)
        }
        return try headers.decoded(delivery, at: now)
    }

    private func envelope(_ delivery: Delivery) throws(DecodingFailure) -> Decoded {
        do throws(DecodingFailure) {
            // Inside another decoder the headers are that one's, such as the attributes of an event.
            return .request(try APNsJSONDecoder.request(delivery.body, beside: takesEvents ? delivery : nil))
        } catch {
            var failure = error
            // The producer may have put the topic into a header, and only the payload into the body.
            if APNsHeadersDecoder.known(of: delivery).topic != nil { failure.known?.lacksTopic = false }
            throw failure
        }
    }
}

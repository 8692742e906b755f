/// What a message on a queue means: one or more notifications under one key.
package struct Request: Sendable {
    /// At least one; all of them are settled before the message is.
    package var notifications: [Notification]
    /// What the message's own format calls it; it tells requests apart where the message has no message id.
    package var key: ArraySlice<UInt8>?

    package init(_ notifications: [Notification], key: ArraySlice<UInt8>? = nil) {
        precondition(!notifications.isEmpty, "a request has at least one notification")
        self.notifications = notifications
        self.key = key
    }
}

/// What a decoder does not go beyond, whatever a message asks for.
package enum DecodingLimit: UInt8, CaseIterable, Sendable {
    /// The bytes of a body.
    case body
    /// The brackets around a JSON value.
    case depth
    /// The device tokens of one message.
    case tokens

    /// The name in metrics.
    package var name: StaticString {
        switch self {
        case .body: "body_bytes"
        case .depth: "json_depth"
        case .tokens: "tokens"
        }
    }
}

/// Why a message is not a request.
package struct DecodingFailure: Error, Equatable, Sendable {
    /// What is wrong and where (a JSON path, a header's name); no device token, no payload.
    package let detail: String
    /// Which limit the message is beyond, if that is why.
    package let limit: DecodingLimit?

    package init(_ detail: String, limit: DecodingLimit? = nil) {
        self.detail = detail
        self.limit = limit
    }
}

/// What a decoder makes of a delivery.
package enum Decoded: Sendable {
    case request(Request)
    /// Acknowledged without a result, and counted.
    case ignore(reason: String)
    /// An `invalid` result and a dead letter.
    case reject(DecodingFailure)
    /// Put aside, then decoded again.
    case later(Duration)
}

/// A plug-in that reads one message format.
///
/// Decoding is synchronous, bounded and without side effects: what it depends on is the delivery, the decoder's own
/// configuration and the time that it is given. Of one delivery it makes the same notifications in the same order each
/// time, which keeps `apns-id` stable through redeliveries, and keeps a fan-out's copy in step with what has ended.
package protocol Decoder: Sendable {
    /// The name of the format.
    var name: String { get }

    /// - Parameter now: for formats that say how long from now; nothing else may depend on it.
    func decode(_ delivery: Delivery, at now: WallTime) -> Decoded
}

/// How the broker is told the end of a delivery.
package enum Settlement: Sendable, Equatable {
    case ack
    /// Back to its queue; the broker counts it as a redelivery.
    case requeue
}

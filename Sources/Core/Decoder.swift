/// What a message on a queue means: one or more notifications under one key.
package struct Request: Sendable {
    /// What of a fan-out cannot be sent to anybody, and costs only itself.
    package struct Refusal: Sendable {
        /// Its place in the fan-out, among the notifications: those keep theirs.
        package let position: Int
        package let failure: DecodingFailure
        /// The `apns-id` that the whole request gave.
        package let id: NotificationID?

        package init(position: Int, _ failure: DecodingFailure, id: NotificationID?) {
            self.position = position
            self.failure = failure
            self.id = id
        }
    }

    /// All of them are settled before the message is.
    package var notifications: [Notification]
    /// In the order of their places; each has an `invalid` result of its own.
    package let refusals: [Refusal]
    /// What the message's own format calls it; it tells requests apart where the message has no message id.
    package var key: ArraySlice<UInt8>?

    /// - Precondition: there is at least one of both together.
    package init(_ notifications: [Notification], refusals: [Refusal] = [], key: ArraySlice<UInt8>? = nil) {
        precondition(!notifications.isEmpty || !refusals.isEmpty, "a request has at least one notification")
        self.notifications = notifications
        self.refusals = refusals
        self.key = key
    }

    /// Of how many notifications it is the request, those that are refused included.
    package var count: Int { notifications.count + refusals.count }
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

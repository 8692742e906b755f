/// What a message on a queue means: one or more notifications under one key.
package struct Request: Sendable {
    /// At least one; all of them are settled before the message is.
    package var notifications: [Notification]

    package init(_ notifications: [Notification]) {
        precondition(!notifications.isEmpty, "a request has at least one notification")
        self.notifications = notifications
    }
}

/// Why a message is not a request.
package struct DecodingFailure: Error, Equatable, Sendable {
    /// What is wrong and where (a JSON path, a header's name); no device token, no payload.
    package let detail: String

    package init(_ detail: String) {
        self.detail = detail
    }
}

/// What a decoder makes of a delivery.
package enum Decoded: Sendable {
    case request(Request)
    /// Acknowledged without a result.
    case ignore(reason: String)
    /// An `invalid` result and a dead letter.
    case reject(DecodingFailure)
    /// Put aside, then decoded again.
    case later(Duration)
}

/// A plug-in that reads one message format.
///
/// Decoding is synchronous, bounded and without side effects: the same delivery always gives the same answer, which
/// keeps `apns-id` stable through redeliveries.
package protocol Decoder: Sendable {
    /// The name that the configuration uses.
    var name: String { get }

    func decode(_ delivery: Delivery) -> Decoded
}

/// How the broker is told the end of a delivery.
package enum Settlement: Sendable, Equatable {
    case ack
    /// Back to its queue; the broker counts it as a redelivery.
    case requeue
}

/// What a message on a queue means: one or more notifications under one key.
///
/// A decoder gets one of `RequestFields`, which holds everything to what APNs takes.
public struct Request: Sendable {
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
    ///
    /// The `apns-id` is made of it then, so it has to be the same each time that the message is decoded; `nil` takes a
    /// digest of the body.
    public var key: ArraySlice<UInt8>?
    /// In seconds since 1970 UTC: until then it waits in the retry queues.
    package var notBefore: Int64?

    /// - Precondition: there is at least one of both together.
    package init(
        _ notifications: [Notification], refusals: [Refusal] = [], key: ArraySlice<UInt8>? = nil,
        notBefore: Int64? = nil
    ) {
        precondition(!notifications.isEmpty || !refusals.isEmpty, "a request has at least one notification")
        self.notifications = notifications
        self.refusals = refusals
        self.key = key
        self.notBefore = notBefore
    }

    /// Of how many notifications it is the request, those that are refused included.
    public var count: Int { notifications.count + refusals.count }
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
public struct DecodingFailure: Error, Equatable, Sendable {
    /// What is wrong and where (a JSON path, a header's name); no device token, no payload.
    public let detail: String
    /// Which limit the message is beyond, if that is why.
    package let limit: DecodingLimit?

    package init(_ detail: String, limit: DecodingLimit? = nil) {
        self.detail = detail
        self.limit = limit
    }

    /// - Parameter detail: what is wrong and where, for the producer: it stands in the result and in the dead letter.
    ///   Neither a device token nor a payload belongs into it.
    public init(_ detail: String) {
        self.init(detail, limit: nil)
    }
}

/// What a decoder makes of a delivery.
public enum Decoded: Sendable {
    /// Each of its notifications is sent, and has one result.
    case request(Request)
    /// Acknowledged without a result, and counted.
    case ignore(reason: String)
    /// An `invalid` result and a dead letter.
    case reject(DecodingFailure)
    /// Put aside, then decoded again. It waits in the retry queue with the longest delay that ends in time, and in the
    /// process for what is left; a time in the past is no time.
    case later(Duration)
}

/// A plug-in that reads one message format.
///
/// Decoding is synchronous, bounded and without side effects: what it depends on is the delivery, the decoder's own
/// configuration and the time that it is given. Of one delivery it makes the same notifications in the same order each
/// time, which keeps `apns-id` stable through redeliveries, and keeps a fan-out's copy in step with what has ended.
public protocol Decoder: Sendable {
    /// The name of the format.
    var name: String { get }

    /// Reads one message. It is called on the thread of a worker, which does nothing else meanwhile: it must not wait,
    /// and should take no longer than a message of this size has to. A message that it cannot read is
    /// ``Decoded/reject(_:)``: a trap ends the process.
    ///
    /// - Parameters:
    ///   - delivery: slices of it may go into the answer as they are: that copies nothing.
    ///   - now: for formats that say how long from now; nothing else may depend on it.
    func decode(_ delivery: Delivery, at now: WallTime) -> Decoded
}

/// How the broker is told the end of a delivery.
package enum Settlement: Sendable, Equatable {
    case ack
    /// Back to its queue; the broker counts it as a redelivery.
    case requeue
}

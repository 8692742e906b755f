/// The decoded content of a message: one or more notifications under one key.
///
/// Decoders create it with `RequestFields`, which enforces APNs' rules.
package struct Request: Sendable {
    /// An element of a fan-out that cannot be sent. It does not affect the other elements. Refused elements count, so
    /// the notifications keep their positions.
    package typealias Refusal = (position: Int, failure: DecodingFailure)

    /// All of them must end before the message is settled.
    package var notifications: [Notification]
    /// In order of position. Each has its own `invalid` result.
    package var refusals: [Refusal]
    /// The request's identifier in the message's own format. It identifies the request if the message has no message
    /// id.
    ///
    /// The `apns-id` is then derived from it, so every decoding must return the same key. With `nil`, a digest of the
    /// body is used.
    package var key: ArraySlice<UInt8>?
    /// In seconds since 1970 UTC. Until then the request waits in the retry queues.
    package var notBefore: Int64?
    /// Keys or headers that look like misspelt fields, for the results' detail.
    package var hint: String?

    /// - Precondition: at least one notification or refusal.
    package init(
        _ notifications: [Notification], refusals: [Refusal] = [], key: ArraySlice<UInt8>? = nil,
        notBefore: Int64? = nil, hint: String? = nil
    ) {
        precondition(!notifications.isEmpty || !refusals.isEmpty, "a request has at least one notification")
        self.notifications = notifications
        self.refusals = refusals
        self.key = key
        self.notBefore = notBefore
        self.hint = hint
    }

    /// The number of notifications, including refused ones.
    package var count: Int { notifications.count + refusals.count }

    /// How many wrong notifications of a list an error names.
    package static let maximumNamed = 4

    /// The failure of the whole request, with what its notifications have in common, and its first refusals.
    package func failure(_ detail: String) -> DecodingFailure {
        var known = DecodingFailure.Known()
        if let first = notifications.first {
            if count == 1 { known.target = first.target }
            (known.topic, known.environment, known.id) = (first.topic, first.environment, first.id)
            known.lacksTopic = first.topic == nil
        }
        let refused = refusals.prefix(Self.maximumNamed).map(\.failure.detail)
        let rest = refusals.count > refused.count ? "and \(refusals.count - refused.count) more" : nil
        let details = [detail] + refused + [rest, hint].compactMap(\.self)
        return DecodingFailure(details.joined(separator: "; "), known: known).keyed(key)
    }
}

/// Limits that a decoder enforces on every message.
package enum DecodingLimit: UInt8, CaseIterable, Sendable {
    case body
    case depth
    /// The number of device tokens in one message.
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
    /// The error and its location (a JSON path, a header's name), without device token or payload.
    package var detail: String
    /// The exceeded limit, if that is the reason.
    package let limit: DecodingLimit?
    /// What could be read of the request nevertheless, for its result.
    package var known: Known?
    /// ``Request/key``: the result then has the `apns-id` that the corrected request will have.
    package var key: ArraySlice<UInt8>?

    package struct Known: Equatable, Sendable {
        package var target: Notification.Target?
        package var topic: ArraySlice<UInt8>?
        /// Whether it certainly names no topic. Its environment, which may select the app, is then valid or missing.
        package var lacksTopic = false
        package var environment: Environment?
        package var id: NotificationID?

        package init() {}
    }

    /// - Parameter detail: the error and its location, for the producer. It appears in the result and in the dead
    ///   letter, so it must not contain a device token or a payload.
    package init(_ detail: String, limit: DecodingLimit? = nil, known: Known? = nil) {
        self.detail = detail
        self.limit = limit
        self.known = known
    }

    /// The same failure with a key, unless it has one.
    package func keyed(_ key: ArraySlice<UInt8>?) -> DecodingFailure {
        var failure = self
        failure.key = failure.key ?? key
        return failure
    }
}

package enum Decoded: Sendable {
    /// Each notification is sent and has one result.
    case request(Request)
    /// Acknowledged without a result, and counted.
    case ignore(reason: String)
    /// An `invalid` result and a dead letter.
    case reject(DecodingFailure)
    /// Delayed, then decoded again. The message waits in the retry queue with the longest delay that does not exceed
    /// this, then in the process for the rest. A time in the past means no delay.
    case later(Duration)
}

/// A plug-in that reads one message format.
///
/// Decoding is synchronous, bounded and without side effects. It depends only on the delivery, the decoder's
/// configuration and the given time. For the same delivery it must return the same notifications in the same order
/// each time. This keeps `apns-id` stable across redeliveries and lets a redelivered fan-out skip its completed
/// elements.
package protocol Decoder: Sendable {
    /// Whether results go to the queue that `reply_to` names.
    var usesReplyTo: Bool { get }

    /// Reads one message. The call blocks its worker thread, so it must not wait and should take time proportional to
    /// the message size. Return ``Decoded/reject(_:)`` for an unreadable message: a trap ends the process.
    ///
    /// - Parameters:
    ///   - delivery: the result may contain slices of it, which avoids copies.
    ///   - now: for formats with relative times; nothing else may depend on it.
    func decode(_ delivery: Delivery, at now: WallTime) -> Decoded
}

extension Decoder {
    package var usesReplyTo: Bool { true }
}

/// How a delivery is settled with the broker.
package enum Settlement: Sendable, Equatable {
    case ack
    /// Returned to its queue; the broker counts it as a redelivery.
    case requeue
}

/// The result of a notification. Each notification has exactly one.
@usableFromInline
package enum Outcome: UInt8, CaseIterable, Sendable {
    /// APNs returned 200: accepted, not yet delivered.
    case accepted
    /// The device token or channel is no longer active.
    case unregistered
    /// APNs refuses this notification.
    case rejected
    /// It could not be decoded or violates a rule of APNs. It was not sent.
    case invalid
    /// It expired before it could be sent.
    case expired
    /// Abandoned after retries.
    case undelivered

    /// Other modules would call the derived one indirectly.
    @inlinable
    package static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }

    package var name: StaticString {
        switch self {
        case .accepted: "accepted"
        case .unregistered: "unregistered"
        case .rejected: "rejected"
        case .invalid: "invalid"
        case .expired: "expired"
        case .undelivered: "undelivered"
        }
    }

    /// Whether its request also becomes a dead letter.
    package var isFailure: Bool {
        switch self {
        case .rejected, .invalid, .undelivered: true
        case .accepted, .unregistered, .expired: false
        }
    }

    /// What the producer of the request should do.
    package var action: StaticString {
        switch self {
        case .accepted, .expired: "none"
        case .unregistered: "forget-token"
        case .rejected, .invalid: "fix-request"
        case .undelivered: "retry-later"
        }
    }
}

/// Whether APNs processed a notification.
package enum Processed: UInt8, Sendable {
    case yes
    /// Certain: its stream was above GOAWAY's last-stream-id, was refused, or was not written.
    case no
    /// It was written, but no response arrived.
    case unknown

    package var name: StaticString {
        switch self {
        case .yes: "yes"
        case .no: "no"
        case .unknown: "unknown"
        }
    }
}

/// An outcome with all fields of its result.
package struct Report: Sendable {
    package var outcome: Outcome
    /// APNs' HTTP status; `nil` without a response.
    package var status: UInt16?
    package var reason: RejectionReason?
    /// From a 410, in milliseconds since 1970 UTC: when the token became inactive.
    package var timestamp: Int64?
    /// `apns-unique-id`. Present for broadcasts, and in the development environment for every notification.
    package var uniqueID: [UInt8]?
    package var attempts: Int
    package var processed: Processed
    /// A sentence for operators, without device token or payload.
    package var detail: String?
    package var channel: ChannelReport?

    // Inlined, because a call would copy and destroy every field of its result.
    @inlinable @inline(__always)
    package init(
        outcome: Outcome, status: UInt16? = nil, reason: RejectionReason? = nil, timestamp: Int64? = nil,
        uniqueID: [UInt8]? = nil, attempts: Int = 0, processed: Processed = .no, detail: String? = nil
    ) {
        self.outcome = outcome
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.uniqueID = uniqueID
        self.attempts = attempts
        self.processed = processed
        self.detail = detail
    }

    package mutating func add(_ sentence: String) {
        detail = detail.map { "\($0); \(sentence)" } ?? sentence
    }
}

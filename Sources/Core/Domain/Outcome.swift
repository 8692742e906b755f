/// How a notification ended. Each has exactly one.
package enum Outcome: UInt8, CaseIterable, Sendable {
    /// APNs answered 200: accepted, not yet delivered.
    case accepted
    /// The device token (or channel) is dead.
    case unregistered
    /// APNs refuses this notification as it is.
    case rejected
    /// It could not be decoded, or breaks a rule that APNs would enforce; never sent.
    case invalid
    /// It expired before it could be sent.
    case expired
    /// Given up after retries.
    case undelivered

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

/// Whether APNs worked on a notification.
package enum Processed: UInt8, Sendable {
    case yes
    /// Certain: its stream was above GOAWAY's last-stream-id, refused, or never written.
    case no
    /// It was written, and no answer came.
    case unknown

    package var name: StaticString {
        switch self {
        case .yes: "yes"
        case .no: "no"
        case .unknown: "unknown"
        }
    }
}

/// An outcome with everything that its result reports.
package struct Report: Sendable {
    package var outcome: Outcome
    /// APNs' HTTP status; `nil` when there was no answer.
    package var status: UInt16?
    package var reason: RejectionReason?
    /// From a 410, in milliseconds since 1970 UTC: since when the token is dead.
    package var timestamp: Int64?
    /// `apns-unique-id`, which comes with broadcasts, and in the development environment with every notification.
    package var uniqueID: [UInt8]?
    package var attempts: Int
    package var processed: Processed
    /// A sentence for a person; no device token, no payload.
    package var detail: String?
    package var channel: ChannelReport?

    // In line, because the call would copy and destroy every field of what it has made.
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
}

package import Core

/// APNs' answer to one request.
package struct APNsReply: Equatable, Sendable {
    /// The HTTP status; 200 means accepted.
    package var status: UInt16
    /// `reason` in the body of every other answer.
    package var reason: RejectionReason?
    /// From a 410, in milliseconds since 1970 UTC: since when the device token is dead.
    package var timestamp: Int64?
    /// `apns-unique-id`, which only the development environment sends.
    package var uniqueID: [UInt8]?

    package init(status: UInt16, reason: RejectionReason? = nil, timestamp: Int64? = nil, uniqueID: [UInt8]? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.uniqueID = uniqueID
    }

    /// What Apple's tables say about it.
    package var rule: ReplyRule {
        ReplyRule.rule(status: status, reason: reason)
    }

    /// Whether it says that the connection's provider token is no good: until APNs has taken one, a connection has one
    /// stream. Source: "Sending notification requests to APNs", "Establish a connection to APNs".
    package var refusesProviderToken: Bool {
        guard let reason else { return false }
        switch reason.rawValue {
        case "ExpiredProviderToken", "InvalidProviderToken", "MissingProviderToken", "TooManyProviderTokenUpdates",
            "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken":
            return true
        default: return false
        }
    }
}

/// A request that got no answer.
package struct Loss: Equatable, Sendable {
    /// `no` when APNs certainly did not work on it, else `unknown`.
    package var processed: Processed
    /// A sentence for a person.
    package var detail: String
    /// The reason that a GOAWAY on its connection gave.
    package var goawayReason: RejectionReason?

    package init(processed: Processed, detail: String, goawayReason: RejectionReason? = nil) {
        self.processed = processed
        self.detail = detail
        self.goawayReason = goawayReason
    }
}

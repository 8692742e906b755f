package import Core

/// The additional fields of a response to a broadcast or a channel request.
package struct ChannelResponse: Equatable, Sendable {
    /// `apns-channel-id` of a created channel.
    package var channelID: [UInt8]?
    /// `apns-request-id`, copied from the request.
    package var requestID: [UInt8]?
    /// The JSON of a success, at most ``APNsEngine/Configuration/maximumResponseBody`` bytes; empty if there is none.
    package var body: [UInt8] = []
}

package struct APNsResponse: Equatable, Sendable {
    /// The HTTP status. 200 means accepted; channel management also uses 201 and 204.
    package let status: UInt16
    /// `nil` for most responses, which are copied often.
    private let details: Details?

    /// `reason` in the body of any other response.
    package var reason: RejectionReason? { if case .parts(let reason, _, _, _)? = details { reason } else { nil } }
    /// From a 410, in milliseconds since 1970 UTC: when the device token became inactive.
    package var timestamp: Int64? { if case .parts(_, let time, _, _)? = details { time } else { nil } }
    /// `apns-unique-id`. Present for every accepted broadcast, and in the development environment for every accepted
    /// notification.
    package var uniqueID: [UInt8]? { if case .parts(_, _, let id, _)? = details { id } else { nil } }
    package var channel: ChannelResponse? { if case .parts(_, _, _, let part)? = details { part } else { nil } }

    private indirect enum Details: Equatable, Sendable {
        case parts(reason: RejectionReason?, timestamp: Int64?, uniqueID: [UInt8]?, channel: ChannelResponse?)
    }

    package init(
        status: UInt16, reason: RejectionReason? = nil, timestamp: Int64? = nil, uniqueID: [UInt8]? = nil,
        channel: ChannelResponse? = nil
    ) {
        self.status = status
        let isPlain = reason == nil && timestamp == nil && uniqueID == nil && channel == nil
        details =
            isPlain ? nil : .parts(reason: reason, timestamp: timestamp, uniqueID: uniqueID, channel: channel)
    }

    package var isSuccess: Bool {
        ResponseRule.isSuccess(status)
    }

    /// The rule for it in Apple's tables.
    package var rule: ResponseRule {
        ResponseRule.rule(status: status, reason: reason)
    }
}

/// A request without a response.
package struct Loss: Equatable, Sendable {
    /// `no` when APNs certainly did not process it, else `unknown`.
    package var processed: Processed
    /// A sentence for operators.
    package var detail: String
    /// The reason in its connection's GOAWAY.
    package var goawayReason: RejectionReason?
    /// Whether APNs refused the stream, by RST_STREAM or by GOAWAY.
    package var isRefused: Bool

    package init(
        processed: Processed, detail: String, goawayReason: RejectionReason? = nil, isRefused: Bool = false
    ) {
        self.processed = processed
        self.detail = detail
        self.goawayReason = goawayReason
        self.isRefused = isRefused
    }
}

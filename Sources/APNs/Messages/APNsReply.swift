package import Core

/// What an answer to a broadcast or about channels brings beside its status.
///
/// An object, so that the answers to all other notifications do not grow by it.
package final class ChannelReply: Equatable, Sendable {
    /// `apns-channel-id`, of a channel that was created.
    package let channelID: [UInt8]?
    /// `apns-request-id`: what the request said.
    package let requestID: [UInt8]?
    /// The JSON of a success; at most ``APNsEngine/Configuration/maximumReplyBody`` bytes of it, and empty if there is
    /// none.
    package let body: [UInt8]

    package init(channelID: [UInt8]? = nil, requestID: [UInt8]? = nil, body: [UInt8] = []) {
        self.channelID = channelID
        self.requestID = requestID
        self.body = body
    }

    package static func == (left: ChannelReply, right: ChannelReply) -> Bool {
        left.channelID == right.channelID && left.requestID == right.requestID && left.body == right.body
    }
}

/// APNs' answer to one request.
package struct APNsReply: Equatable, Sendable {
    /// The HTTP status; 200 means accepted, and in channel management so do 201 and 204.
    package var status: UInt16
    /// `reason` in the body of every other answer.
    package var reason: RejectionReason?
    /// From a 410, in milliseconds since 1970 UTC: since when the device token is dead.
    package var timestamp: Int64?
    /// `apns-unique-id`, which comes with every accepted broadcast, and in the development environment with every
    /// accepted notification.
    package var uniqueID: [UInt8]?
    package var channel: ChannelReply?

    package init(
        status: UInt16, reason: RejectionReason? = nil, timestamp: Int64? = nil, uniqueID: [UInt8]? = nil,
        channel: ChannelReply? = nil
    ) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.uniqueID = uniqueID
        self.channel = channel
    }

    package var isSuccess: Bool {
        ReplyRule.isSuccess(status)
    }

    /// What Apple's tables say about it.
    package var rule: ReplyRule {
        ReplyRule.rule(status: status, reason: reason)
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
    /// Whether it was not sent because its device is left alone, and enough requests wait for that to end.
    package var isThrottled: Bool

    package init(
        processed: Processed, detail: String, goawayReason: RejectionReason? = nil, isThrottled: Bool = false
    ) {
        self.processed = processed
        self.detail = detail
        self.goawayReason = goawayReason
        self.isThrottled = isThrottled
    }
}

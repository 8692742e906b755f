/// Apple's reason for an answer other than 200: an open set of exact strings.
///
/// Sources: "Handling notification responses from APNs", "Handling error responses from Apple Push Notification
/// service", and the APNs Provider API's Table 6-6.
package struct RejectionReason: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// What to do about an answer of APNs.
package enum ReplyAction: Sendable, Equatable {
    /// Accepted.
    case accept
    /// The notification is at fault: final.
    case reject
    /// The device token or channel is dead: final, and the producer forgets it.
    case unregister
    /// Another connection may do better, and APNs did not work on it: not counted as an attempt.
    case resend
    /// A fresh provider token, then again.
    case renewToken
    /// Later, with backoff: the service is in trouble, or this device was asked too often.
    case retryLater
    /// The credential, topic or environment is at fault: the app pauses, its requests wait.
    case pauseApp
}

/// One row of Apple's tables.
package struct ReplyRule: Sendable {
    package let status: UInt16
    package let reason: StaticString
    package let action: ReplyAction
    /// Whether the connection that brought this answer is of no more use.
    package let closesConnection: Bool

    init(_ status: UInt16, _ reason: StaticString, _ action: ReplyAction, closesConnection: Bool = false) {
        self.status = status
        self.reason = reason
        self.action = action
        self.closesConnection = closesConnection
    }

    /// Every reason that Apple documents for notifications and channels, with the spellings seen in the wild.
    package static let all: [ReplyRule] = [
        ReplyRule(400, "BadChannelId", .reject),
        ReplyRule(400, "BadCollapseId", .reject),
        ReplyRule(400, "BadDeviceToken", .unregister),
        ReplyRule(400, "BadExpirationDate", .reject),
        ReplyRule(400, "BadMessageId", .reject),
        ReplyRule(400, "BadPriority", .reject),
        ReplyRule(400, "BadRequestParams", .reject),
        ReplyRule(400, "BadRequestPayload", .reject),
        ReplyRule(400, "BadTopic", .reject),
        ReplyRule(400, "CannotCreateChannelConfig", .reject),
        ReplyRule(400, "ChannelNotRegistered", .unregister),
        ReplyRule(400, "DeviceTokenNotForTopic", .unregister),
        ReplyRule(400, "DuplicateHeaders", .reject),
        ReplyRule(400, "FeatureNotEnabled", .pauseApp),
        ReplyRule(400, "IdleTimeout", .resend, closesConnection: true),
        ReplyRule(400, "InvalidPushType", .reject),
        ReplyRule(400, "MissingChannelId", .reject),
        ReplyRule(400, "MissingChannelQueueSize", .reject),
        ReplyRule(400, "MissingDeviceToken", .reject),
        ReplyRule(400, "MissingPushType", .reject),
        ReplyRule(400, "MissingTopic", .reject),
        ReplyRule(400, "PayloadEmpty", .reject),
        ReplyRule(400, "TopicDisallowed", .pauseApp),
        ReplyRule(403, "BadCertificate", .pauseApp, closesConnection: true),
        ReplyRule(403, "BadCertificateEnvironment", .pauseApp, closesConnection: true),
        ReplyRule(403, "BadEnvironmentKeyIdInToken", .pauseApp, closesConnection: true),
        ReplyRule(403, "BadEnvironmentKeyInToken", .pauseApp, closesConnection: true),
        ReplyRule(403, "ExpiredProviderToken", .renewToken),
        ReplyRule(403, "Forbidden", .pauseApp),
        ReplyRule(403, "InvalidProviderToken", .pauseApp, closesConnection: true),
        ReplyRule(403, "MissingProviderToken", .pauseApp, closesConnection: true),
        ReplyRule(403, "TopicMismatch", .pauseApp),
        ReplyRule(403, "UnrelatedKeyIdInToken", .resend, closesConnection: true),
        ReplyRule(404, "BadPath", .reject),
        ReplyRule(405, "MethodNotAllowed", .reject),
        ReplyRule(410, "ExpiredToken", .unregister),
        ReplyRule(410, "Unregistered", .unregister),
        ReplyRule(413, "PayloadTooLarge", .reject),
        ReplyRule(429, "TooManyProviderTokenUpdates", .retryLater),
        ReplyRule(429, "TooManyRequests", .retryLater),
        ReplyRule(500, "InternalServerError", .retryLater),
        ReplyRule(503, "ServiceUnavailable", .retryLater),
        ReplyRule(503, "Service Unavailable", .retryLater),
        ReplyRule(503, "Shutdown", .resend, closesConnection: true),
    ]

    /// 200, and in channel management 201 and 204.
    package static func isSuccess(_ status: UInt16) -> Bool {
        200...299 ~= status
    }

    private static let byReason: [String: ReplyRule] = Dictionary(
        uniqueKeysWithValues: all.map { ($0.reason.description, $0) })

    /// The rule for an answer; an unknown reason is treated by the class of its status.
    package static func rule(status: UInt16, reason: RejectionReason?) -> ReplyRule {
        if isSuccess(status) { return ReplyRule(status, "", .accept) }
        if let reason, let rule = byReason[reason.rawValue] { return rule }
        switch status {
        case 403: return ReplyRule(status, "", .pauseApp)
        case 410: return ReplyRule(status, "", .unregister)
        case 429, 500...599: return ReplyRule(status, "", .retryLater)
        default: return ReplyRule(status, "", .reject)
        }
    }
}

/// What to do about an answer of APNs.
package enum ReplyAction: Sendable, Equatable, CaseIterable {
    /// Accepted.
    case accept
    /// The notification is at fault: final.
    case reject
    /// The device token or channel is dead: final, and the producer forgets it.
    case unregister
    /// The device token is not one of this app in this environment: final as well; but where many are refused so, it is
    /// the environment or the topic that is wrong, and the app pauses.
    case doubtToken
    /// Another connection may do better, and APNs did not work on it: again at once, not counted as an attempt.
    case resend
    /// Another connection may do better, once; then the app pauses.
    case reconnect
    /// A fresh provider token, then again; then the app pauses.
    case renewToken
    /// The provider token before this one, then again; then the app pauses.
    case keepToken
    /// Later, with backoff: the service is in trouble, or this device was asked too often.
    case retryLater
    /// The credential or the environment is at fault: the app pauses, its requests wait.
    case pauseApp
    /// The topic is at fault, which is the configuration's whoever named it: it pauses, its requests wait.
    case pauseTopic
}

/// How much of an app pauses.
package enum PauseScope: Sendable {
    /// All that goes out under its credential.
    case app
    /// What goes out under one of its topics.
    case topic
}

extension ReplyAction {
    /// What pauses, at once or when nothing else helped; `nil` where the notification alone is concerned.
    package var pause: PauseScope? {
        switch self {
        case .pauseApp, .reconnect, .renewToken, .keepToken: .app
        case .pauseTopic: .topic
        case .accept, .reject, .unregister, .doubtToken, .resend, .retryLater: nil
        }
    }
}

/// What an answer says about the provider token that its request carried.
///
/// Source: "Handling notification responses from APNs", Table 2.
package enum TokenRefusal: Sendable {
    case expired
    /// Of another team than the connection's, signed with an unknown key, or not valid at all.
    case invalid
    case missing
    /// Of another key than the connection's.
    case unrelatedKey
    /// It came too soon after another one.
    case tooManyUpdates
    /// Of a key for the other environment.
    case environment
}

/// The services of APNs that answer requests.
package struct ReplyOrigin: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `/3/device/…`
    package static let device = ReplyOrigin(rawValue: 1)
    /// `/4/broadcasts/…`
    package static let broadcast = ReplyOrigin(rawValue: 2)
    /// Channel management, `/1/apps/…`
    package static let channels = ReplyOrigin(rawValue: 4)
    package static let all: ReplyOrigin = [.device, .broadcast, .channels]
}

/// What an answer shows of the app that it was given to.
package enum ReplyProof: UInt8, Sendable, Comparable {
    /// Nothing.
    case none
    /// The credential is accepted.
    case credential
    /// And the topic is.
    case topic
    /// And the device token is one of the app's, in its environment.
    case token

    package static func < (left: ReplyProof, right: ReplyProof) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// One row of Apple's tables.
///
/// Sources: "Handling notification responses from APNs", "Handling error responses from Apple Push Notification
/// service", and the APNs Provider API's Table 6-6; with the reasons and spellings that were seen in the wild.
package struct ReplyRule: Sendable {
    package let status: UInt16
    /// Empty where the rule is that of a status for reasons that no table has.
    package let reason: StaticString
    /// Where Apple documents it.
    package let origin: ReplyOrigin
    package let action: ReplyAction
    /// Whether the connection that brought this answer is of no more use.
    package let closesConnection: Bool
    /// What it says about the provider token; `nil` for nothing.
    package private(set) var tokenRefusal: TokenRefusal?
    /// What an operator should know about it, for what no request can be blamed for.
    package let alarm: StaticString?

    init(
        _ status: UInt16, _ reason: StaticString, _ origin: ReplyOrigin, _ action: ReplyAction,
        closesConnection: Bool = false, alarm: StaticString? = nil
    ) {
        self.status = status
        self.reason = reason
        self.origin = origin
        self.action = action
        self.closesConnection = closesConnection
        self.alarm = alarm
    }

    /// The same rule, with what it says about the provider token.
    private func token(_ refusal: TokenRefusal) -> ReplyRule {
        var rule = self
        rule.tokenRefusal = refusal
        return rule
    }

    /// A rule for what stands in no table.
    private init(unknown status: UInt16, _ action: ReplyAction) {
        self.init(status, "", .all, action)
    }

    /// Whether Apple documents the reason.
    package var isKnown: Bool {
        reason.utf8CodeUnitCount > 0 || action == .accept
    }

    package var proof: ReplyProof {
        switch action {
        case .accept: .token
        case .unregister: status == 410 ? .token : .topic
        case .doubtToken: .topic
        // A path or method that is refused says nothing about what is sent there.
        case .reject: status == 400 || status == 413 ? .topic : .none
        case .pauseTopic: isKnown ? .credential : .none
        case .resend, .reconnect, .renewToken, .keepToken, .retryLater, .pauseApp: .none
        }
    }

    private static let defect: StaticString = "this is a defect of Harebell; please report it"

    /// Every reason that Apple documents.
    package static let all: [ReplyRule] = [
        ReplyRule(400, "BadChannelId", [.broadcast, .channels], .reject),
        ReplyRule(400, "BadCollapseId", .device, .reject),
        ReplyRule(400, "BadDeviceToken", .device, .doubtToken),
        ReplyRule(400, "BadExpirationDate", [.device, .broadcast], .reject),
        ReplyRule(400, "BadMessageId", [.device, .broadcast], .reject),
        ReplyRule(400, "BadPriority", [.device, .broadcast], .reject),
        ReplyRule(400, "BadRequestParams", .channels, .reject),
        ReplyRule(400, "BadRequestPayload", .channels, .reject),
        ReplyRule(400, "BadTopic", .device, .pauseTopic),
        ReplyRule(
            400, "CannotCreateChannelConfig", .channels, .reject,
            alarm: "an app may have 10,000 channels in each environment: delete some"),
        ReplyRule(400, "ChannelNotRegistered", [.broadcast, .channels], .unregister),
        ReplyRule(400, "DeviceTokenNotForTopic", .device, .doubtToken),
        ReplyRule(400, "DuplicateHeaders", .device, .reject, alarm: defect),
        ReplyRule(
            400, "FeatureNotEnabled", [.broadcast, .channels], .pauseTopic,
            alarm: "broadcasts have to be enabled for the app in the developer account"),
        ReplyRule(400, "IdleTimeout", .device, .resend, closesConnection: true),
        ReplyRule(400, "InvalidPushType", [.device, .broadcast], .reject),
        ReplyRule(400, "MissingChannelId", [.broadcast, .channels], .reject),
        ReplyRule(400, "MissingChannelQueueSize", .channels, .reject),
        ReplyRule(400, "MissingDeviceToken", .device, .reject),
        ReplyRule(400, "MissingPushType", [.broadcast, .channels], .reject),
        ReplyRule(400, "MissingTopic", .device, .pauseTopic),
        ReplyRule(400, "PayloadEmpty", [.device, .broadcast], .reject),
        ReplyRule(400, "TopicDisallowed", [.device, .broadcast], .pauseTopic),
        ReplyRule(403, "BadCertificate", .all, .pauseApp, closesConnection: true),
        ReplyRule(403, "BadCertificateEnvironment", .all, .pauseApp, closesConnection: true),
        ReplyRule(403, "BadEnvironmentKeyIdInToken", .device, .pauseApp, closesConnection: true).token(.environment),
        // As seen in the wild.
        ReplyRule(403, "BadEnvironmentKeyInToken", .device, .pauseApp, closesConnection: true).token(.environment),
        ReplyRule(403, "ExpiredProviderToken", .all, .renewToken).token(.expired),
        ReplyRule(403, "Forbidden", .all, .pauseTopic),
        ReplyRule(403, "InvalidProviderToken", .all, .reconnect, closesConnection: true).token(.invalid),
        ReplyRule(403, "MissingProviderToken", .all, .reconnect, closesConnection: true).token(.missing),
        ReplyRule(403, "TopicMismatch", [.broadcast, .channels], .pauseTopic),
        ReplyRule(403, "UnrelatedKeyIdInToken", .device, .reconnect, closesConnection: true).token(.unrelatedKey),
        ReplyRule(404, "BadPath", .all, .reject, alarm: defect),
        ReplyRule(405, "MethodNotAllowed", .all, .reject, alarm: defect),
        ReplyRule(410, "ExpiredToken", .device, .unregister),
        ReplyRule(410, "Unregistered", .device, .unregister),
        ReplyRule(413, "PayloadTooLarge", .all, .reject),
        ReplyRule(429, "TooManyProviderTokenUpdates", .all, .keepToken).token(.tooManyUpdates),
        ReplyRule(429, "TooManyRequests", [.device, .broadcast], .retryLater),
        ReplyRule(500, "InternalServerError", .all, .retryLater),
        ReplyRule(503, "Service Unavailable", .all, .retryLater),
        ReplyRule(503, "ServiceUnavailable", .all, .retryLater),
        ReplyRule(503, "Shutdown", .all, .resend, closesConnection: true),
    ]

    private static let byReason: [String: ReplyRule] = Dictionary(
        uniqueKeysWithValues: all.map { ($0.reason.description, $0) })

    /// 200, and in channel management 201 and 204.
    package static func isSuccess(_ status: UInt16) -> Bool {
        200...299 ~= status
    }

    /// The rule for the reason of a GOAWAY, which has no status: `nil` for one that is in no table.
    package static func rule(goaway reason: RejectionReason) -> ReplyRule? {
        byReason[reason.rawValue]
    }

    /// Whether Apple documents a reason, for whichever status.
    package static func isDocumented(_ reason: RejectionReason) -> Bool {
        byReason[reason.rawValue] != nil
    }

    /// The rule for an answer; an unknown reason, or none, is treated by the class of its status.
    package static func rule(status: UInt16, reason: RejectionReason?) -> ReplyRule {
        if isSuccess(status) { return ReplyRule(unknown: status, .accept) }
        if let reason, let rule = byReason[reason.rawValue] { return rule }
        switch status {
        case 403: return ReplyRule(unknown: status, .pauseTopic)
        case 410: return ReplyRule(unknown: status, .unregister)
        case 429, 500...599: return ReplyRule(unknown: status, .retryLater)
        default: return ReplyRule(unknown: status, .reject)
        }
    }
}

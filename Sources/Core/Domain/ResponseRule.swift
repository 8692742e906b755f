/// The reaction to a response from APNs.
package enum ResponseAction: Sendable, Equatable, CaseIterable {
    case accept
    /// The notification is invalid: final.
    case reject
    /// The device token or channel is no longer active: final, and the producer must delete it.
    case unregister
    /// The device token does not belong to this app in this environment: final. If many are refused like this, the
    /// environment or the topic is wrong, and the topic pauses.
    case doubtToken
    /// The device token, which may be active, does not match the topic: final. Counts for a pause as ``doubtToken``.
    case doubtTopic
    /// APNs did not process it, and another connection may work: resend immediately, not counted as an attempt.
    case resend
    /// Another connection may work: try once, then the app pauses.
    case reconnect
    /// Retry with a fresh provider token, then the app pauses.
    case renewToken
    /// Retry with the previous provider token, then the app pauses.
    case keepToken
    /// Retry with backoff: the service has a problem, or this device got too many requests.
    case retryLater
    /// The credential or the environment is wrong: the app pauses, and its requests wait.
    case pauseApp
    /// The topic is wrong, a configuration error even if the producer named it. The topic pauses, and its requests
    /// wait.
    case pauseTopic
}

package enum PauseScope: Sendable {
    /// Everything sent with the app's credential.
    case app
    /// Everything sent with one of its topics.
    case topic
}

extension ResponseAction {
    /// The scope that pauses, immediately or as a last resort; `nil` if only the notification is affected.
    package var pause: PauseScope? {
        switch self {
        case .pauseApp, .reconnect, .renewToken, .keepToken: .app
        case .pauseTopic: .topic
        case .accept, .reject, .unregister, .doubtToken, .doubtTopic, .resend, .retryLater: nil
        }
    }
}

/// A refusal of the request's provider token.
///
/// Source: "Handling notification responses from APNs", Table 2.
package enum TokenRefusal: Sendable {
    case expired
    /// From another team than the connection's, signed with an unknown key, or invalid.
    case invalid
    case missing
    /// From another key than the connection's.
    case unrelatedKey
    /// APNs received it too soon after another one.
    case tooManyUpdates
    /// From a key for the other environment.
    case environment
}

/// The APNs services that answer requests.
package struct ResponseOrigin: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `/3/device/…`
    package static let device = ResponseOrigin(rawValue: 1)
    /// `/4/broadcasts/…`
    package static let broadcast = ResponseOrigin(rawValue: 2)
    /// Channel management, `/1/apps/…`
    package static let channels = ResponseOrigin(rawValue: 4)
    package static let all: ResponseOrigin = [.device, .broadcast, .channels]
}

/// What a response proves about the app; each proves what those before it prove.
package enum ResponseProof: Sendable, Comparable {
    case none
    case credential
    /// The credential and the topic are accepted.
    case topic
    /// The device token also belongs to the app in its environment.
    case token
}

/// One row of Apple's tables.
///
/// Sources: "Handling notification responses from APNs", "Handling error responses from Apple Push Notification
/// service", and the APNs Provider API's Table 6-6; plus reasons and spellings observed in practice.
package struct ResponseRule: Sendable {
    package let status: UInt16
    /// Empty in the rule of a status for undocumented reasons.
    package let reason: StaticString
    /// The service for which Apple documents it.
    package let origin: ResponseOrigin
    package let action: ResponseAction
    /// Whether the connection of this response is no longer usable.
    package let closesConnection: Bool
    /// The refusal of the provider token; `nil` for none.
    package private(set) var tokenRefusal: TokenRefusal?
    /// A message for operators, for causes outside of requests.
    package let alarm: StaticString?

    init(
        _ status: UInt16, _ reason: StaticString, _ origin: ResponseOrigin, _ action: ResponseAction,
        closesConnection: Bool = false, alarm: StaticString? = nil
    ) {
        self.status = status
        self.reason = reason
        self.origin = origin
        self.action = action
        self.closesConnection = closesConnection
        self.alarm = alarm
    }

    /// The same rule with a refusal of the provider token.
    private func token(_ refusal: TokenRefusal) -> ResponseRule {
        var rule = self
        rule.tokenRefusal = refusal
        return rule
    }

    /// A rule for an undocumented reason.
    private init(unknown status: UInt16, _ action: ResponseAction) {
        self.init(status, "", .all, action)
    }

    /// Whether Apple documents the reason.
    package var isKnown: Bool {
        reason.utf8CodeUnitCount > 0 || action == .accept
    }

    package var proof: ResponseProof {
        switch action {
        case .accept: .token
        case .unregister: status == 410 ? .token : .topic
        case .doubtToken, .doubtTopic: .topic
        // A refused path or method proves nothing about the request's content.
        case .reject: status == 400 || status == 413 ? .topic : .none
        case .pauseTopic: isKnown ? .credential : .none
        case .resend, .reconnect, .renewToken, .keepToken, .retryLater, .pauseApp: .none
        }
    }

    private static let defect: StaticString = "this is a defect of Harebell; please report it"

    /// Every reason that Apple documents.
    package static let all: [ResponseRule] = [
        ResponseRule(400, "BadChannelId", [.broadcast, .channels], .reject),
        ResponseRule(400, "BadCollapseId", .device, .reject),
        ResponseRule(400, "BadDeviceToken", .device, .doubtToken),
        ResponseRule(400, "BadExpirationDate", [.device, .broadcast], .reject),
        ResponseRule(400, "BadMessageId", [.device, .broadcast], .reject),
        ResponseRule(400, "BadPriority", [.device, .broadcast], .reject),
        ResponseRule(400, "BadRequestParams", .channels, .reject),
        ResponseRule(400, "BadRequestPayload", .channels, .reject),
        ResponseRule(400, "BadTopic", .device, .pauseTopic),
        ResponseRule(
            400, "CannotCreateChannelConfig", .channels, .reject,
            alarm: "an app may have 10,000 channels in each environment: delete some"),
        ResponseRule(400, "ChannelNotRegistered", [.broadcast, .channels], .unregister),
        ResponseRule(400, "DeviceTokenNotForTopic", .device, .doubtTopic),
        ResponseRule(400, "DuplicateHeaders", .device, .reject, alarm: defect),
        ResponseRule(
            400, "FeatureNotEnabled", [.broadcast, .channels], .pauseTopic,
            alarm: "broadcasts have to be enabled for the app in the developer account"),
        ResponseRule(400, "IdleTimeout", .device, .resend, closesConnection: true),
        ResponseRule(400, "InvalidPushType", [.device, .broadcast], .reject),
        ResponseRule(400, "MissingChannelId", [.broadcast, .channels], .reject),
        ResponseRule(400, "MissingChannelQueueSize", .channels, .reject),
        ResponseRule(400, "MissingDeviceToken", .device, .reject),
        ResponseRule(400, "MissingPushType", [.broadcast, .channels], .reject),
        ResponseRule(400, "MissingTopic", .device, .pauseTopic),
        ResponseRule(400, "PayloadEmpty", [.device, .broadcast], .reject),
        ResponseRule(400, "TopicDisallowed", [.device, .broadcast], .pauseTopic),
        ResponseRule(403, "BadCertificate", .all, .pauseApp, closesConnection: true),
        ResponseRule(403, "BadCertificateEnvironment", .all, .pauseApp, closesConnection: true),
        ResponseRule(403, "BadEnvironmentKeyIdInToken", .device, .pauseApp, closesConnection: true).token(.environment),
        // Observed in practice.
        ResponseRule(403, "BadEnvironmentKeyInToken", .device, .pauseApp, closesConnection: true).token(.environment),
        ResponseRule(403, "ExpiredProviderToken", .all, .renewToken).token(.expired),
        ResponseRule(403, "Forbidden", .all, .pauseTopic),
        ResponseRule(403, "InvalidProviderToken", .all, .reconnect, closesConnection: true).token(.invalid),
        ResponseRule(403, "MissingProviderToken", .all, .reconnect, closesConnection: true).token(.missing),
        ResponseRule(403, "TopicMismatch", [.broadcast, .channels], .pauseTopic),
        ResponseRule(403, "UnrelatedKeyIdInToken", .device, .reconnect, closesConnection: true).token(.unrelatedKey),
        ResponseRule(404, "BadPath", .all, .reject, alarm: defect),
        ResponseRule(405, "MethodNotAllowed", .all, .reject, alarm: defect),
        ResponseRule(410, "ExpiredToken", .device, .unregister),
        ResponseRule(410, "Unregistered", .device, .unregister),
        ResponseRule(413, "PayloadTooLarge", .all, .reject),
        ResponseRule(429, "TooManyProviderTokenUpdates", .all, .keepToken).token(.tooManyUpdates),
        ResponseRule(429, "TooManyRequests", [.device, .broadcast], .retryLater),
        ResponseRule(500, "InternalServerError", .all, .retryLater),
        ResponseRule(503, "Service Unavailable", .all, .retryLater),
        ResponseRule(503, "ServiceUnavailable", .all, .retryLater),
        ResponseRule(503, "Shutdown", .all, .resend, closesConnection: true),
    ]

    private static let byReason: [String: ResponseRule] = Dictionary(
        uniqueKeysWithValues: all.map { ($0.reason.description, $0) })

    /// 200; for channel management also 201 and 204.
    package static func isSuccess(_ status: UInt16) -> Bool {
        200...299 ~= status
    }

    /// The rule for a reason with any status, or in a GOAWAY, which has none; `nil` for an undocumented reason.
    package static func documented(_ reason: RejectionReason) -> ResponseRule? {
        byReason[reason.rawValue]
    }

    /// The rule for a response. A missing or unknown reason is treated by the class of its status.
    package static func rule(status: UInt16, reason: RejectionReason?) -> ResponseRule {
        if isSuccess(status) { return ResponseRule(unknown: status, .accept) }
        if let reason, let rule = documented(reason) { return rule }
        switch status {
        case 403: return ResponseRule(unknown: status, .pauseTopic)
        case 410: return ResponseRule(unknown: status, .unregister)
        case 429, 500...599: return ResponseRule(unknown: status, .retryLater)
        default: return ResponseRule(unknown: status, .reject)
        }
    }
}

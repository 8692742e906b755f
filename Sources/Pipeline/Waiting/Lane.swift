package import Core

/// A condition that notifications wait for: a gate, and what it holds.
///
/// A pool's connection has one, an app's credential, and each of its topics: a refusal of one notification applies to
/// all of that topic, but a refused topic (an unsupported push type, or broadcasts without the capability) does not
/// block the others. A bad key causes one pause with one probe.
package struct Lane {
    package var gate = LaneGate()
    /// Notifications that wait for the gate, oldest first.
    package var held = HandleQueue()
    /// How many of the topic's device tokens APNs has refused recently.
    package var tokenRefusals = TokenRefusalShare()
    /// Whether APNs has ever responded to one of its notifications without refusing the app or the topic.
    var hasResponded = false

    /// The lanes to devices, one for each push type.
    package static let devices = 0..<PushType.allCases.count
    /// After those: broadcasts, channel management, and the lane of the credential.
    package static let count = devices.count + 3
    package static let all = (0..<count).map(LaneID.init)
    /// The lane of the credential, which every notification passes in addition to the lane of its topic.
    package static let credential = LaneID(count - 1)

    package static func lane(of notification: borrowing Notification) -> LaneID {
        switch notification.target {
        case .device: LaneID(Int(notification.content.pushType.rawValue))
        case .channel: LaneID(count - 3)
        case .management: LaneID(count - 2)
        }
    }
}

/// An app or one of its topics that is paused, for monitoring.
package struct PausedTopic: Equatable, Sendable {
    package let app: AppName
    /// The refused topic; the bundle ID for broadcasts and channels. If the credential is refused, the app's topic.
    package let topic: String
    /// Whether the pause affects notifications to devices, not only broadcasts or channels.
    package let isForDevices: Bool
    package let cause: LaneGate.Cause
    package let since: Instant
    package let held: Int
}

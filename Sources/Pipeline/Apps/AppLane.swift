package import Core

/// The notifications of one app that go the same way: what refuses one of them refuses all.
///
/// Each topic has a gate of its own, so that one that is refused (a push type that the app is not made for, a broadcast
/// without the capability) does not hold up the others; and all of them go through the gate of the app's credential, so
/// that a bad key is one pause with one probe.
package struct AppLane {
    package var gate = AppGate()
    /// Notifications that wait for the gate, oldest first.
    package var held = HandleQueue()
    package var refusals = TokenRefusalShare()
    /// Whether APNs has ever answered one of its notifications without refusing the app or the topic.
    package var hasAnswered = false

    /// The lanes to devices, one for each push type.
    package static let devices = 0..<PushType.allCases.count
    /// Beside those, one for broadcasts, one for channel management and one for them all.
    package static let count = devices.count + 3
    package static let all = (0..<count).map(LaneID.init)
    /// The lane of the credential, which every notification takes beside the one of its topic.
    package static let credential = LaneID(count - 1)

    /// Whether what refuses a lane refuses notifications to devices.
    package static func isForDevices(_ lane: LaneID) -> Bool {
        lane == credential || devices.contains(lane.index)
    }

    /// The lane of a notification's topic.
    package static func lane(of notification: borrowing Notification) -> LaneID {
        switch notification.target {
        case .device: LaneID(Int(notification.pushType.rawValue))
        case .channel: LaneID(count - 3)
        case .management: LaneID(count - 2)
        }
    }
}

/// An app or one of its topics that is paused, for those who watch.
package struct PausedTopic: Equatable, Sendable {
    package let app: AppName
    /// The topic that is refused; for broadcasts and channels the bundle ID. Where the credential is, the app's.
    package let topic: String
    /// Whether that concerns notifications to devices, and not broadcasts or channels alone.
    package let isForDevices: Bool
    package let cause: AppGate.Cause
    package let since: Instant
    /// Notifications that wait.
    package let held: Int
}

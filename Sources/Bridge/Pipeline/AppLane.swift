package import Core

/// The notifications of one app that go the same way under one topic: what refuses one of them refuses all.
///
/// Each topic has a gate of its own, so that one that is refused (a push type that the app is not made for, a broadcast
/// without the capability) does not hold up the others.
package struct AppLane {
    package var gate = AppGate()
    /// Notifications that wait for the gate, oldest first.
    package var held: [UInt32] = []
    package var refusals = TokenRefusalShare()

    /// One for each push type to devices, one for broadcasts and one for channel management.
    package static let count = PushType.allCases.count + 2

    /// Which of an app's lanes a notification takes.
    package static func index(of notification: borrowing Notification) -> Int {
        switch notification.target {
        case .device: Int(notification.pushType.rawValue)
        case .channel: count - 2
        case .management: count - 1
        }
    }
}

/// An app's topic that is paused, for those who watch.
package struct PausedTopic: Equatable, Sendable {
    /// The configured topic of the app.
    package let app: String
    package let environment: Environment
    /// The topic that is refused; for broadcasts and channels the bundle ID.
    package let topic: String
    package let cause: AppGate.Cause
    package let since: Instant
    /// Notifications that wait.
    package let held: Int
}

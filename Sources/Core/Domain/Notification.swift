/// A decoded notification: target, headers and payload.
///
/// Slices refer to the delivery's memory if the format allows it. The payload is sent unchanged.
package struct Notification: Sendable {
    package enum Target: Hashable, Sendable {
        case device(DeviceToken)
        /// A broadcast to the subscribers of a channel; the base64 text of `apns-channel-id`.
        case channel(ArraySlice<UInt8>)
        /// A request for the app's channels. It has no recipient, but is processed like a notification.
        case management(ChannelOperation)

        /// Whether it may be resent when its result is unknown: true except for creating a channel, which would create
        /// another one.
        package var maySendAgain: Bool {
            if case .management(let operation) = self { operation.isIdempotent } else { true }
        }

        /// Whether the topic is the app's bundle ID without a push type's suffix.
        package var namesBundleID: Bool {
            if case .device = self { false } else { true }
        }
    }

    /// What the notifications of a fan-out have in common: one object for all of them.
    package final class Content: Sendable {
        /// `apns-topic`; `nil` uses the only configured app.
        package let topic: ArraySlice<UInt8>?
        package let pushType: PushType
        /// `apns-priority`; `nil` omits it, and APNs uses 10.
        package let priority: Priority?
        /// `apns-expiration` in seconds since 1970 UTC; 0 means a single attempt; `nil` omits it.
        package let expiration: Int64?
        /// `apns-collapse-id`, at most 64 bytes.
        package let collapseID: ArraySlice<UInt8>?
        /// `apns-id`; `nil` derives one from the request's key.
        package let id: NotificationID?
        /// `nil` uses the environment of the app with this topic.
        package let environment: Environment?
        package let payload: ArraySlice<UInt8>

        package init(
            topic: ArraySlice<UInt8>? = nil, pushType: PushType, priority: Priority? = nil, expiration: Int64? = nil,
            collapseID: ArraySlice<UInt8>? = nil, id: NotificationID? = nil, environment: Environment? = nil,
            payload: ArraySlice<UInt8>
        ) {
            self.topic = topic
            self.pushType = pushType
            self.priority = priority
            self.expiration = expiration
            self.collapseID = collapseID
            self.id = id
            self.environment = environment
            self.payload = payload
        }

        /// Whether `apns-expiration` has passed; 0 never does.
        package func hasExpired(at time: WallTime) -> Bool { expiration.map { $0 > 0 && $0 < time.seconds } ?? false }

        /// The same with another expiration.
        package func expiring(at expiration: Int64) -> Content {
            Content(
                topic: topic, pushType: pushType, priority: priority, expiration: expiration, collapseID: collapseID,
                id: id, environment: environment, payload: payload)
        }
    }

    package let target: Target
    package let content: Content

    /// Source: "Sending notification requests to APNs", `apns-collapse-id`.
    package static let maximumCollapseID = 64

    package init(target: Target, _ content: Content) {
        self.target = target
        self.content = content
    }

    /// A request for an app's channels.
    package init(
        _ operation: ChannelOperation, topic: ArraySlice<UInt8>? = nil, expiration: Int64? = nil,
        id: NotificationID? = nil, environment: Environment? = nil
    ) {
        let content = Content(
            topic: topic, pushType: .liveactivity, expiration: expiration, id: id, environment: environment,
            payload: operation.body[...])
        self.init(target: .management(operation), content)
    }

    package var topic: ArraySlice<UInt8>? { content.topic }
    package var pushType: PushType { content.pushType }
    package var priority: Priority? { content.priority }
    package var expiration: Int64? { content.expiration }
    package var collapseID: ArraySlice<UInt8>? { content.collapseID }
    package var id: NotificationID? { content.id }
    package var environment: Environment? { content.environment }
    package var payload: ArraySlice<UInt8> { content.payload }
}

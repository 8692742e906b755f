/// A decoded notification: target, headers and payload.
///
/// Slices refer to the delivery's memory if the format allows it. The payload is sent unchanged.
package struct Notification: Sendable {
    /// The recipient.
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

    package var target: Target
    /// `apns-topic`; `nil` uses the only configured app.
    package var topic: ArraySlice<UInt8>?
    package var pushType: PushType
    /// `apns-priority`; `nil` omits it, and APNs uses 10.
    package var priority: Priority?
    /// `apns-expiration` in seconds since 1970 UTC; 0 means a single attempt; `nil` omits it.
    package var expiration: Int64?
    /// `apns-collapse-id`, at most 64 bytes.
    package var collapseID: ArraySlice<UInt8>?
    /// `apns-id`; `nil` derives one from the request's key.
    package var id: NotificationID?
    /// `nil` uses the environment of the app with this topic.
    package var environment: Environment?
    package var payload: ArraySlice<UInt8>

    /// Source: "Sending notification requests to APNs", `apns-collapse-id`.
    package static let maximumCollapseID = 64

    // Inlined, because a call would copy and destroy every field of its result.
    @inlinable @inline(__always)
    package init(
        target: Target, topic: ArraySlice<UInt8>? = nil, pushType: PushType, priority: Priority? = nil,
        expiration: Int64? = nil, collapseID: ArraySlice<UInt8>? = nil, id: NotificationID? = nil,
        environment: Environment? = nil, payload: ArraySlice<UInt8>
    ) {
        self.target = target
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.id = id
        self.environment = environment
        self.payload = payload
    }

    /// A request for an app's channels.
    package init(
        _ operation: ChannelOperation, topic: ArraySlice<UInt8>? = nil, id: NotificationID? = nil,
        environment: Environment? = nil
    ) {
        self.init(
            target: .management(operation), topic: topic, pushType: .liveactivity, id: id, environment: environment,
            payload: operation.body[...])
    }
}

/// What goes to Apple: an address, headers and a payload, as a decoder found them.
///
/// Every slice lies in the delivery's own memory wherever the format allows it; the payload goes out byte for byte.
package struct Notification: Sendable {
    /// Whom it is for.
    package enum Target: Hashable, Sendable {
        case device(DeviceToken)
        /// A broadcast to those who subscribed to a channel; the base64 text of `apns-channel-id`.
        case channel(ArraySlice<UInt8>)
        /// No one: a request about the app's channels, which takes the way of a notification.
        case management(ChannelOperation)

        /// Whether it may be sent once more where nobody knows what became of it: everything but the creation of a
        /// channel, which would make another one.
        package var maySendAgain: Bool {
            if case .management(let operation) = self { operation.isIdempotent } else { true }
        }

        /// Whether the app is named by its bundle ID alone, without a push type's suffix.
        package var namesBundleID: Bool {
            if case .device = self { false } else { true }
        }
    }

    package var target: Target
    /// `apns-topic`; `nil` leaves it to the configuration's only app.
    package var topic: ArraySlice<UInt8>?
    package var pushType: PushType
    /// `apns-priority`; `nil` sends none, so that APNs takes 10.
    package var priority: Priority?
    /// `apns-expiration` in seconds since 1970 UTC; 0 means one attempt; `nil` sends none.
    package var expiration: Int64?
    /// `apns-collapse-id`, at most 64 bytes.
    package var collapseID: ArraySlice<UInt8>?
    /// `apns-id`; `nil` derives one from the request's key.
    package var id: NotificationID?
    /// `nil` leaves it to the app that the topic names.
    package var environment: Environment?
    package var payload: ArraySlice<UInt8>

    /// Source: "Sending notification requests to APNs", `apns-collapse-id`.
    package static let maximumCollapseID = 64

    // In line, because the call would copy and destroy every field of what it has made.
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

    /// A request about an app's channels.
    package init(
        _ operation: ChannelOperation, topic: ArraySlice<UInt8>? = nil, id: NotificationID? = nil,
        environment: Environment? = nil
    ) {
        self.init(
            target: .management(operation), topic: topic, pushType: .liveactivity, id: id, environment: environment,
            payload: operation.body[...])
    }
}

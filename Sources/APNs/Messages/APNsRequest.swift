package import Core

/// One notification, or request about channels, ready to be sent: every choice is made, every value is checked.
///
/// The slices lie in the delivery's memory and stay there until the request has ended.
package struct APNsRequest: Sendable {
    package var target: Notification.Target
    /// `apns-topic`; for everything but a device the bundle ID, without a suffix.
    package var topic: ArraySlice<UInt8>
    package var pushType: PushType
    /// `apns-priority`; `nil` sends none.
    package var priority: Priority?
    /// `apns-expiration` in seconds since 1970 UTC; `nil` sends none.
    package var expiration: Int64?
    /// `apns-collapse-id`, at most 64 bytes; a broadcast has none.
    package var collapseID: ArraySlice<UInt8>?
    /// `apns-id`, for everything but a device `apns-request-id`.
    package var id: NotificationID
    package var payload: ArraySlice<UInt8>
    /// The AMQP `priority`: which of the requests that wait goes first.
    package var rank: UInt8

    // In line, because the call would copy and destroy every field of what it has made.
    @inlinable @inline(__always)
    package init(
        target: Notification.Target, topic: ArraySlice<UInt8>, pushType: PushType, priority: Priority? = nil,
        expiration: Int64? = nil, collapseID: ArraySlice<UInt8>? = nil, id: NotificationID, payload: ArraySlice<UInt8>,
        rank: UInt8 = 0
    ) {
        self.target = target
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.id = id
        self.payload = payload
        self.rank = rank
    }

    /// A request about the channels of an app.
    package init(_ operation: ChannelOperation, bundleID: ArraySlice<UInt8>, id: NotificationID) {
        self.init(
            target: .management(operation), topic: bundleID, pushType: .liveactivity, id: id,
            payload: operation.body[...])
    }

    /// Whether DATA follows HEADERS.
    var hasBody: Bool {
        switch target {
        case .device, .channel, .management(.create): true
        case .management: false
        }
    }

    /// Whether what a success answers stands in its body; for everything else its headers say it all.
    var answersInBody: Bool {
        switch target {
        case .management(.read), .management(.list): true
        case .device, .channel, .management: false
        }
    }
}

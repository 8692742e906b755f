package import Core

/// One notification or channel request, complete and validated.
///
/// The slices refer to the delivery's memory, which must remain valid until the request has ended.
package struct APNsRequest: Sendable {
    package var target: Notification.Target
    /// `apns-topic`. Without a device it is the bundle ID without a suffix.
    package var topic: ArraySlice<UInt8>
    package var pushType: PushType
    /// `apns-priority`; `nil` sends none.
    package var priority: Priority?
    /// `apns-expiration` in seconds since 1970 UTC; `nil` sends none.
    package var expiration: Int64?
    /// `apns-collapse-id`, at most 64 bytes; a broadcast has none.
    package var collapseID: ArraySlice<UInt8>?
    /// `apns-id`; without a device `apns-request-id`.
    package var id: NotificationID
    package var payload: ArraySlice<UInt8>
    /// The AMQP `priority`: orders the waiting requests.
    package var rank: UInt8

    // Inlined, because a call would copy and destroy every field of its result.
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

    /// A request for an app's channels.
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

    /// Whether a success has its result in the body; for all other requests the headers suffice.
    var hasResultInBody: Bool {
        switch target {
        case .management(.read), .management(.list): true
        case .device, .channel, .management: false
        }
    }
}

package import Core

/// One notification or channel request, complete and validated.
///
/// The slices refer to the delivery's memory, which must remain valid until the request has ended.
package struct APNsRequest: Sendable {
    package var notification: Notification
    /// `apns-topic`. Without a device it is the bundle ID without a suffix.
    package var topic: ArraySlice<UInt8>
    /// `apns-id`; without a device `apns-request-id`.
    package var id: NotificationID
    /// The AMQP `priority`: orders the waiting requests.
    package var rank: UInt8

    // Inlined, because a call would copy and destroy every field of its result.
    @inlinable @inline(__always)
    package init(_ notification: Notification, topic: ArraySlice<UInt8>, id: NotificationID, rank: UInt8 = 0) {
        self.notification = notification
        self.topic = topic
        self.id = id
        self.rank = rank
    }

    /// Whether DATA follows HEADERS.
    var hasBody: Bool {
        switch notification.target {
        case .device, .channel, .management(.create): true
        case .management: false
        }
    }

    /// Whether a success has its result in the body; for all other requests the headers suffice.
    var hasResultInBody: Bool {
        switch notification.target {
        case .management(.read), .management(.list): true
        case .device, .channel, .management: false
        }
    }
}

package import Core

/// One notification or channel request, complete and validated.
///
/// A class, because a pool keeps what its owner keeps as well: a subclass adds the owner's records. Open, because Swift
/// 6.3 allows no subclass of a package class in another module.
open class APNsRequest {
    package final let notification: Notification
    /// `apns-topic`. Without a device it is the bundle ID without a suffix.
    package final let topic: ArraySlice<UInt8>
    /// `apns-id`; without a device `apns-request-id`.
    package final let id: NotificationID
    /// The AMQP `priority`: orders the waiting requests.
    final let rank: UInt8

    package init(_ notification: Notification, topic: ArraySlice<UInt8>, id: NotificationID, rank: UInt8 = 0) {
        self.notification = notification
        self.topic = topic
        self.id = id
        self.rank = rank
    }

    /// Whether DATA follows HEADERS.
    final var hasBody: Bool {
        switch notification.target {
        case .device, .channel, .management(.create): true
        case .management: false
        }
    }

    /// Whether a success has its result in the body; for all other requests the headers suffice.
    final var hasResultInBody: Bool {
        switch notification.target {
        case .management(.read), .management(.list): true
        case .device, .channel, .management: false
        }
    }
}

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
    /// What its pool has tried since the last submission.
    final var submission = Submission(isProbe: false)

    struct Submission {
        /// `nil` while it waits.
        var sentAt: Instant?
        var tokenGeneration: UInt32 = 0
        var resends = 0
        /// How many of them a response caused.
        var turnedAway = 0
        var wasResent = false
        // What was already tried after its provider token was refused; each is tried once.
        var hadOlderToken = false
        /// The refusal after which it waits for a fresh connection.
        var refused: Refused?
        /// Whether it needs a connection that is not bound to anything that was refused.
        var needsFreshConnection: Bool {
            isProbe || refused != nil
        }
        /// Whether it tests what a newly bound connection accepts.
        let isProbe: Bool
    }

    struct Refused {
        let refusal: TokenRefusal
        /// The serial number of its connection.
        let serial: UInt32
        let response: APNsResponse
    }

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

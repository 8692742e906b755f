package import Core

/// A delivery from its arrival to its settlement.
package final class InFlightRequest {
    package var delivery: Delivery
    package let arrived: Moment
    /// Notifications without an outcome and publications without a confirm; at zero the delivery is settled.
    package var open = 0
    /// Its connection is gone, so that its tag means nothing any more: a redelivery may adopt it.
    package var isOrphan = false
    /// Notifications, of how many, whose outcome calls for a dead letter, and the first of their reports.
    package var notifications = 1
    package var failures = 0
    package var firstFailure: (id: NotificationID?, report: Report)?

    package init(delivery: Delivery, arrived: Moment) {
        self.delivery = delivery
        self.arrived = arrived
    }
}

/// A notification from its decoding to its outcome.
package final class InFlightNotification {
    package let request: InFlightRequest
    package let notification: Notification
    /// Its place among the notifications of its request, or `nil` if it is the only one.
    package let position: Int?
    package let id: NotificationID
    package let app: Int
    /// Which of the app's lanes it takes.
    package let lane: Int
    /// The full topic that goes into `apns-topic`.
    package let topic: ArraySlice<UInt8>
    /// What is wrong with the payload by Apple's tables, for the result.
    package var finding: String?
    /// Tries that counted: those that APNs may have worked on.
    package private(set) var attempts = 0
    /// Tries that ended in trouble, whether they counted or not: they are what is limited.
    package private(set) var troubles = 0
    /// What APNs did with all the tries together: `unknown` if that is unknown of one of them.
    package private(set) var processed = Processed.no
    package var firstTry: Instant?
    /// Its pool's name for it, from when it is handed over until its end there.
    package var ticket: UInt32?
    /// The pool that it was last handed to.
    package var pool = 0

    package init(
        request: InFlightRequest, notification: Notification, position: Int?, id: NotificationID,
        match: AppTable.Match
    ) {
        self.request = request
        self.notification = notification
        self.position = position
        self.id = id
        app = match.app
        lane = AppLane.index(of: notification)
        topic = match.topic
    }

    /// A try ended.
    package func tried(_ processed: Processed) {
        guard processed != .no else { return }
        attempts += 1
        if self.processed != .unknown { self.processed = processed }
    }

    /// A try ended in a way that may be tried again.
    package func tried(inVain processed: Processed) {
        troubles += 1
        tried(processed)
    }
}

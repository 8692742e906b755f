package import APNs
package import Core

/// A delivery from its arrival to its settlement.
package final class InFlightRequest {
    var delivery: Delivery
    package let arrived: Moment
    /// Notifications without an outcome and publications without a confirm; at zero the delivery is settled.
    var open = 0
    /// Its connection is gone, so that its tag means nothing any more: a redelivery may adopt it.
    var isOrphan = false
    /// Notifications, of how many, whose outcome calls for a dead letter, and the first of their reports.
    var notifications = 1
    /// How many of them this delivery has to send.
    var started = 0
    var failures = 0
    var firstFailure: Failure?
    /// The places of those whose outcome calls for a dead letter in a fan-out.
    var failed: [Int] = []
    /// What was tried before this delivery.
    let history: RequestHistory
    /// The key of a request with a message id, which is wanted of each that completes: made on arrival, while its bytes
    /// are in the processor's cache.
    let namedKey: RedeliveryKey?
    /// Results that are published together.
    var results: [PartialResult] = []
    /// `nil` unless the request is traced.
    var trace: RequestTrace?
    /// Notifications that wait for the next round.
    var parked: [ParkedNotification] = []

    /// What became of a notification that calls for a dead letter. An object, because hardly a request has one.
    final class Failure {
        let id: NotificationID?
        let report: Report
        /// Bodies of the results that no queue took.
        var results: [ArraySlice<UInt8>] = []

        init(id: NotificationID?, report: Report) {
            self.id = id
            self.report = report
        }
    }

    package init(delivery: Delivery, arrived: Moment) {
        self.delivery = delivery
        self.arrived = arrived
        let history = RequestHistory(delivery)
        self.history = history
        namedKey = delivery.hasMessageID ? RedeliveryKey(delivery, history) : nil
    }

    /// What its redeliveries look like.
    var redeliveryKey: RedeliveryKey {
        namedKey ?? RedeliveryKey(delivery, history)
    }

    /// Whether nothing came of this delivery but that all of its notifications waited, and a redelivery is as good.
    var isUntouched: Bool {
        parked.count == started
            && parked.allSatisfy { parked in
                parked.trouble == nil && parked.entry.isUntried
            }
    }

    /// What is left out of a copy of a fan-out; `nil` where nothing is.
    func doneBitmap(leaving positions: [Int]) -> DoneBitmap? {
        guard !positions.isEmpty, positions.count < notifications else { return nil }
        return DoneBitmap(notifications: notifications, leaving: positions)
    }

    /// When it expires by its AMQP expiration, counted from its timestamp, else from when it arrived here first: the
    /// broker drops what expires in a queue, and this is for what expires while it is held or parked.
    var expiresAt: WallTime? {
        if let known = history.expiresAt { return known }
        guard let text = delivery.expiration, let lifetime = Int64(String(decoding: text, as: UTF8.self)), lifetime > 0
        else { return nil }
        guard let timestamp = delivery.timestamp else { return arrived.wall.adding(milliseconds: lifetime) }
        guard let seconds = Int64(exactly: timestamp) else { return nil }
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        // Timestamps are whole seconds, rounded down.
        return overflow
            ? nil : WallTime(milliseconds: milliseconds).adding(milliseconds: 999)?.adding(milliseconds: lifetime)
    }
}

/// A notification from its decoding to its outcome.
package final class InFlightNotification {
    let request: InFlightRequest
    let notification: Notification
    /// Its place among the notifications of its request, or `nil` if it is the only one.
    let position: Int?
    let id: NotificationID
    private let match: AppTable.Match
    /// Which of the app's lanes it takes.
    let lane: LaneID
    /// What is wrong with the payload by Apple's tables, for the result.
    var finding: String?
    /// Attempts: the tries that APNs may have worked on, and rounds in which it took none; of earlier rounds as well.
    private(set) var attempts: Int
    /// Tries of this round that ended in trouble, whether they counted or not: they are what is limited in this
    /// process.
    private(set) var troubles = 0
    /// What APNs did with all the tries together: `unknown` if that is unknown of one of them.
    private(set) var processed: Processed
    var firstTry: Instant?
    /// Since when it waits to be sent, for its app or in a pool; the time of a try in between counts.
    var waitingSince: Instant?
    /// When it was last handed to a pool.
    var submittedAt = Instant(nanoseconds: 0)
    /// Whether a pool has it.
    var isSubmitted = false
    /// The pool that it was last handed to.
    package var pool = PoolID(0)

    package init(
        request: InFlightRequest, notification: Notification, position: Int?, id: NotificationID,
        match: AppTable.Match
    ) {
        self.request = request
        self.notification = notification
        self.position = position
        self.id = id
        self.match = match
        lane = AppLane.lane(of: notification)
        attempts = request.history.attempts
        processed = request.history.processed
    }

    var app: AppID { match.app }
    var environment: Environment { match.environment }
    /// The full topic that goes into `apns-topic`.
    var topic: ArraySlice<UInt8> { match.topic }

    /// What APNs is asked.
    package var apnsRequest: APNsRequest {
        APNsRequest(
            target: notification.target, topic: topic, pushType: notification.pushType,
            priority: notification.priority ?? notification.pushType.rules.defaultPriority,
            expiration: notification.expiration, collapseID: notification.collapseID, id: id,
            payload: notification.payload, rank: request.delivery.priority)
    }

    /// Whether nothing came of it in this process, and a redelivery of its request may send it as well.
    var isUntried: Bool {
        troubles == 0 && attempts == request.history.attempts && notification.target.maySendAgain
    }

    /// A try ended.
    package func tried(_ processed: Processed) {
        guard processed != .no else { return }
        attempts += 1
        if self.processed != .unknown { self.processed = processed }
    }

    /// No more tries in this process: the round counts, though APNs may have worked on none of them.
    package func roundEnded() {
        if attempts == request.history.attempts { attempts += 1 }
    }

    /// A try ended in a way that may be tried again.
    package func tried(inVain processed: Processed) {
        troubles += 1
        tried(processed)
    }
}

extension WallTime {
    /// - Returns: `nil` beyond what can be told, which is no time that anybody waits for.
    fileprivate func adding(milliseconds: Int64) -> WallTime? {
        let (sum, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
        return overflow ? nil : WallTime(milliseconds: sum)
    }
}

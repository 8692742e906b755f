package import APNs
package import Core

/// A delivery from its arrival to its settlement.
package final class InFlightRequest {
    /// Constant, so that reading it copies nothing.
    let delivery: Delivery
    /// Those of the delivery, or of the redelivery that adopted the request.
    var epoch: UInt32
    var tag: UInt64
    package let arrived: Moment
    /// Its arrival, or the end of the pause that its decoder or its `not-before` asked for.
    var dueSince: Instant
    let reply: ReplyAddress
    /// Its notifications without an outcome and its publishes without a confirm.
    private var parts = 0
    /// The connection was lost, so the delivery tag is invalid; a redelivery may adopt the request.
    var isOrphan = false
    /// Whether its notifications expire before its `not-before`.
    var startsTooLate = false
    var notificationCount = 1
    /// The number of notifications that this delivery has to send; 0 until it is decoded.
    var started = 0
    /// The outcomes that require a dead letter; `nil` if there is none.
    var failures: Failures?
    let history: RequestHistory
    /// The key of a request with a message id, needed when it completes. Computed on arrival, while its bytes are in
    /// the processor's cache.
    let namedKey: RedeliveryKey?
    /// Results that are published in one message.
    var results: [ResultNote] = []
    /// The positions of those in the message.
    var joinedPositions: [Int] = []
    /// What the results of a fan-out have in common; `nil` before the first one.
    var sharedResult: SharedResult?
    var trace: RequestTrace?
    /// Notifications that wait for the next round.
    var parked: [ParkedNotification] = []
    /// How long it waits until it is decoded again, once all of its parts have ended.
    var deferral: Duration?
    /// The number of its notifications that wait for a retry in this process.
    var retries = 0
    /// The number of its results whose destination is not open.
    var heldResults = 0

    /// The notifications that require a dead letter. An object, because few requests have one.
    final class Failures {
        var count = 0
        /// Their positions in a fan-out.
        var positions: [Int] = []
        /// The positions of results that only reached no queue.
        var unrouted: [Int] = []
        /// A replay sends these. If no notification failed, it sends those whose results reached no queue.
        var replayed: [Int] { positions.isEmpty ? unrouted : positions }
        /// Those of the first failure, else of the first result that reached no queue.
        private(set) var id: NotificationID?
        private(set) var report: Report
        /// Bodies of the results that no queue accepted.
        var results: [ArraySlice<UInt8>] = []

        init(id: NotificationID?, report: Report) {
            self.id = id
            self.report = report
        }

        /// A failure replaces a result that only reached no queue. Of those, one that APNs accepted replaces the
        /// others: a replay would notify again.
        func join(id: NotificationID?, report: Report) {
            let known = self.report.outcome
            guard !known.isFailure,
                report.outcome.isFailure || report.outcome == .accepted && known != .accepted
            else { return }
            self.id = id
            self.report = report
        }
    }

    /// - Parameter usesReplyTo: whether results go to the queue that `reply_to` names.
    package init(delivery: Delivery, arrived: Moment, usesReplyTo: Bool = true) {
        reply = usesReplyTo ? ReplyAddress(delivery.replyTo) : .none
        self.delivery = delivery
        (epoch, tag) = (delivery.epoch, delivery.tag)
        self.arrived = arrived
        dueSince = arrived.instant
        history = RequestHistory(delivery)
        namedKey = delivery.hasMessageID ? RedeliveryKey(delivery, history) : nil
    }

    package var queue: QueueID { delivery.queue }

    var namesReplyQueue: Bool {
        if case .queue = reply { true } else { false }
    }

    var redeliveryKey: RedeliveryKey {
        namedKey ?? RedeliveryKey(delivery, history)
    }

    // MARK: Its parts

    /// What follows when a part of a request has ended.
    enum Next {
        /// Others have not ended.
        case wait
        case results([ResultNote])
        case deadLetter(Failures)
        /// Its parked notifications wait in a retry queue.
        case retry
        /// It was not sent, and returns to its queue.
        case requeue
        /// It waits in the worker, and is decoded again.
        case decodeLater(Duration)
        case complete
    }

    func addParts(_ count: Int = 1) {
        parts += count
    }

    /// - Parameter mayReturn: whether unsent notifications return to their queue instead of a retry queue.
    func endPart(mayReturn: Bool = false) -> Next {
        parts -= 1
        guard parts == 0 else { return .wait }
        if !results.isEmpty {
            defer { results = [] }
            return .results(results)
        }
        if let failures = failures.take() { return .deadLetter(failures) }
        if let pause = deferral.take() { return .decodeLater(pause) }
        if parked.isEmpty { return .complete }
        return (mayReturn || isOrphan) && isUntouched ? .requeue : .retry
    }

    /// Whether all notifications of this delivery only waited, so that a redelivery is equivalent.
    var isUntouched: Bool {
        parked.count == started && parked.allSatisfy(\.entry.isUnattempted)
    }

    /// The notifications that a copy of a fan-out omits; `nil` if it omits none.
    func doneBitmap(leaving positions: [Int]) -> DoneBitmap? {
        guard !positions.isEmpty, positions.count < notificationCount else { return nil }
        return DoneBitmap(notifications: notificationCount, leaving: positions)
    }

    /// The AMQP expiration, counted from a plausible timestamp, at the latest from the first arrival. The broker drops
    /// messages that expire in a queue; this covers requests that expire while held or parked.
    var expiresAt: WallTime? {
        if let known = history.expiresAt { return known }
        guard let lifetime = delivery.lifetime, lifetime > 0 else { return nil }
        // The timestamp may be in whole seconds, rounded down.
        let published = delivery.published(before: arrived.wall)?.adding(milliseconds: 999)
        return min(published ?? arrived.wall, arrived.wall).adding(milliseconds: lifetime)
    }
}

/// A notification from its decoding to its outcome.
package final class InFlightNotification: APNsRequest {
    /// Where it waits: in one place.
    enum Place: Equatable {
        case none
        case lane(Waiting.Place)
        /// For the rate limit of its queue.
        case pace
        /// For a retry in this process.
        case retry
        /// In its pool: for a connection, a permit or the response.
        case pool
    }

    let request: InFlightRequest
    /// The position in its request; `nil` for a single notification.
    let position: Int?
    let app: AppID
    let environment: Environment
    let lane: LaneID
    /// Violations of Apple's tables in the payload, for the result.
    var finding: String?
    /// Tries that APNs may have processed, plus one for each round without such a try; includes earlier rounds.
    private(set) var attempts: Int
    /// Failed tries of this round, whether they count as attempts or not. Retries in this process are limited by them.
    private(set) var failedTries = 0
    /// What APNs did in all tries: `unknown` if that is unknown for one of them.
    private(set) var processed: Processed
    var firstAttempt: Instant?
    /// Since when it waits to be sent, for its app or in a pool; includes tries in between.
    var waitingSince: Instant?
    var submittedAt = Instant(nanoseconds: 0)
    var place = Place.none
    /// Whether the pool had already sent it when it was asked to return it.
    var isBeyondRecall = false
    var pool = PoolID(0)

    package init(
        request: InFlightRequest, notification: Notification, position: Int?, id: NotificationID,
        match: AppTable.Match
    ) {
        self.request = request
        self.position = position
        (app, environment) = (match.app, match.environment)
        lane = Lane.lane(of: notification)
        attempts = request.history.attempts
        processed = request.history.processed
        super.init(notification, topic: match.topic, id: id, rank: request.delivery.priority)
    }

    /// The lanes of its app that it passes: that of the credential, and that of its topic.
    var appPlaces: (credential: Waiting.Place, topic: Waiting.Place) {
        (.app(app, Lane.credential), .app(app, lane))
    }

    /// Its end without a response to report.
    func report(_ outcome: Outcome, _ detail: String? = nil) -> Report {
        Report(
            outcome: outcome, attempts: attempts, processed: outcome == .undelivered ? processedIfFailed : processed,
            detail: detail)
    }

    /// What APNs did with a notification that fails: an error response counts as not processed.
    var processedIfFailed: Processed { processed == .unknown ? .unknown : .no }

    /// Whether APNs must not store it: it is tried for a short time and never parked.
    var isNowOrNever: Bool { notification.content.expiration == 0 }

    /// Whether this process made no try, and a redelivery may send it.
    var isUnattempted: Bool {
        failedTries == 0 && attempts == request.history.attempts && notification.target.maySendAgain
    }

    package func attemptEnded(_ processed: Processed) {
        guard processed != .no else { return }
        attempts += 1
        if self.processed != .unknown { self.processed = processed }
    }

    /// Ends the tries in this process: the round counts as an attempt even if APNs processed none of them.
    package func roundEnded() {
        if attempts == request.history.attempts { attempts += 1 }
    }

    package func tryFailed(_ processed: Processed) {
        failedTries += 1
        attemptEnded(processed)
    }
}

extension WallTime {
    /// - Returns: `nil` on overflow, which is too far in the future to matter.
    fileprivate func adding(milliseconds: Int64) -> WallTime? {
        let (sum, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
        return overflow ? nil : WallTime(milliseconds: sum)
    }
}

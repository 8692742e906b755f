import AMQP
import APNs
import Core
import Logging

/// A notification that is retried later, from a retry queue.
package struct ParkedNotification {
    let entry: InFlightNotification
    /// The result if it cannot be parked.
    let report: Report
    /// `nil` if it waited in the worker and was not tried.
    let cause: RetryLadder.Cause?
}

/// Parks notifications: a copy of their request waits in a retry queue.
///
/// A copy covers all waiting notifications of its request, and is published when the others have ended. A fan-out thus
/// has one copy at a time, and the omitted notifications have results.
extension RequestPipeline {
    /// Defers a notification to a later round.
    ///
    /// - Parameter requeues: whether it returns to its queue if no notification of its request was sent.
    mutating func park(
        _ handle: Handle, _ report: Report, _ cause: RetryLadder.Cause?, requeues: Bool = false, at now: Moment
    ) {
        if !requeues, notifications[handle].isNowOrNever {
            return finish(handle, report.expired, at: now)
        }
        // A paused app's notification waits although its last attempt is over.
        guard hasAttemptsLeft(notifications[handle]) else {
            return finish(handle, report.undelivered("its attempts are used up"), at: now)
        }
        let entry = remove(handle)
        entry.request.parked.append(ParkedNotification(entry: entry, report: report, cause: cause))
        partEnded(of: entry.request, requeues: requeues, at: now)
    }

    /// Defers a message, as its decoder or its `not-before` asks. A copy waits in the retry queue with the longest
    /// delay within the pause. The rest of the pause, shorter than any delay, passes in the worker.
    mutating func postpone(_ request: InFlightRequest, for pause: Duration, at now: Moment) {
        if !parks(request, for: pause, at: now) { decodeLater(request, for: pause, at: now) }
    }

    /// - Returns: whether a copy of a deferred message waits in a retry queue.
    mutating func parks(_ request: InFlightRequest, for pause: Duration, at now: Moment) -> Bool {
        var note = RetryEncoder.Note(attempts: request.history.attempts)
        note.processed = request.history.processed
        note.expiresAt = request.expiresAt
        note.isPostponed = true
        request.dueSince = now.instant + min(pause, settings.longestDeferral)
        guard let delay = settings.ladder.level(within: pause), let copy = copy(of: request, note, delay: delay) else {
            return false
        }
        publish(copy, for: request, .postpone(pause), at: now)
        return true
    }

    private func copy(of request: InFlightRequest, _ note: RetryEncoder.Note, delay: Duration) -> Publication? {
        RetryEncoder.encode(
            request.delivery, note, queue: settings.queues[request.queue.index].name, firstSeen: request.arrived.wall,
            delay: delay)
    }

    /// Whether a request may return to its queue. Its own returns must not make it a poison suspect, so a request with
    /// many deliveries gets a copy in a retry queue, which starts from zero.
    func mayReturn(_ request: InFlightRequest) -> Bool {
        request.delivery.deliveryCount.map { $0 < Self.poisonDeliveries / 2 } ?? true
    }

    /// All parts of a request have ended except its parked notifications.
    mutating func publishRetry(_ request: InFlightRequest, at now: Moment) {
        let cause = request.parked.compactMap(\.cause).max() ?? .untried
        // The entries of a decoder's list may expire at different times. These end first; then this is called again.
        let delays = request.parked.map { delay(of: $0.entry, for: cause, at: now) }
        guard let delay = delays.compactMap(\.self).min(), !delays.contains(nil) else {
            let pairs = zip(request.parked, delays)
            let (ended, rest) = (pairs.filter { $1 == nil }.map(\.0), pairs.filter { $1 != nil }.map(\.0))
            return end(ended, of: request, leaving: rest, at: now) {
                $0.entry.isNowOrNever
                    ? $0.report.expired : $0.entry.report(.expired, "it expires before the next attempt")
            }
        }
        guard let copy = copy(of: request, note(on: request), delay: delay) else {
            return end(request.parked, of: request, at: now) { parked in
                parked.report.undelivered("its headers leave no space for those of a retry")
            }
        }
        counters[.parked] += UInt64(request.parked.count)
        log.warning(
            "a request waits in a retry queue",
            metadata: [
                "messaging.destination.name": "\(String(decoding: copy.routingKey, as: UTF8.self))",
                "detail": "\(request.parked[0].report.summary)",
            ])
        publish(copy, for: request, .retry, at: now)
    }

    private func note(on request: InFlightRequest) -> RetryEncoder.Note {
        var note = RetryEncoder.Note(attempts: 0)
        for parked in request.parked {
            note.attempts = max(note.attempts, parked.entry.attempts)
            if note.processed != .unknown, parked.entry.processed != .no { note.processed = parked.entry.processed }
        }
        note.expiresAt = request.expiresAt
        note.done = request.doneBitmap(leaving: request.parked.compactMap(\.entry.position))
        return note
    }

    /// The pause before the next attempt; `nil` if the notification may not wait so long.
    private func delay(
        of entry: InFlightNotification, for cause: RetryLadder.Cause, at now: Moment
    ) -> Duration? {
        guard !entry.isNowOrNever else { return nil }
        return settings.ladder.delay(
            for: cause, failures: entry.request.history.failureCount, within: lifetime(of: entry, at: now))
    }

    /// The time until a notification expires; `nil` if it does not expire.
    private func lifetime(of entry: InFlightNotification, at now: Moment) -> Duration? {
        var end = entry.request.expiresAt?.milliseconds
        if let expiration = entry.notification.expiration, expiration > 0 {
            let (milliseconds, overflow) = expiration.multipliedReportingOverflow(by: 1000)
            if !overflow { end = min(end ?? .max, milliseconds) }
        }
        return end.map { .milliseconds($0 - now.wall.milliseconds) }
    }

    /// If this queue goes missing again, that is logged again.
    mutating func retryQueueTook(_ pending: PendingPublication) {
        guard !missingRetryQueues.isEmpty else { return }
        missingRetryQueues.remove(String(decoding: pending.publication.routingKey, as: UTF8.self))
    }

    /// No queue accepted a copy, so its notifications end. Untried requests stay in the worker: a pause of one app must
    /// not move its queue into the dead letters.
    mutating func retryReturned(_ pending: PendingPublication, _ replyText: String, at now: Moment) {
        let queue = String(decoding: pending.publication.routingKey, as: UTF8.self)
        if missingRetryQueues.insert(queue).inserted {
            log.error(
                """
                no retry queue receives requests: attempted ones are undelivered, others wait here ('harebell \
                topology --apply' makes it)
                """,
                metadata: ["messaging.destination.name": "\(queue)", "reply": "\(replyText)"])
        }
        if case .postpone(let pause) = pending.kind {
            pending.request.deferral = pause
        } else if pending.request.isUntouched {
            pending.request.parked = []
            pending.request.started = 0
            pending.request.deferral = settings.hold
        } else {
            // The publish keeps the request open until all its notifications have ended.
            let why = "the retry queue \(queue) received nothing (\(replyText))"
            end(pending.request.parked, of: pending.request, at: now) { parked in
                parked.report.undelivered("\(why); declare it with 'harebell topology --apply'")
            }
        }
    }

    private mutating func end(
        _ ended: [ParkedNotification], of request: InFlightRequest, leaving rest: [ParkedNotification] = [],
        at now: Moment, _ report: (ParkedNotification) -> Report
    ) {
        request.parked = rest
        request.addParts(ended.count)
        for parked in ended { conclude(parked.entry.conclusion(report(parked)), at: now) }
    }
}

extension Report {
    /// The result of a notification that may not wait for another attempt.
    fileprivate var expired: Report {
        var report = self
        report.outcome = .expired
        return report
    }

    /// The result of a notification that cannot be parked, with its previous failure.
    fileprivate func undelivered(_ why: String) -> Report {
        var report = self
        report.detail = detail.map { "\(why); \($0)" } ?? why
        return report
    }

    /// The last failure, for a log line.
    fileprivate var summary: String {
        let reason = reason.map { " \($0.rawValue)" } ?? ""
        return status.map { "\($0)\(reason)" } ?? detail ?? "no answer"
    }
}

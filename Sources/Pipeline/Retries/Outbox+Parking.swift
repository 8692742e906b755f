import AMQP
package import Core
import Logging

/// A notification that has not ended and is not to be tried before a while.
package struct ParkedNotification {
    let entry: InFlightNotification
    /// How it ends if it cannot wait.
    let report: Report
    /// `nil` where nothing was tried: that counts no attempt.
    let trouble: RetryLadder.Trouble?
}

/// From a notification that is to wait for long to the copy of its request in a retry queue.
///
/// A copy holds all notifications of its request that wait, and is published when the others have ended: so a fan-out
/// has one copy at a time, and what the copy leaves out has its result.
extension Outbox {
    /// Leaves a notification to a later round.
    ///
    /// - Parameter givesBack: whether it goes back to its queue if nothing of its request was sent.
    package mutating func park(_ parked: ParkedNotification, givesBack: Bool = false, at now: Moment) {
        let request = parked.entry.request
        request.parked.append(parked)
        closeOne(of: request, givesBack: givesBack, at: now)
    }

    /// Everything of a request has ended but what is parked.
    mutating func publishRetry(_ request: InFlightRequest, at now: Moment) {
        let queue = settings.queues[request.delivery.queue.index].name
        let trouble = request.parked.compactMap(\.trouble).max() ?? .service
        let rest = request.parked.compactMap { lifetime(of: $0.entry, at: now) }.min()
        let next = settings.ladder.delay(
            for: trouble, parkings: request.history.troubles, within: rest)
        guard let delay = next else {
            return endParked(request, at: now) { parked in
                Report(
                    outcome: .expired, attempts: parked.entry.attempts, processed: parked.entry.processed,
                    detail: "it expires before the next attempt")
            }
        }
        let copy = RetryEncoder.encode(
            request.delivery, note(on: request), queue: queue, firstSeen: request.arrived.wall, delay: delay)
        guard let copy else {
            return endParked(request, at: now) { parked in
                parked.report.ended("its headers leave no room for those of a retry")
            }
        }
        counters[.parked] += UInt64(request.parked.count)
        if request.parked.contains(where: { $0.trouble == nil }) { counters[.heldTooLong] += 1 }
        if let heldBack = parkingLog.admit(at: now.instant) {
            log.warning(
                "requests wait in retry queues",
                metadata: [
                    "messaging.destination.name": "\(String(decoding: copy.routingKey, as: UTF8.self))",
                    "held_back": .stringConvertible(heldBack),
                    "detail": "\(request.parked[0].report.summary)",
                ])
        }
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

    /// How long until a notification expires; `nil` if it does not.
    private func lifetime(of entry: InFlightNotification, at now: Moment) -> Duration? {
        var end = entry.request.expiresAt?.milliseconds
        if let expiration = entry.notification.expiration, expiration > 0 {
            let (milliseconds, overflow) = expiration.multipliedReportingOverflow(by: 1000)
            if !overflow { end = min(end ?? .max, milliseconds) }
        }
        return end.map { .milliseconds($0 - now.wall.milliseconds) }
    }

    /// No queue took a copy, so that its notifications end here; but what was not tried waits on, lest the pause of one
    /// app put its queue into the dead letters.
    mutating func retryReturned(_ pending: PendingPublication, _ reply: String, at now: Moment) {
        let queue = String(decoding: pending.publication.routingKey, as: UTF8.self)
        if missingRetryQueues.insert(queue).inserted {
            log.error(
                """
                a retry queue takes nothing: what was tried is undelivered, other requests wait here ('harebell \
                topology --apply' makes it)
                """,
                metadata: ["messaging.destination.name": "\(queue)", "reply": "\(reply)"])
        }
        counters.unconfirmed -= 1
        if case .putOff(let pause) = pending.kind {
            pending.request.open -= 1
            actions.append(.hold(pending.request, pause))
            return
        }
        guard !pending.request.isUntouched else {
            pending.request.open -= 1
            pending.request.parked = []
            actions.append(.hold(pending.request, settings.hold))
            return
        }
        // The publish keeps the request open until all of them have ended.
        endParked(pending.request, at: now) { parked in
            parked.report.ended(
                "the retry queue \(queue) took nothing (\(reply)); 'harebell topology --apply' makes it")
        }
        closeOne(of: pending.request, at: now)
    }

    private mutating func endParked(
        _ request: InFlightRequest, at now: Moment, _ report: (ParkedNotification) -> Report
    ) {
        let all = request.parked
        request.parked = []
        request.open += all.count
        for parked in all { finish(parked.entry, report(parked), at: now) }
    }
}

extension Report {
    /// The end of what cannot wait, with what it should have waited for.
    fileprivate func ended(_ why: String) -> Report {
        var report = self
        report.detail = detail.map { "\(why); \($0)" } ?? why
        return report
    }

    /// What happened last, for a log.
    fileprivate var summary: String {
        let reason = reason.map { " \($0.rawValue)" } ?? ""
        return status.map { "\($0)\(reason)" } ?? detail ?? "no answer"
    }
}

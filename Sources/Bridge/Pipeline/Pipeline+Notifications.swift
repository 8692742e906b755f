package import APNs
package import Core
import Logging

/// From a notification to its outcome.
extension Pipeline {
    /// Sends a notification, or holds it while its app or its topic is paused.
    func send(_ handle: UInt32, at now: Moment) {
        let entry = notifications[handle]
        if hasExpired(entry, at: now) {
            finishExpired(handle, entry, at: now)
            return
        }
        guard !apps.apps[entry.app].isRemoved else {
            finishRemoved(handle, entry, at: now)
            return
        }
        guard admit(handle, entry, at: now) else { return }
        if entry.firstTry == nil { entry.firstTry = now.instant }
        let notification = entry.notification
        let request = APNsRequest(
            target: notification.target, topic: entry.topic, pushType: notification.pushType,
            priority: notification.priority ?? notification.pushType.rules.defaultPriority,
            expiration: notification.expiration, collapseID: notification.collapseID, id: entry.id,
            payload: notification.payload)
        let pool = apps.apps[entry.app].pools.pool(for: notification.target)
        entry.pool = pool
        entry.ticket = doors.submit(request, handle: handle, isProbe: isProbe(handle, entry), pool: pool, at: now)
    }

    func finishExpired(_ handle: UInt32, _ entry: InFlightNotification, at now: Moment) {
        finish(handle, Report(outcome: .expired, attempts: entry.attempts, processed: entry.processed), at: now)
    }

    /// Whether its `apns-expiration` has passed; 0 means one attempt, whenever that is.
    func hasExpired(_ entry: InFlightNotification, at now: Moment) -> Bool {
        if let expiration = entry.notification.expiration, expiration > 0, expiration < now.wall.seconds { return true }
        guard let timestamp = entry.request.delivery.timestamp, let text = entry.request.delivery.expiration,
            let lifetime = Int64(String(decoding: text, as: UTF8.self)), let sent = Int64(exactly: timestamp)
        else { return false }
        // The broker drops what expires in a queue; this is for what expires while it is held here.
        let (end, overflow) = sent.multipliedReportingOverflow(by: 1000)
        return !overflow && lifetime > 0 && end < now.wall.milliseconds - 999 - lifetime
    }

    /// APNs answered a notification.
    package func replied(_ handle: UInt32, _ reply: APNsReply, at now: Moment) {
        let entry = notifications[handle]
        entry.ticket = nil
        let rule = reply.rule
        if !rule.isKnown || rule.alarm != nil { announce(reply, rule, entry.app) }
        if isOutdated(entry), refusesWhatChanged(rule, entry) {
            resend(handle, entry, at: now)
            return
        }
        switch rule.action {
        case .pauseApp, .pauseTopic, .reconnect, .renewToken, .keepToken:
            refused(handle, entry, rule, reply.reason ?? RejectionReason(rawValue: "\(reply.status)"), at: now)
        case .doubtToken where !apps.apps[entry.app].isRemoved:
            refusedToken(handle, entry, reply, at: now)
        case .accept: finish(handle, entry, .accepted, reply, rule, at: now)
        case .unregister where isDeletedAlready(entry): finish(handle, entry, .accepted, reply, rule, at: now)
        case .unregister, .doubtToken: finish(handle, entry, .unregistered, reply, rule, at: now)
        case .reject: finish(handle, entry, .rejected, reply, rule, at: now)
        case .resend: unsuccessful(handle, entry, reply, .no, at: now)
        // What met an error may have been worked on; that is nobody's harm but where another try would do it again.
        case .retryLater where reply.status >= 500 && !entry.notification.target.maySendAgain:
            unsuccessful(handle, entry, reply, .unknown, at: now)
        case .retryLater: unsuccessful(handle, entry, reply, .yes, at: now)
        }
    }

    /// An answer that may be another one later.
    private func unsuccessful(
        _ handle: UInt32, _ entry: InFlightNotification, _ reply: APNsReply, _ processed: Processed, at now: Moment
    ) {
        guard !isTriedAgain(handle, entry, after: processed, at: now) else { return }
        var report = report(.undelivered, entry, reply)
        report.processed = entry.processed
        report.detail = "given up after \(entry.troubles) \(entry.troubles == 1 ? "try" : "tries")"
        finish(handle, report, at: now)
    }

    /// Whether an answer that a channel does not exist is what the request wants: it was asked to delete it, and may have been
    /// before.
    private func isDeletedAlready(_ entry: InFlightNotification) -> Bool {
        guard case .management(.delete) = entry.notification.target else { return false }
        return entry.attempts > 0 || entry.request.delivery.redelivered
    }

    /// An answer that is final, and shows what the app is refused or not refused for.
    private func finish(
        _ handle: UInt32, _ entry: InFlightNotification, _ outcome: Outcome, _ reply: APNsReply, _ rule: ReplyRule,
        at now: Moment
    ) {
        entry.tried(.yes)
        if rule.proof == .token { answeredToken(entry, isRefusal: false) }
        ended(handle, entry, showing: rule.proof, at: now)
        var report = report(outcome, entry, reply)
        if outcome == .accepted, !reply.isSuccess { report.detail = "deleted by an earlier try" }
        finish(handle, report, at: now)
    }

    func report(_ outcome: Outcome, _ entry: InFlightNotification, _ reply: APNsReply) -> Report {
        var report = Report(
            outcome: outcome, status: reply.status, reason: reply.reason, timestamp: reply.timestamp,
            uniqueID: reply.uniqueID, attempts: entry.attempts, processed: .yes)
        if case .management(let operation) = entry.notification.target { report.add(reply, to: operation) }
        return report
    }

    /// A notification ended without an answer.
    package func lost(_ handle: UInt32, _ loss: Loss, at now: Moment) {
        let entry = notifications[handle]
        entry.ticket = nil
        if loss.processed == .no, isOutdated(entry) {
            resend(handle, entry, at: now)
            return
        }
        if let reason = loss.goawayReason, let rule = ReplyRule.rule(goaway: reason), rule.action.pause != nil,
            isRepeatable(entry, after: loss.processed), !isOutdated(entry)
        {
            if loss.processed == .unknown { counters.uncertain += 1 }
            entry.tried(loss.processed)
            refused(handle, entry, rule, reason, at: now)
            return
        }
        guard !isTriedAgain(handle, entry, after: loss.processed, at: now) else { return }
        finish(
            handle,
            Report(outcome: .undelivered, attempts: entry.attempts, processed: entry.processed, detail: loss.detail),
            at: now)
    }

    private func isRepeatable(_ entry: InFlightNotification, after processed: Processed) -> Bool {
        processed != .unknown || entry.notification.target.maySendAgain
    }

    /// A try ended in vain.
    private func isTriedAgain(
        _ handle: UInt32, _ entry: InFlightNotification, after processed: Processed, at now: Moment
    ) -> Bool {
        if processed == .unknown { counters.uncertain += 1 }
        entry.tried(inVain: processed)
        ended(handle, entry, showing: .none, at: now)
        return isRepeatable(entry, after: processed) && retry(handle, entry, at: now)
    }

    /// A notification expired in the line for APNs.
    package func expired(_ handle: UInt32, at now: Moment) {
        let entry = notifications[handle]
        entry.ticket = nil
        withdrawn(handle, entry)
        finishExpired(handle, entry, at: now)
    }

    /// - Returns: Whether it is tried again. While its app is paused only its tries are limited, and not their time: a
    ///   device that is asked too often must not be the app's only probe for ever.
    private func retry(_ handle: UInt32, _ entry: InFlightNotification, at now: Moment) -> Bool {
        if let closed = apps.apps[entry.app].closedLane(of: entry.lane) {
            guard entry.troubles < settings.retry.maximumAttempts else { return false }
            hold(handle, entry, in: closed)
            return true
        }
        guard let began = entry.firstTry else { preconditionFailure("what ended was tried") }
        let elapsed = now.instant - began
        guard let pause = settings.retry.pause(afterAttempts: entry.troubles, elapsed: elapsed, using: &random) else {
            return false
        }
        counters.retries += 1
        later.insert(.retry(handle), due: now.instant + pause)
        return true
    }

    /// The most reasons that are remembered as logged.
    private static let maximumAnnounced = 100

    /// Says once for each reason what an operator should know about it.
    private func announce(_ reply: APNsReply, _ rule: ReplyRule, _ app: Int) {
        if !rule.isKnown { counters.unknownReasons += 1 }
        let reason = reply.reason?.rawValue ?? "status \(reply.status) without a reason"
        guard announced.count < Self.maximumAnnounced, announced.insert(reason).inserted else { return }
        let metadata = appMetadata(app, ["status": "\(reply.status)", "reason": "\(reason)"])
        if let alarm = rule.alarm {
            log.error("\(alarm)", metadata: metadata)
        } else {
            log.warning("APNs gave a reason that is not documented: it is treated by its status", metadata: metadata)
        }
    }
}

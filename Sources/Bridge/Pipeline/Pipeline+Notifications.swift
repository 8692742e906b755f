package import APNs
package import Core
import Logging

/// From a notification to its outcome.
extension Pipeline {
    /// Sends a notification, or holds it while its app is paused.
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
        guard apps.apps[entry.app].lanes[entry.lane].gate.admit(handle, at: now.instant) else {
            hold(handle, entry)
            return
        }
        if entry.firstTry == nil { entry.firstTry = now.instant }
        let notification = entry.notification
        let request = APNsRequest(
            target: notification.target, topic: entry.topic, pushType: notification.pushType,
            priority: notification.priority ?? notification.pushType.rules.defaultPriority,
            expiration: notification.expiration, collapseID: notification.collapseID, id: entry.id,
            payload: notification.payload)
        let pool = apps.apps[entry.app].pools.pool(for: notification.target)
        entry.pool = pool
        entry.ticket = doors.submit(request, handle: handle, pool: pool, at: now)
    }

    func finishExpired(_ handle: UInt32, _ entry: InFlightNotification, at now: Moment) {
        let processed: Processed = entry.attempts == 0 ? .no : .unknown
        finish(handle, Report(outcome: .expired, attempts: entry.attempts, processed: processed), at: now)
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
        case .pauseApp, .reconnect, .renewToken, .keepToken:
            refusedApp(handle, entry, reply, at: now)
        case .blameTopic where entry.notification.topic == nil:
            refusedApp(handle, entry, reply, at: now)
        case .doubtToken where !apps.apps[entry.app].isRemoved:
            refusedToken(handle, entry, reply, at: now)
        case .accept: finish(handle, entry, .accepted, reply, rule, at: now)
        case .unregister, .doubtToken: finish(handle, entry, .unregistered, reply, rule, at: now)
        case .reject, .blameTopic: finish(handle, entry, .rejected, reply, rule, at: now)
        case .resend, .retryLater:
            entry.attempts += 1
            ended(handle, entry, showing: .none, at: now)
            guard !retry(handle, entry, at: now) else { return }
            var report = report(.undelivered, entry, reply)
            if rule.action == .resend { report.processed = .no }
            report.detail = "given up after \(entry.attempts) tries"
            finish(handle, report, at: now)
        }
    }

    /// An answer that is final, and shows what the app is refused or not refused for.
    private func finish(
        _ handle: UInt32, _ entry: InFlightNotification, _ outcome: Outcome, _ reply: APNsReply, _ rule: ReplyRule,
        at now: Moment
    ) {
        entry.attempts += 1
        if rule.proof == .token { answeredToken(entry, isRefusal: false) }
        ended(handle, entry, showing: rule.proof, at: now)
        finish(handle, report(outcome, entry, reply), at: now)
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
        if loss.processed == .unknown { counters.uncertain += 1 }
        entry.attempts += 1
        ended(handle, entry, showing: .none, at: now)
        let isFinal = loss.processed == .unknown && !entry.notification.target.maySendAgain
        guard isFinal || !retry(handle, entry, at: now) else { return }
        finish(
            handle,
            Report(outcome: .undelivered, attempts: entry.attempts, processed: loss.processed, detail: loss.detail),
            at: now)
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
        guard apps.apps[entry.app].lanes[entry.lane].gate.isOpen else {
            guard entry.attempts < settings.retry.maximumAttempts else { return false }
            hold(handle, entry)
            return true
        }
        guard let began = entry.firstTry else { preconditionFailure("what ended was tried") }
        let elapsed = now.instant - began
        guard let pause = settings.retry.pause(afterAttempts: entry.attempts, elapsed: elapsed, using: &random) else {
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

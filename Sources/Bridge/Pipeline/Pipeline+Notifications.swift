package import APNs
package import Core

/// From a notification to its outcome.
extension Pipeline {
    /// Sends a notification, or holds it while its app is paused.
    func send(_ handle: UInt32, at now: Moment) {
        let entry = notifications[handle]
        if hasExpired(entry, at: now) {
            finishExpired(handle, entry, at: now)
            return
        }
        guard apps.apps[entry.app].gate.admit(handle, at: now.instant) else {
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
        if rule.action == .pauseApp {
            hold(handle, entry)
            pause(entry.app, handle, reply, at: now)
            return
        }
        entry.attempts += 1
        if !apps.apps[entry.app].gate.isOpen, apps.apps[entry.app].gate.answered() { resume(entry.app, at: now) }
        func report(_ outcome: Outcome) -> Report {
            var report = Report(
                outcome: outcome, status: reply.status, reason: reply.reason, timestamp: reply.timestamp,
                uniqueID: reply.uniqueID, attempts: entry.attempts, processed: .yes)
            if case .management(let operation) = entry.notification.target { report.add(reply, to: operation) }
            return report
        }
        switch rule.action {
        case .accept: finish(handle, report(.accepted), at: now)
        case .unregister: finish(handle, report(.unregistered), at: now)
        case .reject, .pauseApp: finish(handle, report(.rejected), at: now)
        case .resend, .renewToken, .retryLater:
            guard !retry(handle, entry, at: now) else { return }
            var last = report(.undelivered)
            last.detail = "given up after \(entry.attempts) tries in \(settings.retry.horizon.inSeconds) s"
            finish(handle, last, at: now)
        }
    }

    /// A notification ended without an answer.
    package func lost(_ handle: UInt32, _ loss: Loss, at now: Moment) {
        let entry = notifications[handle]
        entry.ticket = nil
        if apps.apps[entry.app].gate.lost(handle) { scheduleProbe(entry.app) }
        if loss.processed == .unknown { counters.uncertain += 1 }
        entry.attempts += 1
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
        if apps.apps[entry.app].gate.lost(handle) { scheduleProbe(entry.app) }
        finishExpired(handle, entry, at: now)
    }

    func retry(_ handle: UInt32, _ entry: InFlightNotification, at now: Moment) -> Bool {
        guard let began = entry.firstTry else { preconditionFailure("what ended was tried") }
        let elapsed = now.instant - began
        guard let pause = settings.retry.pause(afterAttempts: entry.attempts, elapsed: elapsed, using: &random) else {
            return false
        }
        counters.retries += 1
        later.insert(.retry(handle), due: now.instant + pause)
        return true
    }
}

import APNs
import Core
import Logging

/// What happens to the notifications of an app that APNs refuses.
extension Pipeline {
    /// A notification waits for its app. That is not trouble of its own, so its time for retries begins anew.
    func hold(_ handle: UInt32, _ entry: InFlightNotification) {
        entry.firstTry = nil
        apps.apps[entry.app].held.append(handle)
    }

    func pause(_ app: Int, _ handle: UInt32, _ reply: APNsReply, at now: Moment) {
        let cause = reply.reason ?? RejectionReason(rawValue: "\(reply.status)")
        let refusal = apps.apps[app].gate.refused(handle, cause, at: now.instant)
        if refusal != .repeats { scheduleProbe(app) }
        guard refusal == .closes else { return }
        withdraw(app)
        log.error(
            "APNs refuses this app: it is paused, its requests wait, and one probe at a time is sent",
            metadata: appMetadata(app, ["status": "\(reply.status)", "reason": "\(cause.rawValue)"]))
    }

    /// What waits in the pool would be refused as well, one connection after the other: it is held, oldest first.
    func withdraw(_ app: Int) {
        let submitted = notifications.handles.map { (handle: $0, entry: notifications[$0]) }.filter {
            $0.entry.app == app && $0.entry.ticket != nil
        }
        for (handle, entry) in submitted.sorted(by: { $0.entry.request.delivery.tag < $1.entry.request.delivery.tag }) {
            let pool = apps.apps[app].pools.pool(for: entry.notification.target)
            guard let ticket = entry.ticket, doors.withdraw(ticket, handle: handle, pool: pool) else { continue }
            entry.ticket = nil
            hold(handle, entry)
        }
    }

    func resume(_ app: Int, at now: Moment) {
        log.notice("APNs answers this app again: it is resumed", metadata: appMetadata(app, [:]))
        let held = apps.apps[app].held
        apps.apps[app].held.removeAll()
        for handle in held { send(handle, at: now) }
    }

    func scheduleProbe(_ app: Int) {
        if let probe = apps.apps[app].gate.nextProbe { later.insert(.probe(app: app), due: probe) }
    }

    /// Sends what is held until one of it goes as a probe: what has expired ends instead.
    func probe(_ app: Int, at now: Moment) {
        while let due = apps.apps[app].gate.nextProbe, due <= now.instant, !apps.apps[app].held.isEmpty {
            send(apps.apps[app].held.removeFirst(), at: now)
        }
    }

    func appMetadata(_ app: Int, _ more: Logger.Metadata) -> Logger.Metadata {
        let entry = apps.apps[app]
        return more.merging([
            "topic": "\(String(decoding: entry.topic, as: UTF8.self))", "environment": "\(entry.environment.rawValue)",
        ]) { first, _ in first }
    }
}

import APNs
package import Core
import Logging

/// What happens to the notifications of an app that APNs refuses.
extension Pipeline {
    /// What is paused now.
    package var paused: [PausedTopic] {
        apps.apps.flatMap { app in
            app.lanes.indices.compactMap { index in
                let lane = app.lanes[index]
                return lane.gate.pause.map { pause in
                    PausedTopic(
                        app: String(decoding: app.topic, as: UTF8.self), environment: app.environment,
                        topic: app.topic(ofLane: index), cause: pause.cause, since: pause.since, held: lane.held.count)
                }
            }
        }
    }

    /// Something has changed that refusals may be due to, such as a credential: what is paused is tried now.
    package func probeSoon(at now: Moment) {
        for app in apps.apps.indices { probeSoon(app, at: now) }
    }

    func probeSoon(_ app: Int, at now: Moment) {
        for lane in apps.apps[app].lanes.indices where !apps.apps[app].lanes[lane].gate.isOpen {
            apps.apps[app].lanes[lane].gate.probeSoon(at: now.instant)
            scheduleProbe(app, lane)
        }
    }

    /// A notification waits for its app. That is not trouble of its own, so its time for retries begins anew.
    func hold(_ handle: UInt32, _ entry: InFlightNotification) {
        entry.firstTry = nil
        apps.apps[entry.app].lanes[entry.lane].held.append(handle)
    }

    // MARK: What APNs refuses

    /// APNs refused credential, topic or environment: the notification waits with all others.
    func refusedApp(_ handle: UInt32, _ entry: InFlightNotification, _ reply: APNsReply, at now: Moment) {
        hold(handle, entry)
        let reason = reply.reason ?? RejectionReason(rawValue: "\(reply.status)")
        refused(handle, entry, .refused(reason), at: now)
    }

    /// APNs does not know the device token: it is dead, or the app's environment is wrong if that happens often.
    ///
    /// What is in flight when the app pauses waits as well: that many are refused is what the pause is about. A probe ends
    /// with its own result, so that a queue of dead tokens is used up instead of standing for ever; but nobody is told
    /// by feedback to forget a token that may be good.
    func refusedToken(_ handle: UInt32, _ entry: InFlightNotification, _ reply: APNsReply, at now: Moment) {
        if let cause = apps.apps[entry.app].lanes[entry.lane].gate.pause?.cause, case .deviceTokens = cause {
            guard apps.apps[entry.app].lanes[entry.lane].gate.isProbe(handle) else {
                hold(handle, entry)
                return
            }
            refused(handle, entry, cause, at: now)
            entry.attempts += 1
            finish(handle, doubt(entry, reply, cause), givesFeedback: false, at: now)
            return
        }
        ended(handle, entry, showing: .credential, at: now)
        let isLimit = answeredToken(entry, isRefusal: true)
        let refusals = apps.apps[entry.app].lanes[entry.lane].refusals
        let cause = AppGate.Cause.deviceTokens(refused: refusals.refused, answers: refusals.answers)
        if isLimit {
            hold(handle, entry)
            refused(handle, entry, cause, at: now)
        } else {
            entry.attempts += 1
            finish(handle, doubt(entry, reply, cause), at: now)
        }
    }

    /// The end of a notification whose device token is not known, with what that may mean.
    private func doubt(_ entry: InFlightNotification, _ reply: APNsReply, _ cause: AppGate.Cause) -> Report {
        var report = report(.unregistered, entry, reply)
        if settings.tokenRefusals != nil { report.detail = "may be the wrong environment: \(cause) by this topic" }
        return report
    }

    /// APNs answered about a device token. Returns true if so many were refused that it is not the devices.
    @discardableResult
    func answeredToken(_ entry: InFlightNotification, isRefusal: Bool) -> Bool {
        guard let limit = settings.tokenRefusals, case .device = entry.notification.target else { return false }
        return apps.apps[entry.app].lanes[entry.lane].refusals.answered(isRefusal: isRefusal, limit: limit)
    }

    /// A notification ended without a refusal of its app.
    func ended(_ handle: UInt32, _ entry: InFlightNotification, showing proof: ReplyProof, at now: Moment) {
        guard !isOutdated(entry) else { return }
        switch apps.apps[entry.app].lanes[entry.lane].gate.ended(handle, showing: proof, at: now.instant) {
        case .opens: resume(entry.app, entry.lane, at: now)
        case .repeatsPause: scheduleProbe(entry.app, entry.lane)
        case .nothing: break
        }
    }

    /// A notification is not sent any more.
    func withdrawn(_ handle: UInt32, _ entry: InFlightNotification) {
        if apps.apps[entry.app].lanes[entry.lane].gate.withdrawn(handle) { scheduleProbe(entry.app, entry.lane) }
    }

    // MARK: Pause and resumption

    private func refused(_ handle: UInt32, _ entry: InFlightNotification, _ cause: AppGate.Cause, at now: Moment) {
        let refusal = apps.apps[entry.app].lanes[entry.lane].gate.refused(handle, cause, at: now.instant)
        if refusal != .repeats { scheduleProbe(entry.app, entry.lane) }
        guard refusal == .closes else { return }
        withdraw(entry.app, entry.lane)
        let advice =
            switch cause {
            case .refused: ""
            case .deviceTokens: " (are these device tokens of the other environment?)"
            }
        log.error(
            "APNs refuses this app\(advice): it is paused, its requests wait, and one probe at a time is sent",
            metadata: pauseMetadata(entry.app, entry.lane, cause))
    }

    /// What waits in the pool would be refused as well, one connection after the other: it is held, oldest first.
    private func withdraw(_ app: Int, _ lane: Int) {
        let submitted = notifications.handles.map { (handle: $0, entry: notifications[$0]) }.filter {
            $0.entry.app == app && $0.entry.lane == lane && $0.entry.ticket != nil
        }
        for (handle, entry) in submitted.sorted(by: { $0.entry.request.delivery.tag < $1.entry.request.delivery.tag }) {
            guard let ticket = entry.ticket, doors.withdraw(ticket, handle: handle, pool: entry.pool) else { continue }
            entry.ticket = nil
            hold(handle, entry)
        }
    }

    private func resume(_ app: Int, _ lane: Int, at now: Moment) {
        log.notice("APNs answers this app again: it is resumed", metadata: pauseMetadata(app, lane, nil))
        let held = apps.apps[app].lanes[lane].held
        apps.apps[app].lanes[lane].held.removeAll()
        apps.apps[app].lanes[lane].refusals.reset()
        for handle in held { send(handle, at: now) }
    }

    private func scheduleProbe(_ app: Int, _ lane: Int) {
        if let probe = apps.apps[app].lanes[lane].gate.nextProbe {
            later.insert(.probe(app: app, lane: lane), due: probe)
        }
    }

    /// Sends what is held until one of it goes as a probe: what has expired ends instead.
    func probe(_ app: Int, _ lane: Int, at now: Moment) {
        while let due = apps.apps[app].lanes[lane].gate.nextProbe, due <= now.instant,
            !apps.apps[app].lanes[lane].held.isEmpty
        {
            send(apps.apps[app].lanes[lane].held.removeFirst(), at: now)
        }
    }

    // MARK: Logging

    private func pauseMetadata(_ app: Int, _ lane: Int, _ cause: AppGate.Cause?) -> Logger.Metadata {
        var metadata = appMetadata(app, ["refused": "\(apps.apps[app].topic(ofLane: lane))"])
        if let cause { metadata["cause"] = "\(cause)" }
        return metadata
    }

    func appMetadata(_ app: Int, _ more: Logger.Metadata) -> Logger.Metadata {
        let entry = apps.apps[app]
        return more.merging([
            "topic": "\(String(decoding: entry.topic, as: UTF8.self))", "environment": "\(entry.environment.rawValue)",
        ]) { first, _ in first }
    }
}

import APNs
package import Core

/// What happens to the notifications of an app that APNs refuses.
extension Dispatch {
    /// Something has changed that refusals may be due to, such as a credential: what is paused is tried now.
    package mutating func probeSoon(at now: Moment) {
        for app in gates.table.all { probeSoon(app, at: now) }
    }

    mutating func probeSoon(_ app: AppID, at now: Moment) {
        if gates.probeSoon(app, at: now.instant) { mayRecover(at: now) }
    }

    /// A notification waits for its app. That is not trouble of its own, so its time for retries begins anew.
    mutating func hold(_ handle: Handle, _ entry: InFlightNotification, in lane: LaneID, at now: Moment) {
        entry.firstTry = nil
        waits(entry, at: now)
        gates.hold(handle, entry.app, in: lane)
    }

    /// Whether a notification may go now, through the gates of its topic and of its app's credential; if not, it is
    /// held.
    mutating func admit(_ handle: Handle, _ entry: InFlightNotification, at now: Moment) -> Bool {
        guard let lane = gates.admit(handle, entry, at: now.instant) else { return true }
        hold(handle, entry, in: lane, at: now)
        limitHeld(entry.app, lane, at: now)
        return false
    }

    // MARK: What APNs refuses

    /// APNs refused credential, topic or environment: the notification waits with all others.
    mutating func refused(
        _ handle: Handle, _ entry: InFlightNotification, _ rule: ReplyRule, _ reason: RejectionReason, at now: Moment
    ) {
        switch rule.action.pause {
        case .app:
            hold(handle, entry, in: AppLane.credential, at: now)
            gates.withdrawn(handle, entry.app, entry.lane)
            refused(handle, entry.app, AppLane.credential, .credential(reason), at: now)
        case .topic:
            hold(handle, entry, in: entry.lane, at: now)
            ended(handle, entry.app, AppLane.credential, showing: rule.proof, at: now)
            refused(handle, entry.app, entry.lane, .topic(reason), at: now)
        case nil: preconditionFailure("\(rule.action) refuses no app")
        }
    }

    /// APNs closes a connection of a pool. If that is for the credential, the apps pause that it carries notifications
    /// of: each of those would take another connection with it.
    package mutating func goaway(_ reason: RejectionReason, pool: PoolID, at now: Moment) {
        guard ReplyRule.rule(goaway: reason)?.action.pause == .app else { return }
        refused(appsServed(by: pool), reason, pool, at: now)
    }

    /// APNs refused the certificate of a pool when a connection was opened, and no other is open. The apps that it is
    /// for pause as for an answer that says so, also where nothing waits.
    package mutating func certificateRefused(pool: PoolID, at now: Moment) {
        let configured = gates.table.configured.filter { gates.table.apps[$0.index].pools.notifications == pool }
        refused(appsServed(by: pool).union(configured), .badCertificate, pool, at: now)
    }

    /// APNs has opened a connection to a certificate that it had refused.
    package mutating func certificateTaken(pool: PoolID, at now: Moment) {
        for app in gates.table.configured where gates.table.apps[app.index].pools.all.contains(pool) {
            guard
                gates.table.apps[app.index].lanes[AppLane.credential.index].gate.pause?.cause
                    == .credential(.badCertificate)
            else {
                continue
            }
            gates.open(app, at: now.instant)
            mayRecover(at: now)
        }
    }

    /// The apps of which a pool has notifications.
    private func appsServed(by pool: PoolID) -> Set<AppID> {
        Set(
            notifications.handles.map { notifications[$0] }.filter {
                $0.isSubmitted && $0.pool == pool && !isOutdated($0)
            }.map(\.app))
    }

    private mutating func refused(_ refusedApps: Set<AppID>, _ reason: RejectionReason, _ pool: PoolID, at now: Moment)
    {
        for app in refusedApps.sorted() {
            let cause = AppGate.Cause.credential(reason)
            if let pause = gates.table.apps[app.index].lanes[AppLane.credential.index].gate.pause {
                if let probe = pause.probe, notifications[probe].pool == pool { takeBack(probe, .refuse(cause)) }
            } else {
                gates.close(app, cause, at: now.instant)
            }
            withdraw(app, AppLane.credential)
        }
    }

    /// APNs does not know the device token: it is dead, or the app's environment is wrong if that happens often.
    ///
    /// What is in flight when the app pauses waits as well: that many are refused is what the pause is about. A probe
    /// ends with its own result, so that a queue of dead tokens is used up instead of standing for ever; but nobody is
    /// told by feedback to forget a token that may be good.
    mutating func refusedToken(_ handle: Handle, _ entry: InFlightNotification, _ reply: APNsReply, at now: Moment) {
        if let cause = gates.table.apps[entry.app.index].lanes[entry.lane.index].gate.pause?.cause,
            case .deviceTokens = cause
        {
            guard gates.table.apps[entry.app.index].lanes[entry.lane.index].gate.isProbe(handle) else {
                hold(handle, entry, in: entry.lane, at: now)
                return
            }
            ended(handle, entry.app, AppLane.credential, showing: .topic, at: now)
            refused(handle, entry.app, entry.lane, cause, at: now)
            entry.tried(.yes)
            finish(handle, doubt(entry, reply, cause), givesFeedback: false)
            return
        }
        ended(handle, entry, showing: .topic, at: now)
        let isLimit = answeredToken(entry, isRefusal: true)
        let refusals = gates.table.apps[entry.app.index].lanes[entry.lane.index].refusals
        let cause = AppGate.Cause.deviceTokens(refused: refusals.refused, answers: refusals.answers)
        if isLimit {
            hold(handle, entry, in: entry.lane, at: now)
            refused(handle, entry.app, entry.lane, cause, at: now)
        } else {
            entry.tried(.yes)
            finish(handle, doubt(entry, reply, cause))
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
    mutating func answeredToken(_ entry: InFlightNotification, isRefusal: Bool) -> Bool {
        guard let limit = settings.tokenRefusals, case .device = entry.notification.target, !isOutdated(entry)
        else { return false }
        return gates.table.apps[entry.app.index].lanes[entry.lane.index].refusals.answered(
            isRefusal: isRefusal, limit: limit)
    }

    /// A notification ended without a refusal of its app.
    mutating func ended(_ handle: Handle, _ entry: InFlightNotification, showing proof: ReplyProof, at now: Moment) {
        guard !isOutdated(entry) else { return }
        ended(handle, entry.app, AppLane.credential, showing: proof, at: now)
        ended(handle, entry.app, entry.lane, showing: proof, at: now)
    }

    private mutating func ended(
        _ handle: Handle, _ app: AppID, _ lane: LaneID, showing proof: ReplyProof, at now: Moment
    ) {
        apply(gates.ended(handle, app, lane, showing: proof, at: now.instant), app, lane, at: now)
    }

    mutating func refused(_ handle: Handle, _ app: AppID, _ lane: LaneID, _ cause: AppGate.Cause, at now: Moment) {
        apply(gates.refused(handle, app, lane, cause, at: now.instant), app, lane, at: now)
    }

    private mutating func apply(_ change: Gates.Change, _ app: AppID, _ lane: LaneID, at now: Moment) {
        switch change {
        case .nothing: break
        case .closed: withdraw(app, lane)
        case .pausedAgain: limitHeld(app, lane, at: now)
        case .opened: mayRecover(at: now)
        }
    }

    // MARK: Pause and resumption

    /// What waits in the pool would be refused as well, one connection after the other: it is held, oldest first.
    private mutating func withdraw(_ app: AppID, _ lane: LaneID) {
        takeBack(of: app, .hold(lane: lane)) { lane == AppLane.credential || lane == $0.lane }
    }

    /// Sends what is held: all of it once the gate is open, else until one of it goes as a probe. What has expired ends
    /// instead.
    ///
    /// - Parameter limit: the most that is looked at; the rest is for the next turn.
    /// - Returns: How much was looked at.
    mutating func release(_ place: Gates.Place, atMost limit: Int, at now: Moment) -> Int {
        for count in 0..<limit {
            guard let handle = gates.takeAdmitted(place, at: now.instant) else { return count }
            send(handle, at: now)
        }
        gates.release(place, at: now.instant)
        return limit
    }
}

extension RejectionReason {
    fileprivate static let badCertificate = RejectionReason(rawValue: "BadCertificate")
}

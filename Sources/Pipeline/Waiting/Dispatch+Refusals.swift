import APNs
package import Core

/// Handles the notifications of an app that APNs refuses.
extension Dispatch {
    /// The cause of refusals, such as a credential, may have changed: paused apps send a probe now.
    package mutating func probeSoon(at now: Moment) {
        for app in waiting.table.all { probeSoon(app, at: now) }
    }

    mutating func probeSoon(_ app: AppID, at now: Moment) {
        if waiting.probeSoon(app, at: now.instant) { mayRecover(at: now) }
    }

    /// A notification waits for its app. This is not its own failure, so its retry time restarts.
    mutating func hold(_ handle: Handle, _ entry: InFlightNotification, in lane: LaneID, at now: Moment) {
        entry.firstAttempt = nil
        startWaiting(entry, at: now)
        waiting.hold(handle, entry.app, in: lane)
    }

    /// Whether the gates of the topic and the app's credential admit a notification now. If not, it is held.
    mutating func admit(_ handle: Handle, _ entry: InFlightNotification, at now: Moment) -> Bool {
        guard let lane = waiting.admit(handle, entry, at: now.instant) else { return true }
        hold(handle, entry, in: lane, at: now)
        limitHeld(entry.app, lane, at: now)
        return false
    }

    // MARK: Refusals by APNs

    /// APNs refused the credential, topic or environment: the notification waits with the others.
    mutating func appRefused(
        _ handle: Handle, _ entry: InFlightNotification, _ rule: ResponseRule, _ reason: RejectionReason, at now: Moment
    ) {
        switch rule.action.pause {
        case .app:
            hold(handle, entry, in: AppLane.credential, at: now)
            waiting.withdrawn(handle, entry.app, entry.lane)
            laneRefused(handle, entry.app, AppLane.credential, .credential(reason), at: now)
        case .topic:
            hold(handle, entry, in: entry.lane, at: now)
            recordProof(handle, entry.app, AppLane.credential, showing: rule.proof, at: now)
            laneRefused(handle, entry.app, entry.lane, .topic(reason), at: now)
        case nil: preconditionFailure("\(rule.action) refuses no app")
        }
    }

    /// APNs closes a connection of a pool. If the credential is the reason, all apps with notifications in that pool
    /// pause: each notification would close another connection.
    package mutating func goaway(_ reason: RejectionReason, pool: PoolID, at now: Moment) {
        guard ResponseRule.rule(goaway: reason)?.action.pause == .app else { return }
        pauseApps(appsServed(by: pool), reason, pool, at: now)
    }

    /// APNs refused the certificate of a pool during the handshake, and the pool has no other connection. Its apps
    /// pause as after a refusing response, even without waiting notifications.
    package mutating func certificateRefused(pool: PoolID, at now: Moment) {
        let configured = waiting.table.configured.filter { waiting.table.apps[$0.index].pools.notifications == pool }
        pauseApps(appsServed(by: pool).union(configured), .badCertificate, pool, at: now)
    }

    /// APNs accepted a connection with a certificate that it had refused before.
    package mutating func certificateAccepted(pool: PoolID, at now: Moment) {
        for app in waiting.table.configured where waiting.table.apps[app.index].pools.all.contains(pool) {
            guard
                waiting.table.apps[app.index].lanes[AppLane.credential.index].gate.pause?.cause
                    == .credential(.badCertificate)
            else {
                continue
            }
            waiting.open(app, at: now.instant)
            mayRecover(at: now)
        }
    }

    /// The apps that have notifications in a pool.
    private func appsServed(by pool: PoolID) -> Set<AppID> {
        Set(
            notifications.handles.map { notifications[$0] }.filter {
                $0.isSubmitted && $0.pool == pool && !isOutdated($0)
            }.map(\.app))
    }

    private mutating func pauseApps(
        _ refusedApps: Set<AppID>, _ reason: RejectionReason, _ pool: PoolID, at now: Moment
    ) {
        for app in refusedApps.sorted() {
            let cause = LaneGate.Cause.credential(reason)
            if let pause = waiting.table.apps[app.index].lanes[AppLane.credential.index].gate.pause {
                if let probe = pause.probe, notifications[probe].pool == pool { withdraw(probe, .refuse(cause)) }
            } else {
                waiting.close(app, cause, at: now.instant)
            }
            withdrawLane(app, AppLane.credential)
        }
    }

    /// APNs does not know the device token: it is dead or, if this happens often, the app's environment is wrong.
    ///
    /// Notifications in flight when the app pauses wait as well. A probe ends with its own result, so a queue of dead
    /// tokens is processed slowly rather than blocked. It sends no feedback, because the token may be valid.
    mutating func refusedToken(
        _ handle: Handle, _ entry: InFlightNotification, _ response: APNsResponse, at now: Moment
    ) {
        if let cause = waiting.table.apps[entry.app.index].lanes[entry.lane.index].gate.pause?.cause,
            case .deviceTokens = cause
        {
            guard waiting.table.apps[entry.app.index].lanes[entry.lane.index].gate.isProbe(handle) else {
                hold(handle, entry, in: entry.lane, at: now)
                return
            }
            recordProof(handle, entry.app, AppLane.credential, showing: .topic, at: now)
            laneRefused(handle, entry.app, entry.lane, cause, at: now)
            entry.attemptEnded(.yes)
            finish(handle, tokenRefusalReport(entry, response, cause), givesFeedback: false)
            return
        }
        recordProof(handle, entry, showing: .topic, at: now)
        let isLimit = recordTokenResponse(entry, isRefusal: true)
        let refusals = waiting.table.apps[entry.app.index].lanes[entry.lane.index].refusals
        let cause = LaneGate.Cause.deviceTokens(refused: refusals.refused, responses: refusals.responses)
        if isLimit {
            hold(handle, entry, in: entry.lane, at: now)
            laneRefused(handle, entry.app, entry.lane, cause, at: now)
        } else {
            entry.attemptEnded(.yes)
            finish(handle, tokenRefusalReport(entry, response, cause))
        }
    }

    /// The result for an unknown device token, with a hint at the possible cause.
    private func tokenRefusalReport(_ entry: InFlightNotification, _ response: APNsResponse, _ cause: LaneGate.Cause)
        -> Report
    {
        var report = report(.unregistered, entry, response)
        if settings.tokenRefusals != nil { report.detail = "the environment may be wrong: \(cause) for this topic" }
        return report
    }

    /// Records a response about a device token. Returns true if so many were refused that the devices cannot be the
    /// cause.
    @discardableResult
    mutating func recordTokenResponse(_ entry: InFlightNotification, isRefusal: Bool) -> Bool {
        guard let limit = settings.tokenRefusals, case .device = entry.notification.target, !isOutdated(entry)
        else { return false }
        return waiting.table.apps[entry.app.index].lanes[entry.lane.index].refusals.responded(
            isRefusal: isRefusal, limit: limit)
    }

    /// A notification ended without a refusal of its app.
    mutating func recordProof(
        _ handle: Handle, _ entry: InFlightNotification, showing proof: ResponseProof, at now: Moment
    ) {
        guard !isOutdated(entry) else { return }
        recordProof(handle, entry.app, AppLane.credential, showing: proof, at: now)
        recordProof(handle, entry.app, entry.lane, showing: proof, at: now)
    }

    private mutating func recordProof(
        _ handle: Handle, _ app: AppID, _ lane: LaneID, showing proof: ResponseProof, at now: Moment
    ) {
        apply(waiting.recordProof(handle, app, lane, showing: proof, at: now.instant), app, lane, at: now)
    }

    mutating func laneRefused(_ handle: Handle, _ app: AppID, _ lane: LaneID, _ cause: LaneGate.Cause, at now: Moment) {
        apply(waiting.laneRefused(handle, app, lane, cause, at: now.instant), app, lane, at: now)
    }

    private mutating func apply(_ change: Waiting.Change, _ app: AppID, _ lane: LaneID, at now: Moment) {
        switch change {
        case .nothing: break
        case .closed: withdrawLane(app, lane)
        case .pausedAgain: limitHeld(app, lane, at: now)
        case .opened: mayRecover(at: now)
        }
    }

    // MARK: Pause and resumption

    /// APNs would refuse the notifications in the pool as well, one connection each: they are held, oldest first.
    private mutating func withdrawLane(_ app: AppID, _ lane: LaneID) {
        withdrawAll(of: app, .hold(lane: lane)) { lane == AppLane.credential || lane == $0.lane }
    }

    /// Sends held notifications: all if the gate is open, otherwise until one becomes the probe. Expired ones end
    /// instead.
    ///
    /// - Parameter limit: the maximum for this turn; the rest follows in the next turn.
    /// - Returns: The number processed.
    mutating func release(_ place: Waiting.Place, atMost limit: Int, at now: Moment) -> Int {
        for count in 0..<limit {
            guard let handle = waiting.takeAdmitted(place, at: now.instant) else { return count }
            send(handle, at: now)
        }
        waiting.release(place, at: now.instant)
        return limit
    }
}

extension RejectionReason {
    fileprivate static let badCertificate = RejectionReason(rawValue: "BadCertificate")
}

import APNs
package import Core

extension RequestPipeline {
    /// APNs refused the credential, topic or environment: the notification waits with the others.
    mutating func appRefused(
        _ handle: Handle, _ entry: InFlightNotification, _ rule: ResponseRule, _ reason: RejectionReason, at now: Moment
    ) {
        let (credential, topic) = entry.appPlaces
        switch rule.action.pause {
        case .app:
            laneRefused(handle, credential, .credential(reason), at: now)
            hold(handle, entry, in: credential, at: now)
        case .topic:
            waiting.recordProof(handle, credential, showing: rule.proof, at: now.instant)
            laneRefused(handle, topic, .topic(reason), at: now)
            hold(handle, entry, in: topic, at: now)
        case nil: preconditionFailure("\(rule.action) refuses no app")
        }
    }

    /// APNs closes a connection of a pool. If the credential is the reason, all apps with notifications in that pool
    /// pause: each notification would close another connection.
    package mutating func goaway(_ reason: RejectionReason, pool: PoolID, at now: Moment) {
        guard ResponseRule.documented(reason)?.action.pause == .app else { return }
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
            let credential = Waiting.Place.app(app, Lane.credential)
            guard waiting.pause(of: credential)?.cause == .credential(.badCertificate) else { continue }
            waiting.open(credential, at: now.instant)
            checkIfSuspended(at: now)
        }
    }

    private func appsServed(by pool: PoolID) -> Set<AppID> {
        Set(
            notifications.handles.map { notifications[$0] }.filter {
                $0.place == .pool && $0.pool == pool && !isOutdated($0)
            }.map(\.app))
    }

    private mutating func pauseApps(
        _ refusedApps: Set<AppID>, _ reason: RejectionReason, _ pool: PoolID, at now: Moment
    ) {
        for app in refusedApps.sorted() {
            let (cause, credential) = (LaneGate.Cause.credential(reason), Waiting.Place.app(app, Lane.credential))
            if let pause = waiting.pause(of: credential) {
                if let probe = pause.probe, notifications[probe].pool == pool { withdraw(probe, .refuse(cause)) }
            } else {
                waiting.close(credential, cause, at: now.instant)
                checkStandstill(at: now)
            }
            withdrawLane(credential)
        }
    }

    /// APNs refuses the device token: it is dead or of another topic. If this happens often, the app's environment is
    /// wrong.
    ///
    /// Notifications in flight when the topic pauses wait as well. A probe ends with its own result, so a queue of dead
    /// tokens is processed slowly rather than blocked. It sends no feedback, because the token may be valid.
    mutating func refusedToken(
        _ handle: Handle, _ entry: InFlightNotification, _ outcome: Outcome, _ response: APNsResponse, at now: Moment
    ) {
        guard !waiting.table.apps[entry.app.index].isRemoved else {
            return answered(handle, entry, outcome, response, at: now)
        }
        let (credential, topic) = entry.appPlaces
        if let pause = waiting.pause(of: topic), case .deviceTokens = pause.cause {
            let cause = pause.cause
            waiting.recordProof(handle, credential, showing: .topic, at: now.instant)
            guard pause.probe == handle else { return hold(handle, entry, in: topic, at: now) }
            laneRefused(handle, topic, cause, at: now)
            entry.attemptEnded(.yes)
            finish(handle, tokenRefusalReport(entry, outcome, response, cause), givesFeedback: false, at: now)
            return
        }
        recordProof(handle, entry, showing: .topic, at: now)
        let isLimit = recordTokenResponse(entry, isRefusal: true)
        let refusals = waiting.table.apps[entry.app.index].lanes[entry.lane.index].tokenRefusals
        let cause = LaneGate.Cause.deviceTokens(refused: refusals.refused, responses: refusals.responses)
        if isLimit {
            laneRefused(handle, topic, cause, at: now)
            hold(handle, entry, in: topic, at: now)
        } else {
            entry.attemptEnded(.yes)
            finish(handle, tokenRefusalReport(entry, outcome, response, cause), at: now)
        }
    }

    private func tokenRefusalReport(
        _ entry: InFlightNotification, _ outcome: Outcome, _ response: APNsResponse, _ cause: LaneGate.Cause
    ) -> Report {
        var report = report(outcome, entry, response)
        if settings.tokenRefusals != nil { report.detail = "the environment may be wrong: \(cause) for this topic" }
        return report
    }

    /// Records a response about a device token. Returns true if so many were refused that the devices cannot be the
    /// cause.
    @discardableResult
    mutating func recordTokenResponse(_ entry: InFlightNotification, isRefusal: Bool) -> Bool {
        guard let limit = settings.tokenRefusals, case .device = entry.notification.target, !isOutdated(entry)
        else { return false }
        return waiting.table.apps[entry.app.index].lanes[entry.lane.index].tokenRefusals.responded(
            isRefusal: isRefusal, limit: limit)
    }

    mutating func recordProof(
        _ handle: Handle, _ entry: InFlightNotification, showing proof: ResponseProof, at now: Moment
    ) {
        guard !isOutdated(entry) else { return }
        let (credential, topic) = entry.appPlaces
        waiting.recordProof(handle, credential, showing: proof, at: now.instant)
        waiting.recordProof(handle, topic, showing: proof, at: now.instant)
    }

    mutating func laneRefused(_ handle: Handle, _ place: Waiting.Place, _ cause: LaneGate.Cause, at now: Moment) {
        guard waiting.refused(handle, place, cause, at: now.instant) else { return }
        checkStandstill(at: now)
        withdrawLane(place)
    }

    /// APNs would refuse the notifications in the pool as well, one connection each: they are held.
    private mutating func withdrawLane(_ place: Waiting.Place) {
        guard case .app(let app, let lane) = place else { return }
        withdrawAll(of: app, .hold(place)) { lane == Lane.credential || lane == $0.lane }
    }
}

extension RejectionReason {
    fileprivate static let badCertificate = RejectionReason(rawValue: "BadCertificate")
}

package import Core
import Logging

/// What waits for an app that is paused, or for APNs that cannot be reached, does not wait here for longer than the
/// configuration allows.
///
/// While others can send, it is parked and counts no attempt, so that it does not take up their prefetch. When no app
/// can send, nothing more is consumed, and what was not sent goes back to its queue.
extension Dispatch {
    /// How often the waiting are looked at, as a share of how long they may wait: they go that much early rather than
    /// late.
    private static let looksPerHold = 20

    private var lookInterval: Duration { settings.hold / Self.looksPerHold }

    /// How long something may wait before it goes.
    private var longestWait: Duration { settings.hold - lookInterval }

    /// How long a standstill may last: it ends one look before what has waited since it began would be parked.
    private var longestStandstill: Duration { longestWait - lookInterval }

    /// Whether nothing is consumed because no app can send.
    package var isSuspended: Bool { mutating get { outlook.standstill.isSuspended } }

    /// Something waits from now on.
    mutating func waits(_ entry: InFlightNotification, at now: Moment) {
        if entry.waitingSince == nil { entry.waitingSince = now.instant }
        if outlook.nextLook == .distantFuture { outlook.nextLook = now.instant + lookInterval }
    }

    /// Something has changed for the better: if nothing is consumed, that is looked at now.
    package mutating func mayRecover(at now: Moment) {
        if outlook.standstill.isSuspended { outlook.nextLook = now.instant }
    }

    mutating func lookAtTheWaiting(hasRoom: Bool, at now: Moment) {
        guard notifications.count > 0 || outlook.standstill.isSuspended else {
            outlook.nextLook = .distantFuture
            outlook.standstill = Standstill()
            return
        }
        outlook.nextLook = now.instant + lookInterval
        // What is taken after a standstill comes on top of what is still held from before.
        let canSend =
            gates.table.configured.contains { self.canSend($0) } && (!outlook.standstill.isSuspended || hasRoom)
        switch outlook.standstill.looked(
            canSend: canSend, lastAnswer: outlook.lastAnswer, at: now.instant, limit: longestStandstill)
        {
        case .suspend: suspend(at: now)
        case .resume: actions.append(.resume)
        case .nothing:
            leave(.park, notifications.handles.filter { isOverdue($0, notifications[$0], at: now) }, at: now)
            if outlook.standstill.isSuspended { actions.append(.staySuspended(isProbeWanted: lacksProbe(at: now))) }
        }
    }

    /// Whether an app can send for all that is known: APNs can be reached, and refuses nothing of it, or has answered
    /// it since, or has answered before what is not refused. What it sends to devices decides: broadcasts alone stop
    /// nobody.
    private func canSend(_ app: AppID) -> Bool {
        let app = gates.table.apps[app.index]
        guard outlook.isConnected(pool: app.pools.notifications), app.lanes[AppLane.credential.index].gate.isOpen else {
            return false
        }
        guard let paused = app.lanes[AppLane.devices].compactMap({ $0.gate.pause?.since }).min() else { return true }
        if let answeredAt = app.answeredAt, answeredAt > paused { return true }
        return app.lanes[AppLane.devices].contains { $0.gate.isOpen && $0.hasAnswered }
    }

    // MARK: One app

    /// Whether a notification has waited for too long, for its app or in a pool that is silent.
    private func isOverdue(_ handle: Handle, _ entry: InFlightNotification, at now: Moment) -> Bool {
        guard let since = entry.waitingSince, now.instant - since >= longestWait else { return false }
        return gates.lane(holding: handle, entry) != nil || waitsForPace(handle, entry) || isIgnored(entry, at: now)
    }

    /// Takes notifications out that wait for their app, for the pace of their queue or in a pool.
    mutating func leave(_ destination: Leaving, _ handles: [Handle], at now: Moment) {
        for handle in handles {
            let entry = notifications[handle]
            if leavesLine(handle, entry) {
                left(handle, destination, at: now)
                continue
            }
            guard let lane = gates.lane(holding: handle, entry) else {
                takeBack(handle, .leave(destination))
                continue
            }
            gates.table.apps[entry.app.index].lanes[lane.index].held.remove(handle)
            left(handle, destination, at: now)
        }
    }

    /// A notification was taken out.
    private mutating func left(_ handle: Handle, _ destination: Leaving, at now: Moment) {
        switch destination {
        case .park: parkWaiting(handle, at: now)
        case .giveBack: parkWaiting(handle, givesBack: true, at: now)
        case .drop: actions.append(.drop(notifications.remove(handle).request))
        }
    }

    // MARK: Back from a pool

    /// Asks for the notifications of an app that their pools may not have sent yet, oldest first.
    mutating func takeBack(of app: AppID, _ purpose: Withdrawal, where isMeant: (InFlightNotification) -> Bool) {
        let submitted = notifications.handles.filter { handle in
            let entry = notifications[handle]
            return entry.app == app && entry.isSubmitted && isMeant(entry)
        }
        let oldestFirst = submitted.sorted {
            notifications[$0].request.delivery.tag < notifications[$1].request.delivery.tag
        }
        for handle in oldestFirst { takeBack(handle, purpose) }
    }

    /// Asks for a notification that its pool may not have sent yet.
    mutating func takeBack(_ handle: Handle, _ purpose: Withdrawal) {
        let entry = notifications[handle]
        guard entry.isSubmitted else { return }
        entry.isSubmitted = false
        actions.append(.withdraw(handle, pool: entry.pool, purpose))
    }

    /// A pool gave a notification back.
    package mutating func tookBack(_ handle: Handle, _ purpose: Withdrawal, at now: Moment) {
        let entry = notifications[handle]
        switch purpose {
        case .hold(let lane):
            hold(handle, entry, in: lane, at: now)
            if lane != entry.lane { gates.withdrawn(handle, entry.app, entry.lane) }
        case .refuse(let cause):
            hold(handle, entry, in: AppLane.credential, at: now)
            refused(handle, entry.app, AppLane.credential, cause, at: now)
        case .resend: send(handle, at: now)
        case .leave(let destination):
            gates.withdrawn(handle, entry)
            left(handle, destination, at: now)
        }
    }

    /// A pool has sent already what it was asked for: it ends like any other.
    package mutating func wasSent(_ handle: Handle) {
        notifications[handle].isSubmitted = true
    }

    /// Whether the pool of a notification has brought no answer for too long, and has had the notification all the
    /// time.
    private func isIgnored(_ entry: InFlightNotification, at now: Moment) -> Bool {
        guard now.instant - entry.submittedAt >= longestWait else { return false }
        guard let last = outlook.lastAnswer(of: entry.pool) else { return true }
        return now.instant - last >= longestWait
    }

    /// While a pause is long already, one that waits for it is enough: it is the next probe.
    ///
    /// - Parameter givesBack: whether the others go back to their queue.
    mutating func limitHeld(_ app: AppID, _ lane: LaneID, givesBack: Bool = false, at now: Moment) {
        let (standstill, longestWait) = (outlook.standstill, longestWait)
        let excess = gates.takeExcess(app, lane) { since in
            standstill.isSuspended || (standstill.since == nil && now.instant - since >= longestWait)
        }
        for handle in excess { parkWaiting(handle, givesBack: givesBack, at: now) }
    }

    mutating func parkWaiting(_ handle: Handle, givesBack: Bool = false, at now: Moment) {
        let entry = notifications[handle]
        let report = Report(
            outcome: .undelivered, attempts: entry.attempts, processed: entry.processed,
            detail: "it waited for its app, or for APNs, for too long")
        park(handle, report, nil, givesBack: givesBack)
    }

    // MARK: No app

    private mutating func suspend(at now: Moment) {
        actions.append(.suspend)
        for app in gates.table.configured {
            for lane in AppLane.all { limitHeld(app, lane, givesBack: true, at: now) }
        }
        let waiting = notifications.handles.filter { handle in
            let entry = notifications[handle]
            return entry.isSubmitted || waitsForPace(handle, entry)
        }
        leave(.giveBack, waiting, at: now)
    }

    /// Whether a paused app has nothing that could be its probe.
    private func lacksProbe(at now: Moment) -> Bool {
        gates.table.configured.contains { id in
            let app = gates.table.apps[id.index]
            guard outlook.isConnected(pool: app.pools.notifications) else { return false }
            return app.lanes.contains { lane in
                lane.held.isEmpty && lane.gate.nextProbe.map { $0 <= now.instant } ?? false
            }
        }
    }

    // MARK: A lost connection

    /// Drops what the broker delivers again and nothing was done for: whoever gets it next may be another worker, and
    /// both would send it.
    package mutating func dropUnsentOrphans(at now: Moment) {
        let unsent = notifications.handles.filter { handle in
            let entry = notifications[handle]
            return entry.request.isOrphan && entry.request.started == 1 && entry.request.open == 1 && entry.isUntried
        }
        leave(.drop, unsent, at: now)
    }

    // MARK: Drain

    /// Nobody waits any more for what only waits: it goes back to its queue, or is parked where something of it has
    /// ended.
    package mutating func giveBackWaiting(at now: Moment) {
        leave(.giveBack, notifications.handles, at: now)
    }
}

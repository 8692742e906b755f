package import Core
import Logging

/// The configuration limits how long notifications wait in a worker for a paused app or an unreachable APNs.
///
/// While other apps can send, the notification is parked and counts no attempt, so it does not occupy the prefetch.
/// While no app can send, the worker consumes nothing and returns unsent requests to their queues.
extension Dispatch {
    /// Checks per hold time. Notifications leave up to one check interval early rather than late.
    private static let checksPerHold = 20

    private var checkInterval: Duration { settings.hold / Self.checksPerHold }

    /// How long a notification may wait before it leaves the worker.
    private var longestWait: Duration { settings.hold - checkInterval }

    /// The longest standstill: one check interval shorter, so it ends before the notifications of its beginning are
    /// parked.
    private var longestStandstill: Duration { longestWait - checkInterval }

    /// Whether the worker consumes nothing because no app can send.
    package var isSuspended: Bool { reachability.standstill.isSuspended }

    /// A notification starts to wait.
    mutating func startWaiting(_ entry: InFlightNotification, at now: Moment) {
        if entry.waitingSince == nil { entry.waitingSince = now.instant }
        if reachability.nextCheck == .distantFuture { reachability.nextCheck = now.instant + checkInterval }
    }

    /// Conditions may have improved: a suspended worker checks them now.
    package mutating func mayRecover(at now: Moment) {
        if reachability.standstill.isSuspended { reachability.nextCheck = now.instant }
    }

    mutating func checkWaiting(hasRoom: Bool, at now: Moment) {
        guard notifications.count > 0 || reachability.standstill.isSuspended else {
            reachability.nextCheck = .distantFuture
            reachability.standstill = Standstill()
            return
        }
        reachability.nextCheck = now.instant + checkInterval
        // Deliveries taken after a standstill add to those still held from before it.
        let canSend =
            waiting.table.configured.contains { self.canSend($0) } && (!reachability.standstill.isSuspended || hasRoom)
        switch reachability.standstill.checked(
            canSend: canSend, lastResponse: reachability.lastResponse, at: now.instant, limit: longestStandstill)
        {
        case .suspend: suspend(at: now)
        case .resume: actions.append(.resume)
        case .nothing:
            stopWaiting(.park, notifications.handles.filter { isOverdue($0, notifications[$0], at: now) }, at: now)
            if reachability.standstill.isSuspended {
                actions.append(.staySuspended(isProbeWanted: lacksProbe(at: now)))
            }
        }
    }

    /// Whether an app can send, as far as known. APNs must be reachable and not refuse the credential. If a topic is
    /// refused, APNs must have responded since, or before on a lane that is open. Only lanes to devices count: a
    /// refusal of broadcasts does not suspend the worker.
    private func canSend(_ app: AppID) -> Bool {
        let app = waiting.table.apps[app.index]
        guard reachability.isConnected(pool: app.pools.notifications), app.lanes[AppLane.credential.index].gate.isOpen
        else {
            return false
        }
        guard let paused = app.lanes[AppLane.devices].compactMap({ $0.gate.pause?.since }).min() else { return true }
        if let respondedAt = app.respondedAt, respondedAt > paused { return true }
        return app.lanes[AppLane.devices].contains { $0.gate.isOpen && $0.hasResponded }
    }

    // MARK: One app

    /// Whether a notification has waited too long, for its app or in a pool without responses.
    private func isOverdue(_ handle: Handle, _ entry: InFlightNotification, at now: Moment) -> Bool {
        guard let since = entry.waitingSince, now.instant - since >= longestWait else { return false }
        return waiting.lane(holding: handle, entry) != nil || waitsForPace(handle, entry) || isIgnored(entry, at: now)
    }

    /// Removes notifications that wait for their app, for their queue's rate limit or in a pool.
    mutating func stopWaiting(_ destination: WaitDestination, _ handles: [Handle], at now: Moment) {
        for handle in handles {
            let entry = notifications[handle]
            if removePaced(handle, entry) {
                stoppedWaiting(handle, destination, at: now)
                continue
            }
            guard let lane = waiting.lane(holding: handle, entry) else {
                withdraw(handle, .stopWaiting(destination))
                continue
            }
            waiting.table.apps[entry.app.index].lanes[lane.index].held.remove(handle)
            stoppedWaiting(handle, destination, at: now)
        }
    }

    /// A notification was removed.
    private mutating func stoppedWaiting(_ handle: Handle, _ destination: WaitDestination, at now: Moment) {
        switch destination {
        case .park: parkWaiting(handle, at: now)
        case .requeue: parkWaiting(handle, requeues: true, at: now)
        case .drop: actions.append(.drop(notifications.remove(handle).request))
        }
    }

    // MARK: Return from a pool

    /// Requests the notifications of an app that its pools may not have sent yet, oldest first.
    mutating func withdrawAll(of app: AppID, _ purpose: Withdrawal, where isMeant: (InFlightNotification) -> Bool) {
        let submitted = notifications.handles.filter { handle in
            let entry = notifications[handle]
            return entry.app == app && entry.isSubmitted && isMeant(entry)
        }
        let oldestFirst = submitted.sorted {
            notifications[$0].request.delivery.tag < notifications[$1].request.delivery.tag
        }
        for handle in oldestFirst { withdraw(handle, purpose) }
    }

    /// Requests a notification that its pool may not have sent yet.
    mutating func withdraw(_ handle: Handle, _ purpose: Withdrawal) {
        let entry = notifications[handle]
        guard entry.isSubmitted else { return }
        entry.isSubmitted = false
        actions.append(.withdraw(handle, pool: entry.pool, purpose))
    }

    /// A pool returned a notification.
    package mutating func withdrawn(_ handle: Handle, _ purpose: Withdrawal, at now: Moment) {
        let entry = notifications[handle]
        switch purpose {
        case .hold(let lane):
            hold(handle, entry, in: lane, at: now)
            if lane != entry.lane { waiting.withdrawn(handle, entry.app, entry.lane) }
        case .refuse(let cause):
            hold(handle, entry, in: AppLane.credential, at: now)
            laneRefused(handle, entry.app, AppLane.credential, cause, at: now)
        case .resend: send(handle, at: now)
        case .stopWaiting(let destination):
            waiting.withdrawn(handle, entry)
            stoppedWaiting(handle, destination, at: now)
        }
    }

    /// The pool has already sent the requested notification: it ends normally.
    package mutating func wasSent(_ handle: Handle) {
        notifications[handle].isSubmitted = true
    }

    /// Whether the pool has given no response for too long, although it held the notification all that time.
    private func isIgnored(_ entry: InFlightNotification, at now: Moment) -> Bool {
        guard now.instant - entry.submittedAt >= longestWait else { return false }
        guard let last = reachability.lastResponse(of: entry.pool) else { return true }
        return now.instant - last >= longestWait
    }

    /// After a long pause one waiting notification is enough: it is the next probe.
    ///
    /// - Parameter requeues: whether the others return to their queue.
    mutating func limitHeld(_ app: AppID, _ lane: LaneID, requeues: Bool = false, at now: Moment) {
        let (standstill, longestWait) = (reachability.standstill, longestWait)
        let excess = waiting.takeExcess(app, lane) { since in
            standstill.isSuspended || (standstill.since == nil && now.instant - since >= longestWait)
        }
        for handle in excess { parkWaiting(handle, requeues: requeues, at: now) }
    }

    mutating func parkWaiting(_ handle: Handle, requeues: Bool = false, at now: Moment) {
        let entry = notifications[handle]
        let report = Report(
            outcome: .undelivered, attempts: entry.attempts, processed: entry.processed,
            detail: "it waited too long for its app or for APNs")
        park(handle, report, nil, requeues: requeues)
    }

    // MARK: No app can send

    private mutating func suspend(at now: Moment) {
        actions.append(.suspend)
        for app in waiting.table.configured {
            for lane in AppLane.all { limitHeld(app, lane, requeues: true, at: now) }
        }
        let unsent = notifications.handles.filter { handle in
            let entry = notifications[handle]
            return entry.isSubmitted || waitsForPace(handle, entry)
        }
        stopWaiting(.requeue, unsent, at: now)
    }

    /// Whether a paused app has no notification for its next probe.
    private func lacksProbe(at now: Moment) -> Bool {
        waiting.table.configured.contains { id in
            let app = waiting.table.apps[id.index]
            guard reachability.isConnected(pool: app.pools.notifications) else { return false }
            return app.lanes.contains { lane in
                lane.held.isEmpty && lane.gate.nextProbe.map { $0 <= now.instant } ?? false
            }
        }
    }

    // MARK: A lost connection

    /// Drops requests that the broker redelivers and that were never sent: the redelivery may reach another worker, and
    /// both would send it.
    package mutating func dropUnsentOrphans(at now: Moment) {
        let unsent = notifications.handles.filter { handle in
            let entry = notifications[handle]
            return entry.request.isOrphan && entry.request.started == 1 && entry.request.open == 1
                && entry.isUnattempted
        }
        stopWaiting(.drop, unsent, at: now)
    }

    // MARK: Drain

    /// Stops all waits at a drain: requests return to their queue, or are parked if one of their notifications has
    /// ended.
    package mutating func requeueWaiting(at now: Moment) {
        stopWaiting(.requeue, notifications.handles, at: now)
    }
}

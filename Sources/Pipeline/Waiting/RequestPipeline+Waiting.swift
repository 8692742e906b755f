import APNs
package import Core
import Logging

/// How notifications wait, and how long.
///
/// While another app can send, the notifications of an app that cannot send hold a small share of the prefetch of their
/// queue. The excess is parked at once, without an attempt, and the rest after the hold time. While no app
/// can send, the worker consumes probes only, and returns held requests to their queue after the hold time.
extension RequestPipeline {
    /// The longest time between two checks of what waits.
    private static let longestCheckInterval = Duration.seconds(2)

    private var checkInterval: Duration { min(settings.hold / 20, Self.longestCheckInterval) }

    // MARK: Waiting in a lane

    mutating func startWaiting(_ entry: InFlightNotification, at now: Moment) {
        if entry.waitingSince == nil { entry.waitingSince = now.instant }
        if reachability.nextCheck == .distantFuture { reachability.nextCheck = now.instant + checkInterval }
    }

    /// A notification waits in a closed lane, or is parked if its app's share of the prefetch is used up. This is not
    /// its own failure, so its retry time restarts.
    mutating func hold(_ handle: Handle, _ entry: InFlightNotification, in place: Waiting.Place, at now: Moment) {
        entry.firstAttempt = nil
        startWaiting(entry, at: now)
        waiting.releaseProbes(handle, entry)
        waiting.hold(handle, entry, in: place)
        guard reachability.standstillSince == nil, waiting.exceedsShare(entry, settings.queues) else { return }
        waiting.remove(handle, entry, from: place)
        parkWaiting(handle, at: now)
    }

    /// Sends held notifications: all if the gate is open, otherwise until one becomes the probe. Expired ones end
    /// instead.
    ///
    /// - Parameter limit: the maximum for this turn; the rest follows in the next turn.
    /// - Returns: The number processed.
    mutating func release(_ place: Waiting.Place, atMost limit: Int, at now: Moment) -> Int {
        for count in 0..<limit {
            guard let handle = waiting.nextAdmitted(place, at: now.instant) else { return count }
            waiting.remove(handle, notifications[handle], from: place)
            send(handle, at: now)
        }
        waiting.release(place, at: now.instant)
        return limit
    }

    // MARK: Connections

    /// A pool can send, or has lost its last connection.
    package mutating func pool(_ pool: PoolID, isUsable: Bool, at now: Moment) {
        reachability.pool(pool, isUsable: isUsable, at: now.instant)
        if isUsable { waiting.open(.pool(pool), at: now.instant) }
    }

    /// Notifications whose pool has had no connection for a while wait for one in its lane, except one, which makes the
    /// pool connect.
    private mutating func closeUnreachable(at now: Moment) {
        let pools = reachability.unusable(at: now.instant).filter { waiting.isOpen(.pool($0)) }
        guard !pools.isEmpty else { return }
        for handle in notifications.handles where notifications[handle].place == .pool {
            let entry = notifications[handle]
            guard pools.contains(entry.pool), !isOutdated(entry) else { continue }
            let place = Waiting.Place.pool(entry.pool)
            if waiting.isOpen(place) {
                waiting.close(place, .unreachable, at: now.instant)
            } else {
                withdraw(handle, .hold(place))
            }
        }
    }

    // MARK: The hold time

    /// Conditions may have improved: a suspended worker checks them now.
    package mutating func checkIfSuspended(at now: Moment) {
        if reachability.isSuspended { reachability.nextCheck = now.instant }
    }

    mutating func checkWaiting(at now: Moment) {
        guard notifications.count > 0 || reachability.isSuspended else {
            reachability.nextCheck = .distantFuture
            reachability.endStandstill()
            return
        }
        reachability.nextCheck = now.instant + checkInterval
        closeUnreachable(at: now)
        checkStandstill(at: now)
        if reachability.standstillSince == nil { limitShares(at: now) }
        let overdue = notifications.handles.filter { isOverdue(notifications[$0], at: now) }
        // A turn for those that are at APNs already would change nothing.
        let recallable = overdue.filter { !notifications[$0].isBeyondRecall }
        if recallable.count > Self.maximumDuePerTurn { reachability.nextCheck = now.instant }
        let others = overdue.filter { notifications[$0].isBeyondRecall }
        for handle in (recallable + others).prefix(Self.maximumDuePerTurn) {
            // A probe taken since would only be delivered again. Its return would restart the time of expiration 0.
            let entry = notifications[handle]
            let returns = reachability.suspendedSince.map { entry.request.arrived.instant <= $0 } ?? false
            stopWaiting(returns && !entry.isNowOrNever ? .requeue : .park, [handle], at: now)
        }
        if reachability.isSuspended { staySuspended(isProbeWanted: lacksProbe(at: now)) }
    }

    /// Another app can send again: what exceeds the shares is parked.
    private mutating func limitShares(at now: Moment) {
        for handle in notifications.handles.reversed() {
            let entry = notifications[handle]
            // A lane that has just opened sends what it holds in the next turns.
            guard case .lane(let place) = entry.place, !waiting.isOpen(place),
                waiting.exceedsShare(entry, settings.queues)
            else { continue }
            stopWaiting(.park, [handle], at: now)
        }
    }

    /// Whether a notification has waited too long, for its app or in a pool without responses.
    private func isOverdue(_ entry: InFlightNotification, at now: Moment) -> Bool {
        guard let since = entry.waitingSince else { return false }
        // It leaves up to one check early rather than late.
        let longestWait = settings.hold - checkInterval
        guard now.instant - since >= longestWait else { return isTooLate(entry, at: now) }
        switch entry.place {
        case .lane, .pace: return true
        case .pool:
            guard now.instant - entry.submittedAt >= longestWait else { return false }
            guard let last = reachability.lastResponse(of: entry.pool) else { return true }
            return now.instant - last >= longestWait
        case .none, .retry: return false
        }
    }

    /// - Parameter purpose: to park, requeue or drop them.
    mutating func stopWaiting(_ purpose: Withdrawal, _ handles: [Handle], at now: Moment) {
        for handle in handles {
            let entry = notifications[handle]
            switch entry.place {
            case .none, .retry: continue
            case .pool:
                withdraw(handle, purpose)
                continue
            case .lane(let place): waiting.remove(handle, entry, from: place)
            case .pace:
                paces[entry.request.queue.index]?.backlog.remove(handle)
                entry.place = .none
            }
            withdrawn(handle, purpose, at: now)
        }
    }

    mutating func parkWaiting(_ handle: Handle, requeues: Bool = false, at now: Moment) {
        let entry = notifications[handle]
        if isTooLate(entry, at: now) { return finish(handle, entry.report(.expired), at: now) }
        let report = entry.report(.undelivered, "it waited too long for its app or for APNs")
        park(handle, report, nil, requeues: requeues, at: now)
    }

    // MARK: Return from a pool

    /// Requests the notifications of an app that its pools may not have sent yet, each queue's oldest first.
    mutating func withdrawAll(of app: AppID, _ purpose: Withdrawal, where isMeant: (InFlightNotification) -> Bool) {
        let submitted = notifications.handles.filter { handle in
            let entry = notifications[handle]
            return entry.app == app && entry.place == .pool && isMeant(entry)
        }
        let oldestFirst = submitted.sorted { notifications[$0].request.tag < notifications[$1].request.tag }
        for handle in oldestFirst { withdraw(handle, purpose) }
    }

    /// Requests a notification that its pool may not have sent yet.
    mutating func withdraw(_ handle: Handle, _ purpose: Withdrawal) {
        let entry = notifications[handle]
        guard entry.place == .pool else { return }
        entry.place = .none
        append(.withdraw(handle, pool: entry.pool, purpose))
    }

    package mutating func withdrawn(_ handle: Handle, _ purpose: Withdrawal, at now: Moment) {
        let entry = notifications[handle]
        switch purpose {
        case .hold(let place): hold(handle, entry, in: place, at: now)
        case .refuse(let cause):
            let credential = Waiting.Place.app(entry.app, Lane.credential)
            laneRefused(handle, credential, cause, at: now)
            hold(handle, entry, in: credential, at: now)
        case .resend: resend(handle, entry, at: now)
        case .park, .requeue:
            waiting.releaseProbes(handle, entry)
            parkWaiting(handle, requeues: purpose == .requeue, at: now)
        case .drop:
            waiting.releaseProbes(handle, entry)
            let request = remove(handle).request
            if case .complete = request.endPart() { drop(request) }
        }
    }

    /// The pool has already sent the requested notification: it ends normally.
    package mutating func wasSent(_ handle: Handle) {
        notifications[handle].place = .pool
        notifications[handle].isBeyondRecall = true
    }

    // MARK: No app can send

    /// Finds out whether any app can send. If none can for a while, the worker stops consuming.
    mutating func checkStandstill(at now: Moment) {
        // Deliveries taken after a standstill add to those still held from before it.
        let wasSuspended = reachability.isSuspended
        let canSend = waiting.table.configured.contains { self.canSend($0, at: now) } && (!wasSuspended || hasRoom)
        reachability.check(canSend: canSend, at: now.instant)
        guard reachability.isSuspended != wasSuspended else { return }
        if wasSuspended { resume() } else { suspend() }
    }

    /// Whether an app can send, as far as known. APNs must be reachable and not refuse the credential. If a topic is
    /// refused, APNs must have responded on another one. Only lanes to devices count: a refusal of broadcasts does not
    /// suspend the worker.
    private func canSend(_ app: AppID, at now: Moment) -> Bool {
        let app = waiting.table.apps[app.index]
        guard reachability.isUsable(app.pools.notifications, at: now.instant),
            app.lanes[Lane.credential.index].gate.isOpen
        else { return false }
        let open = app.lanes[Lane.devices].filter(\.gate.isOpen)
        return open.count == Lane.devices.count || open.contains(where: \.hasResponded)
    }

    /// Whether a paused app has no notification for its next probe.
    private func lacksProbe(at now: Moment) -> Bool {
        waiting.table.configured.contains { id in
            reachability.isUsable(waiting.table.apps[id.index].pools.notifications, at: now.instant)
                && waiting.lacksProbe(id, at: now.instant)
        }
    }

    // MARK: A lost connection to the broker, and the drain

    /// Drops requests that the broker redelivers and of which nothing was sent: the redelivery may reach another
    /// worker, and both would send it. A fan-out of which a part is in a pool stays: that part may have been sent.
    mutating func dropUnsentOrphans(at now: Moment) {
        let unattempted = notifications.handles.filter {
            notifications[$0].request.isOrphan && notifications[$0].isUnattempted
        }
        var outsidePools: [ObjectIdentifier: Int] = [:]
        for handle in unattempted where notifications[handle].place != .pool {
            outsidePools[ObjectIdentifier(notifications[handle].request), default: 0] += 1
        }
        let unsent = unattempted.filter { handle in
            let request = notifications[handle].request
            return request.started == 1 || outsidePools[ObjectIdentifier(request)] == request.started
        }
        stopWaiting(.drop, unsent, at: now)
    }

    /// Whether waiting longer changes nothing: only deferred requests are left, and notifications of closed lanes and
    /// their probes.
    package var onlyWaits: Bool {
        counters.unconfirmed == 0 && decoding.count == 0 && backlog.isEmpty && retries.count == 0
            && notifications.count == waiting.count + unsentProbes
    }

    /// The notifications that wait in a pool without a connection.
    private var unsentProbes: Int {
        notifications.handles.count {
            notifications[$0].place == .pool && !waiting.isOpen(.pool(notifications[$0].pool))
        }
    }
}

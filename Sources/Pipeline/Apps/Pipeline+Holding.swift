package import Core
import Logging

/// How much a worker takes from the broker.
package enum Intake: Sendable {
    /// What prefetch allows.
    case full
    /// One message of each queue.
    case one
    case none
}

/// What waits for an app that is paused, or for APNs that cannot be reached, does not wait here for longer than the
/// configuration allows.
///
/// While others can send, it is parked and counts no attempt, so that it does not take up their prefetch. When no app
/// can send, nothing more is consumed, and what was not sent goes back to its queue.
extension Pipeline {
    /// How often the waiting are looked at, as a share of how long they may wait: they go that much early rather than
    /// late.
    private static let looksPerHold = 20

    private var lookInterval: Duration { settings.hold / Self.looksPerHold }

    /// How long something may wait before it goes.
    private var longestWait: Duration { settings.hold - lookInterval }

    /// How long a standstill may last: it ends one look before what has waited since it began would be parked.
    private var longestStandstill: Duration { longestWait - lookInterval }

    /// Whether nothing is consumed because no app can send.
    package var isSuspended: Bool { standstill.isSuspended }

    /// Something waits from now on.
    func waits(_ entry: InFlightNotification, at now: Moment) {
        if entry.waitingSince == nil { entry.waitingSince = now.instant }
        if nextLook == .distantFuture { nextLook = now.instant + lookInterval }
    }

    /// Something has changed for the better: if nothing is consumed, that is looked at now.
    package func mayRecover(at now: Moment) {
        if standstill.isSuspended { nextLook = now.instant }
    }

    func lookAtTheWaiting(at now: Moment) {
        guard notifications.count > 0 || standstill.isSuspended else {
            nextLook = .distantFuture
            standstill = Standstill()
            return
        }
        nextLook = now.instant + lookInterval
        // What is taken after a standstill comes on top of what is still held from before.
        let canSend = apps.configured.contains { self.canSend($0) } && (!standstill.isSuspended || hasRoom)
        switch standstill.looked(canSend: canSend, lastAnswer: lastAnswer, at: now.instant, limit: longestStandstill) {
        case .suspend: suspend(at: now)
        case .resume: resumeIntake()
        case .nothing:
            parkWaiting(.park, at: now) { isOverdue($0, $1, at: now) }
            if standstill.isSuspended { probeFromQueue(at: now) }
        }
    }

    /// Whether more may be taken on top of what is held: a broker does not count what came to a consumer that was
    /// cancelled, so that each standstill could otherwise add as much as prefetch allows.
    private var hasRoom: Bool {
        counters.unsettled <= prefetch
    }

    /// Whether an app can send for all that is known: APNs can be reached, and refuses nothing of it, or has answered
    /// it since, or has answered before what is not refused. What it sends to devices decides: broadcasts alone stop
    /// nobody.
    private func canSend(_ app: Int) -> Bool {
        let app = apps.apps[app]
        guard isConnected(pool: app.pools.notifications), app.lanes[AppLane.credential].gate.isOpen else {
            return false
        }
        guard let paused = app.lanes[AppLane.devices].compactMap({ $0.gate.pause?.since }).min() else { return true }
        if let answeredAt = app.answeredAt, answeredAt > paused { return true }
        return app.lanes[AppLane.devices].contains { $0.gate.isOpen && $0.hasAnswered }
    }

    /// The lane in which a notification waits for its app; `nil` if it does not.
    func lane(holding handle: UInt32, _ entry: InFlightNotification) -> Int? {
        [AppLane.credential, entry.lane].first { apps.apps[entry.app].lanes[$0].held.contains(handle) }
    }

    // MARK: One app

    /// Whether a notification has waited for too long, for its app or in a pool that is silent.
    private func isOverdue(_ handle: UInt32, _ entry: InFlightNotification, at now: Moment) -> Bool {
        guard let since = entry.waitingSince, now.instant - since >= longestWait else { return false }
        return lane(holding: handle, entry) != nil || isIgnored(entry, at: now)
    }

    /// Parks what waits, as far as it is meant.
    private func parkWaiting(
        _ purpose: Withdrawal, at now: Moment, where isMeant: (UInt32, InFlightNotification) -> Bool
    ) {
        // To park one may end others.
        for handle in notifications.handles where notifications.contains(handle) {
            let entry = notifications[handle]
            if isMeant(handle, entry) { leave(handle, entry, purpose, at: now) }
        }
    }

    /// Has a notification wait no more, for its app or in a pool.
    private func leave(_ handle: UInt32, _ entry: InFlightNotification, _ purpose: Withdrawal, at now: Moment) {
        guard let lane = lane(holding: handle, entry) else { return takeBack(handle, purpose) }
        apps.apps[entry.app].lanes[lane].held.remove(handle)
        left(handle, purpose, at: now)
    }

    /// A notification does not wait any more.
    private func left(_ handle: UInt32, _ purpose: Withdrawal, at now: Moment) {
        switch purpose {
        case .park: parkWaiting(handle, at: now)
        case .giveBack:
            isGivingBack = true
            parkWaiting(handle, at: now)
            isGivingBack = false
        case .drop:
            orphans.remove(notifications.remove(handle).request)
            counters.unsettled -= 1
        case .resend: send(handle, at: now)
        case .hold, .refuse: preconditionFailure("it waits on")
        }
    }

    // MARK: Back from a pool

    /// Asks for a notification that its pool may not have sent yet.
    func takeBack(_ handle: UInt32, _ purpose: Withdrawal) {
        let entry = notifications[handle]
        guard entry.isSubmitted else { return }
        entry.isSubmitted = false
        actions.append(.withdraw(handle, pool: entry.pool, purpose))
    }

    /// A pool gave a notification back.
    package func tookBack(_ handle: UInt32, _ purpose: Withdrawal, at now: Moment) {
        let entry = notifications[handle]
        switch purpose {
        case .hold(let lane):
            hold(handle, entry, in: lane, at: now)
            if lane != entry.lane { withdrawn(handle, entry.app, entry.lane) }
        case .refuse(let cause):
            hold(handle, entry, in: AppLane.credential, at: now)
            refused(handle, entry.app, AppLane.credential, cause, at: now)
        case .park, .giveBack, .drop:
            withdrawn(handle, entry)
            left(handle, purpose, at: now)
        case .resend: left(handle, purpose, at: now)
        }
    }

    /// A pool has sent already what it was asked for: it ends like any other.
    package func wasSent(_ handle: UInt32) {
        notifications[handle].isSubmitted = true
    }

    /// Whether the pool of a notification has brought no answer for too long, and has had the notification all the
    /// time.
    private func isIgnored(_ entry: InFlightNotification, at now: Moment) -> Bool {
        guard now.instant - entry.submittedAt >= longestWait else { return false }
        guard poolAnswers.indices.contains(entry.pool), let last = poolAnswers[entry.pool] else { return true }
        return now.instant - last >= longestWait
    }

    /// While a pause is long already, one that waits for it is enough: it is the next probe.
    func limitHeld(_ app: Int, _ lane: Int, at now: Moment) {
        guard let pause = apps.apps[app].lanes[lane].gate.pause, pause.probe == nil,
            apps.apps[app].lanes[lane].held.count > 1,
            standstill.isSuspended || (standstill.since == nil && now.instant - pause.since >= longestWait),
            let probe = apps.apps[app].lanes[lane].held.popFirst()
        else { return }
        while let handle = apps.apps[app].lanes[lane].held.popFirst() { parkWaiting(handle, at: now) }
        apps.apps[app].lanes[lane].held.append(probe)
    }

    func parkWaiting(_ handle: UInt32, at now: Moment) {
        let entry = notifications[handle]
        let report = Report(
            outcome: .undelivered, attempts: entry.attempts, processed: entry.processed,
            detail: "it waited for its app, or for APNs, for too long")
        park(handle, report, nil, at: now)
    }

    // MARK: No app

    private func suspend(at now: Moment) {
        counters.suspensions += 1
        log.error(
            "no app can send: nothing is consumed until one can, and what was not sent goes back to its queue",
            metadata: ["hold_seconds": "\(settings.hold.components.seconds)"])
        isProbing = false
        actions.append(.take(.none))
        isGivingBack = true
        for app in apps.configured {
            for lane in apps.apps[app].lanes.indices { limitHeld(app, lane, at: now) }
        }
        isGivingBack = false
        parkWaiting(.giveBack, at: now) { $1.isSubmitted }
    }

    private func resumeIntake() {
        log.notice("an app can send again: requests are consumed")
        isProbing = false
        actions.append(.take(.full))
    }

    /// A paused app without anything that could be its probe: one message is taken for it.
    private func probeFromQueue(at now: Moment) {
        guard !isProbing else {
            // What one look has asked for came before the next one.
            if hasProbe { isProbing = false }
            return
        }
        let lacksProbe = apps.configured.contains { index in
            let app = apps.apps[index]
            guard isConnected(pool: app.pools.notifications) else { return false }
            return app.lanes.contains { lane in
                lane.held.isEmpty && lane.gate.nextProbe.map { $0 <= now.instant } ?? false
            }
        }
        guard lacksProbe, hasRoom else { return }
        isProbing = true
        hasProbe = false
        actions.append(.take(.one))
    }

    /// A delivery came. While nothing is consumed it goes back, unless one was asked for as a probe: then each queue
    /// may have sent one, and all are taken. To give the same one back with every probe would use up its deliveries.
    ///
    /// - Returns: Whether it is to be worked on.
    func isTaken(_ delivery: Delivery) -> Bool {
        guard standstill.isSuspended else { return true }
        guard isProbing else {
            counters.unsettled -= 1
            counters.requeued += 1
            actions.append(.settle(delivery, .requeue))
            return false
        }
        if !hasProbe { actions.append(.take(.none)) }
        hasProbe = true
        return true
    }

    // MARK: A lost connection

    /// Drops what the broker delivers again and nothing was done for: whoever gets it next may be another worker, and
    /// both would send it.
    func dropUnsentOrphans(at now: Moment) {
        forgetDeferred { request in
            guard request.isOrphan else { return false }
            orphans.remove(request)
            counters.unsettled -= 1
            return true
        }
        for handle in notifications.handles where notifications.contains(handle) {
            let entry = notifications[handle]
            guard entry.request.isOrphan, entry.request.started == 1, entry.request.open == 1, entry.isUntried
            else { continue }
            leave(handle, entry, .drop, at: now)
        }
    }

    // MARK: Drain

    /// Nobody waits any more for what only waits: it goes back to its queue, or is parked where something of it has
    /// ended.
    package func giveBackWaiting(at now: Moment) {
        isGivingBack = true
        forgetDeferred { giveBack($0) }
        isGivingBack = false
        parkWaiting(.giveBack, at: now) { _, _ in true }
    }

    /// Takes out of what waits to be decoded again those that are gone.
    private func forgetDeferred(_ isGone: (InFlightRequest) -> Bool) {
        later.removeAll { if case .decode(let request) = $0 { isGone(request) } else { false } }
    }

    // MARK: Back to the queue

    /// Gives a request back of which nothing was sent, and which can wait in its queue as well as in a retry queue.
    ///
    /// - Returns: Whether it is gone.
    func giveBack(_ request: InFlightRequest) -> Bool {
        guard isGivingBack || request.isOrphan, request.isUntouched else { return false }
        request.parked = []
        counters.unsettled -= 1
        if request.isOrphan {
            // It is in its queue already.
            orphans.remove(request)
        } else {
            counters.requeued += 1
            actions.append(.settle(request.delivery, .requeue))
        }
        return true
    }
}

import APNs
package import Core

/// Updates apps and their notifications when the configuration changes.
///
/// A notification in flight refers to its app by the slot in the table. It stores the ID of its pool, because the table
/// may change.
extension RequestPipeline {
    /// The slots of the apps that are configured, in the configuration's order.
    package var configured: [AppID] {
        get { waiting.table.configured }
        set {
            waiting.table.configured = newValue
            waiting.pausesHaveChanged = true
        }
    }

    package func app(in slot: AppID) -> PipelineApp {
        waiting.table.apps[slot.index]
    }

    /// Adds an app: in its former slot if it had one, otherwise in a slot that no notification uses.
    ///
    /// - Returns: its slot, and whether the slot belonged to another app before.
    package mutating func add(_ app: PipelineApp) -> (slot: AppID, wasAnothers: Bool) {
        if let slot = waiting.table.all.first(where: { waiting.table.apps[$0.index].isSame(app) }) {
            waiting.table.apps[slot.index].change(to: app)
            return (slot, false)
        }
        let parked = requests.flatMap(\.parked).map(\.entry.app)
        let used = Set(notifications.handles.map { notifications[$0].app } + parked)
        if let free = waiting.table.all.first(where: { waiting.table.apps[$0.index].isRemoved && !used.contains($0) }) {
            waiting.table.apps[free.index] = app
            return (free, true)
        }
        waiting.table.apps.append(app)
        return (AppID(waiting.table.apps.count - 1), false)
    }

    /// Changes an app that keeps its name. Notifications in its old pools move to the new ones. A paused app sends a
    /// probe at once even if nothing changed: the problem may have been fixed in the developer account.
    package mutating func change(_ slot: AppID, to app: PipelineApp, at now: Moment) {
        let old = waiting.table.apps[slot.index].pools
        waiting.table.change(slot, to: app)
        waiting.pausesHaveChanged = true
        if app.pools != old {
            withdrawAll(of: slot, .resend) { _ in true }
            waiting.forgetProbes(slot)
            for handle in takeHeld(of: slot, where: { if case .pool = $0 { true } else { false } }) {
                send(handle, at: now)
            }
        }
        let doubtsTokens = settings.tokenRefusals != nil
        if waiting.probeSoon(slot, doubtsTokens: doubtsTokens, at: now.instant) { checkIfSuspended(at: now) }
    }

    /// Removes an app. Notifications in flight end normally; waiting ones end now.
    package mutating func remove(_ slot: AppID, at now: Moment) {
        let held = takeHeld(of: slot) { _ in true }
        withdrawAll(of: slot, .resend) { _ in true }
        waiting.table.apps[slot.index].lanes = Array(repeating: Lane(), count: Lane.count)
        waiting.table.apps[slot.index].isRemoved = true
        for handle in held { send(handle, at: now) }
        for start in backlog.removeAll(of: slot) { begin(start.decoded, of: start.request, at: now) }
    }

    private mutating func takeHeld(of slot: AppID, where isMeant: (Waiting.Place) -> Bool) -> [Handle] {
        notifications.handles.filter { handle in
            let entry = notifications[handle]
            guard entry.app == slot, case .lane(let place) = entry.place, isMeant(place) else { return false }
            waiting.remove(handle, entry, from: place)
            return true
        }
    }

    /// Whether a response blames something that a reload may have replaced: the credential or the environment.
    func refusesWhatChanged(_ rule: ResponseRule, _ entry: InFlightNotification) -> Bool {
        switch rule.action {
        case .pauseApp, .pauseTopic, .reconnect, .renewToken, .keepToken: true
        case .doubtToken, .doubtTopic: !waiting.table.apps[entry.app.index].isRemoved
        case .accept, .unregister, .reject, .resend, .retryLater: false
        }
    }

    /// Sends a notification again that its old pool cannot send; this counts no attempt.
    mutating func resend(_ handle: Handle, _ entry: InFlightNotification, at now: Moment) {
        waiting.releaseProbes(handle, entry)
        send(handle, at: now)
    }

    /// Whether a notification went to a pool that its app no longer uses. The response then says nothing about the
    /// current credential, and an unprocessed notification moves to the new pool.
    @inline(__always)
    func isOutdated(_ entry: InFlightNotification) -> Bool {
        let app = waiting.table.apps[entry.app.index]
        return app.isRemoved || app.pools.pool(for: entry.notification.target) != entry.pool
    }
}

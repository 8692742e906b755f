import APNs
package import Core

/// What becomes of apps and their notifications when the configuration changes.
///
/// A notification in flight means its app by the slot that it has in the table, and its pool by a number of its own:
/// the table may change meanwhile.
extension Dispatch {
    /// The slots of the apps that are configured, in the configuration's order.
    package var configured: [AppID] {
        get { gates.table.configured }
        set { gates.table.configured = newValue }
    }

    package func app(in slot: AppID) -> PipelineApp {
        gates.table.apps[slot.index]
    }

    /// Takes an app in: into the slot that it had, while something still means it, or else into one that nothing means.
    ///
    /// - Returns: its slot, and whether that was another app's before.
    package mutating func add(_ app: PipelineApp) -> (slot: AppID, wasAnothers: Bool) {
        if let slot = gates.table.all.first(where: { gates.table.apps[$0.index].isSame(app) }) {
            gates.table.apps[slot.index].change(to: app)
            return (slot, false)
        }
        let used = Set(notifications.handles.map { notifications[$0].app })
        if let free = gates.table.all.first(where: { gates.table.apps[$0.index].isRemoved && !used.contains($0) }) {
            gates.table.apps[free.index] = app
            return (free, true)
        }
        gates.table.apps.append(app)
        return (AppID(gates.table.apps.count - 1), false)
    }

    /// From now on an app is another one under the same name. What waits for its old pools moves to the new ones. If it
    /// is paused, that is tried at once, also where nothing else changed: the reason may have been mended in the
    /// developer account.
    package mutating func change(_ slot: AppID, to app: PipelineApp, at now: Moment) {
        let old = gates.table.apps[slot.index].pools
        gates.table.change(slot, to: app)
        guard app.pools != old else { return probeSoon(slot, at: now) }
        takeBack(of: slot, .resend) { _ in true }
        // What was refused before may be good where the app goes now.
        for lane in AppLane.all {
            gates.table.apps[slot.index].lanes[lane.index].refusals.reset()
            if let probe = gates.table.apps[slot.index].lanes[lane.index].gate.pause?.probe {
                _ = gates.table.apps[slot.index].lanes[lane.index].gate.withdrawn(probe)
            }
        }
        probeSoon(slot, at: now)
    }

    /// An app is not configured any more. What is in flight ends as it ends; what waits ends now.
    package mutating func remove(_ slot: AppID, at now: Moment) {
        var waiting: [Handle] = []
        for lane in AppLane.all {
            while let handle = gates.table.apps[slot.index].lanes[lane.index].held.popFirst() { waiting.append(handle) }
        }
        takeBack(of: slot, .resend) { _ in true }
        gates.table.apps[slot.index].lanes = Array(repeating: AppLane(), count: AppLane.count)
        gates.table.apps[slot.index].isRemoved = true
        for handle in waiting { send(handle, at: now) }
    }

    /// Whether an answer blames what may be another thing by now: the credential, or the environment.
    func refusesWhatChanged(_ rule: ReplyRule, _ entry: InFlightNotification) -> Bool {
        switch rule.action {
        case .pauseApp, .pauseTopic, .reconnect, .renewToken, .keepToken: true
        case .doubtToken: !gates.table.apps[entry.app.index].isRemoved
        case .accept, .unregister, .reject, .resend, .retryLater: false
        }
    }

    /// Sends a notification again that its old pool can do nothing for, uncounted.
    mutating func resend(_ handle: Handle, _ entry: InFlightNotification, at now: Moment) {
        gates.withdrawn(handle, entry)
        send(handle, at: now)
    }

    mutating func finishRemoved(_ handle: Handle, _ entry: InFlightNotification) {
        let report = Report(
            outcome: .invalid, attempts: entry.attempts, processed: entry.processed,
            detail: "the app was removed from the configuration")
        finish(handle, report)
    }

    /// Whether a notification went to a pool that its app does not use any more: what that says about the credential is
    /// old, and where it was not processed, the next pool takes it.
    func isOutdated(_ entry: InFlightNotification) -> Bool {
        let app = gates.table.apps[entry.app.index]
        return app.isRemoved || app.pools.pool(for: entry.notification.target) != entry.pool
    }
}

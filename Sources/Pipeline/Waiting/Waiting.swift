import Core
import Logging

/// The apps and the gates of their lanes: which notifications are admitted or held, and when probes are sent.
package struct Waiting {
    package internal(set) var table: AppTable
    private let log: Logger
    /// When each lane is due for a check: held notifications or a probe may be sent.
    private var releases = DeadlineQueue<Place>()

    /// A lane of an app.
    struct Place {
        let app: AppID
        let lane: LaneID
    }

    /// The effect of a response on a gate.
    enum Change {
        case nothing
        /// The gate closes.
        case closed
        /// The pause restarts after a probe.
        case pausedAgain
        /// The gate opens again.
        case opened
    }

    init(_ table: AppTable, log: Logger) {
        self.table = table
        self.log = log
    }

    /// All paused apps and topics.
    package var paused: [PausedTopic] {
        table.apps.flatMap { app in
            AppLane.all.compactMap { id in
                let lane = app.lanes[id.index]
                return lane.gate.pause.map { pause in
                    PausedTopic(
                        app: app.name, topic: app.topic(ofLane: id), isForDevices: AppLane.isForDevices(id),
                        cause: pause.cause, since: pause.since, held: lane.held.count)
                }
            }
        }
    }

    // MARK: One notification

    /// The lane in which a notification has to wait; `nil` if the gates of its topic and of its app's credential admit
    /// it.
    mutating func admit(_ handle: Handle, _ entry: InFlightNotification, at now: Instant) -> LaneID? {
        guard table.apps[entry.app.index].lanes[entry.lane.index].gate.admits(at: now) else { return entry.lane }
        guard table.apps[entry.app.index].lanes[AppLane.credential.index].gate.admit(handle, at: now) else {
            return AppLane.credential
        }
        return table.apps[entry.app.index].lanes[entry.lane.index].gate.admit(handle, at: now) ? nil : entry.lane
    }

    /// Whether a notification tests if APNs still refuses the credential or the topic. An existing connection may be
    /// bound to their former state. Source: "Establishing a token-based connection to APNs".
    func isProbe(_ handle: Handle, _ entry: InFlightNotification) -> Bool {
        let lanes = table.apps[entry.app.index].lanes
        if lanes[AppLane.credential.index].gate.isProbe(handle) { return true }
        if case .topic = lanes[entry.lane.index].gate.pause?.cause {
            return lanes[entry.lane.index].gate.isProbe(handle)
        }
        return false
    }

    /// The lane in which a notification waits for its app; `nil` if it does not wait.
    func lane(holding handle: Handle, _ entry: InFlightNotification) -> LaneID? {
        [AppLane.credential, entry.lane].first { table.apps[entry.app.index].lanes[$0.index].held.contains(handle) }
    }

    /// A notification will not be sent.
    mutating func withdrawn(_ handle: Handle, _ entry: InFlightNotification) {
        withdrawn(handle, entry.app, AppLane.credential)
        withdrawn(handle, entry.app, entry.lane)
    }

    mutating func withdrawn(_ handle: Handle, _ app: AppID, _ lane: LaneID) {
        if table.apps[app.index].lanes[lane.index].gate.withdrawn(handle) { scheduleProbe(app, lane) }
    }

    /// A notification ended without a refusal.
    mutating func recordProof(
        _ handle: Handle, _ app: AppID, _ lane: LaneID, showing proof: ResponseProof, at now: Instant
    )
        -> Change
    {
        switch table.apps[app.index].lanes[lane.index].gate.ended(handle, showing: proof, at: now) {
        case .opens:
            resume(app, lane, at: now)
            return .opened
        case .repeatsPause:
            scheduleProbe(app, lane)
            return .pausedAgain
        case .nothing: return .nothing
        }
    }

    /// APNs refused a notification because of its credential, topic or environment.
    mutating func laneRefused(
        _ handle: Handle, _ app: AppID, _ lane: LaneID, _ cause: LaneGate.Cause, at now: Instant
    ) -> Change {
        switch table.apps[app.index].lanes[lane.index].gate.refused(handle, cause, at: now) {
        case .closes:
            closed(app, lane, cause)
            return .closed
        case .prolongs:
            scheduleProbe(app, lane)
            return .pausedAgain
        case .repeats: return .nothing
        }
    }

    // MARK: A whole lane

    /// APNs refuses the app, independent of a notification.
    mutating func close(_ app: AppID, _ cause: LaneGate.Cause, at now: Instant) {
        table.apps[app.index].lanes[AppLane.credential.index].gate.close(cause, at: now)
        closed(app, AppLane.credential, cause)
    }

    /// The cause of the credential's refusal no longer exists.
    mutating func open(_ app: AppID, at now: Instant) {
        table.apps[app.index].lanes[AppLane.credential.index].gate.open()
        resume(app, AppLane.credential, at: now)
    }

    /// The cause of refusals, such as a credential, may have changed: paused lanes send a probe now.
    ///
    /// - Returns: whether anything of the app is paused.
    mutating func probeSoon(_ app: AppID, at now: Instant) -> Bool {
        let paused = AppLane.all.filter { !table.apps[app.index].lanes[$0.index].gate.isOpen }
        for lane in paused {
            table.apps[app.index].lanes[lane.index].gate.probeSoon(at: now)
            scheduleProbe(app, lane)
        }
        return !paused.isEmpty
    }

    private mutating func closed(_ app: AppID, _ lane: LaneID, _ cause: LaneGate.Cause) {
        scheduleProbe(app, lane)
        let refused =
            switch cause {
            case .credential: "the credential of this app: the app"
            case .topic: "a topic of this app: the topic"
            case .deviceTokens: "device tokens of this topic (check the environment): the topic"
            }
        log.error(
            "APNs refuses \(refused) is paused, its requests wait, and one probe at a time is sent",
            metadata: pauseMetadata(app, lane, cause))
    }

    private mutating func resume(_ app: AppID, _ lane: LaneID, at now: Instant) {
        log.notice("APNs accepts this app again: it is resumed", metadata: pauseMetadata(app, lane, nil))
        table.apps[app.index].lanes[lane.index].refusals.reset()
        release(Place(app: app, lane: lane), at: now)
    }

    private mutating func scheduleProbe(_ app: AppID, _ lane: LaneID) {
        if let probe = table.apps[app.index].lanes[lane.index].gate.nextProbe {
            release(Place(app: app, lane: lane), at: probe)
        }
    }

    // MARK: Held notifications

    /// A notification is held.
    mutating func hold(_ handle: Handle, _ app: AppID, in lane: LaneID) {
        table.apps[app.index].lanes[lane.index].held.append(handle)
    }

    /// Removes the notifications that are held in a lane, except the oldest, which is the next probe.
    ///
    /// - Parameter isLong: whether a pause that began at this time is long.
    mutating func takeExcess(_ app: AppID, _ lane: LaneID, where isLong: (Instant) -> Bool) -> [Handle] {
        guard let pause = table.apps[app.index].lanes[lane.index].gate.pause, pause.probe == nil,
            table.apps[app.index].lanes[lane.index].held.count > 1,
            isLong(pause.since), let probe = table.apps[app.index].lanes[lane.index].held.popFirst()
        else { return [] }
        var excess: [Handle] = []
        while let handle = table.apps[app.index].lanes[lane.index].held.popFirst() { excess.append(handle) }
        table.apps[app.index].lanes[lane.index].held.append(probe)
        return excess
    }

    /// The next notification that a lane admits: any one if the gate is open, otherwise one as a probe.
    mutating func takeAdmitted(_ place: Place, at now: Instant) -> Handle? {
        guard table.apps[place.app.index].lanes[place.lane.index].gate.admits(at: now) else { return nil }
        return table.apps[place.app.index].lanes[place.lane.index].held.popFirst()
    }

    /// Schedules a check of a lane.
    mutating func release(_ place: Place, at time: Instant) {
        releases.insert(place, due: time)
    }

    mutating func popDue(at now: Instant) -> Place? {
        releases.earliest <= now ? releases.popFirst() : nil
    }

    /// ``Instant/distantFuture`` while no check is scheduled.
    var nextDeadline: Instant { releases.earliest }

    // MARK: Logging

    private func pauseMetadata(_ app: AppID, _ lane: LaneID, _ cause: LaneGate.Cause?) -> Logger.Metadata {
        var metadata = appMetadata(app, ["refused": "\(table.apps[app.index].topic(ofLane: lane))"])
        if let cause { metadata["cause"] = "\(cause)" }
        return metadata
    }

    func appMetadata(_ app: AppID, _ more: Logger.Metadata) -> Logger.Metadata {
        more.merging([
            "topic": "\(String(decoding: table.apps[app.index].topic, as: UTF8.self))",
            "environment": "\(table.apps[app.index].environment.rawValue)",
        ]) { first, _ in first }
    }
}

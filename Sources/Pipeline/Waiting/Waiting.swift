package import Core
import Logging

/// What waits in a worker for an app or for a connection: which notifications are admitted or held, and when probes are
/// sent.
///
/// A lane is open, or closed with at most one probe in flight. A notification passes three: that of its topic, that of
/// its app's credential, and that of its pool's connection. If one is closed, it waits there, and nowhere else.
package struct Waiting {
    package enum Place: Hashable {
        /// Of an app's credential, or of one of its topics.
        case app(AppID, LaneID)
        /// Of the connections of a pool.
        case pool(PoolID)
    }

    /// The requests of one app from one queue.
    private struct Share: Hashable {
        let app: AppID
        let queue: QueueID

        init(_ entry: InFlightNotification) {
            app = entry.app
            queue = entry.request.delivery.queue
        }
    }

    package internal(set) var table: AppTable
    /// By ``PoolID``.
    private var connections: [Lane] = []
    /// How many notifications of each request wait in closed lanes. A request counts for each of its apps.
    private var shares: [Share: [ObjectIdentifier: Int]] = [:]
    /// The same for all apps of a queue.
    private var sharesOfAll: [QueueID: [ObjectIdentifier: Int]] = [:]
    /// The number of notifications in closed lanes.
    private(set) var count = 0
    private let log: Logger
    /// When each lane is due for a check: held notifications or a probe may be sent.
    private(set) var releases = DeadlineQueue<Place>()
    /// Whether a credential was paused or resumed, or the apps have changed, since ``takePausedPools()``.
    var pausesHaveChanged = false

    init(_ table: AppTable, log: Logger) {
        self.table = table
        self.log = log
    }

    private subscript(place: Place) -> Lane {
        // Not `_read`: Swift 6.3.1, without optimizations, uses what it yields after it has freed it.
        get {
            switch place {
            case .app(let app, let lane): table.apps[app.index].lanes[lane.index]
            case .pool(let pool): pool.index < connections.count ? connections[pool.index] : Lane()
            }
        }
        _modify {
            switch place {
            case .app(let app, let lane): yield &table.apps[app.index].lanes[lane.index]
            case .pool(let pool):
                while connections.count <= pool.index { connections.append(Lane()) }
                yield &connections[pool.index]
            }
        }
    }

    /// Whether a lane is open. Unlike the subscript, whose accessor may allocate, it costs a message next to nothing.
    func isOpen(_ place: Place) -> Bool {
        switch place {
        case .app(let app, let lane): table.apps[app.index].lanes[lane.index].gate.isOpen
        case .pool(let pool): pool.index >= connections.count || connections[pool.index].gate.isOpen
        }
    }

    func pause(of place: Place) -> LaneGate.Pause? { self[place].gate.pause }

    package var paused: [PausedTopic] {
        table.apps.flatMap { app in
            Lane.all.compactMap { id in
                let lane = app.lanes[id.index]
                return lane.gate.pause.map { pause in
                    PausedTopic(
                        app: app.name, topic: app.topic(ofLane: id),
                        isForDevices: id == Lane.credential || Lane.devices.contains(id.index),
                        cause: pause.cause, since: pause.since, held: lane.held.count)
                }
            }
        }
    }

    /// The pools of which every app's credential is refused; `nil` if that has not changed.
    package mutating func takePausedPools() -> Set<PoolID>? {
        guard pausesHaveChanged else { return nil }
        pausesHaveChanged = false
        var paused: Set<PoolID> = []
        var used: Set<PoolID> = []
        for app in table.configured {
            let pools = table.apps[app.index].pools.all
            if isOpen(.app(app, Lane.credential)) { used.formUnion(pools) } else { paused.formUnion(pools) }
        }
        return paused.subtracting(used)
    }

    /// The number of notifications that wait for a connection of a pool, except its probe.
    package func heldCount(forConnectionOf pool: PoolID) -> Int { self[.pool(pool)].held.count }

    // MARK: One notification

    /// The closed lane in which a notification has to wait; `nil` if all of its lanes admit it.
    mutating func admit(_ handle: Handle, _ entry: InFlightNotification, at now: Instant) -> Place? {
        let (topic, credential) = (Place.app(entry.app, entry.lane), Place.app(entry.app, Lane.credential))
        let connection = Place.pool(entry.pool)
        if isOpen(topic), isOpen(connection), isOpen(credential) { return nil }
        guard self[topic].gate.admits(at: now) else { return topic }
        guard self[connection].gate.admits(at: now) else { return connection }
        guard self[credential].gate.admit(handle, at: now) else { return credential }
        _ = self[topic].gate.admit(handle, at: now)
        _ = self[connection].gate.admit(handle, at: now)
        return nil
    }

    /// Whether a notification tests if APNs still refuses the credential or the topic. An existing connection may be
    /// bound to their former state. Source: "Establishing a token-based connection to APNs".
    func isProbe(_ handle: Handle, _ entry: InFlightNotification) -> Bool {
        let lanes = table.apps[entry.app.index].lanes
        if lanes[Lane.credential.index].gate.isProbe(handle) { return true }
        if case .topic = lanes[entry.lane.index].gate.pause?.cause {
            return lanes[entry.lane.index].gate.isProbe(handle)
        }
        return false
    }

    /// A notification is not sent, or waits in a lane: it is no longer a probe.
    mutating func releaseProbes(_ handle: Handle, _ entry: InFlightNotification) {
        for place in [.app(entry.app, Lane.credential), .app(entry.app, entry.lane), Place.pool(entry.pool)] {
            releaseProbe(handle, of: place)
        }
    }

    mutating func releaseProbe(_ handle: Handle, of place: Place) {
        guard !isOpen(place), self[place].gate.isProbe(handle) else { return }
        self[place].gate.withdrawn(handle)
        scheduleProbe(place)
    }

    /// A notification ended without a refusal, which may open the lane.
    mutating func recordProof(_ handle: Handle, _ place: Place, showing proof: ResponseProof, at now: Instant) {
        guard !isOpen(place) else { return }
        self[place].gate.ended(handle, showing: proof, at: now)
        if isOpen(place) { resume(place, at: now) } else { scheduleProbe(place) }
    }

    /// APNs refused a notification because of its credential, topic or environment.
    ///
    /// - Returns: whether the lane closes.
    mutating func refused(_ handle: Handle, _ place: Place, _ cause: LaneGate.Cause, at now: Instant) -> Bool {
        guard !isOpen(place) else {
            close(place, cause, at: now)
            return true
        }
        self[place].gate.refused(handle, cause, at: now)
        scheduleProbe(place)
        return false
    }

    // MARK: A whole lane

    /// What a lane stands for is not usable.
    mutating func close(_ place: Place, _ cause: LaneGate.Cause, at now: Instant) {
        self[place].gate.close(cause, at: now)
        pausesHaveChanged = true
        scheduleProbe(place)
        guard case .app(let app, let lane) = place else { return }
        let refused =
            switch cause {
            case .credential, .unreachable: "the credential of this app: the app"
            case .topic: "a topic of this app: the topic"
            case .deviceTokens: "device tokens of this topic (check the environment): the topic"
            }
        log.error(
            "APNs refuses \(refused) is paused, its requests wait, and one probe at a time is sent",
            metadata: pauseMetadata(app, lane, cause))
    }

    /// The cause of a pause no longer exists.
    mutating func open(_ place: Place, at now: Instant) {
        guard !isOpen(place) else { return }
        self[place].gate.open()
        resume(place, at: now)
    }

    /// The cause of refusals, such as a credential, may have changed: paused lanes send a probe now.
    ///
    /// - Parameter doubtsTokens: whether refused device tokens pause a topic; if not, such a pause ends.
    /// - Returns: whether anything of the app was paused.
    mutating func probeSoon(_ app: AppID, doubtsTokens: Bool, at now: Instant) -> Bool {
        let paused = Lane.all.map { Place.app(app, $0) }.filter { !isOpen($0) }
        for place in paused {
            if !doubtsTokens, case .deviceTokens? = pause(of: place)?.cause {
                open(place, at: now)
            } else {
                self[place].gate.probeSoon(at: now)
                scheduleProbe(place)
            }
        }
        return !paused.isEmpty
    }

    /// Other pools may accept what APNs refused before: nothing in flight counts as a probe of the app.
    mutating func forgetProbes(_ app: AppID) {
        for lane in Lane.all {
            table.apps[app.index].lanes[lane.index].tokenRefusals.reset()
            let place = Place.app(app, lane)
            if let probe = self[place].gate.pause?.probe { self[place].gate.withdrawn(probe) }
        }
    }

    private mutating func resume(_ place: Place, at now: Instant) {
        pausesHaveChanged = true
        if case .app(let app, let lane) = place {
            let paused = lane == Lane.credential ? "app" : "topic"
            log.notice(
                "this \(paused) is no longer refused: it is resumed", metadata: pauseMetadata(app, lane, nil))
            table.apps[app.index].lanes[lane.index].tokenRefusals.reset()
        }
        release(place, at: now)
    }

    private mutating func scheduleProbe(_ place: Place) {
        if let probe = self[place].gate.nextProbe { release(place, at: probe) }
    }

    /// Whether a closed lane of an app is due for a probe and has no notification for it. Any notification of the app
    /// tests its credential.
    func lacksProbe(_ app: AppID, at now: Instant) -> Bool {
        let lacking = Lane.all.filter { table.apps[app.index].lanes[$0.index].held.isEmpty }
        let due = lacking.filter { self[.app(app, $0)].gate.nextProbe.map { $0 <= now } ?? false }
        guard !isOpen(.app(app, Lane.credential)) else { return !due.isEmpty }
        return lacking.count == Lane.count && due.contains(Lane.credential)
    }

    // MARK: Held notifications

    /// The notifications that wait in closed lanes of one app hold at most a tenth of the prefetch of their queue, and
    /// those of all such apps half of it, so that another app of the queue is served.
    private static let (appDivisor, allAppsDivisor) = (10, 2)

    /// Whether the requests of a notification's app and queue exceed their share of the prefetch.
    func exceedsShare(_ entry: InFlightNotification, _ queues: [PipelineQueue]) -> Bool {
        let share = Share(entry)
        let prefetch = Int(queues[share.queue.index].prefetch)
        return (shares[share]?.count ?? 0) > max(1, prefetch / Self.appDivisor)
            || (sharesOfAll[share.queue]?.count ?? 0) > max(1, prefetch / Self.allAppsDivisor)
    }

    mutating func hold(_ handle: Handle, _ entry: InFlightNotification, in place: Place) {
        self[place].held.append(handle)
        entry.place = .lane(place)
        add(1, entry)
    }

    mutating func remove(_ handle: Handle, _ entry: InFlightNotification, from place: Place) {
        self[place].held.remove(handle)
        entry.place = .none
        add(-1, entry)
    }

    private mutating func add(_ change: Int, _ entry: InFlightNotification) {
        func add(to held: inout Int?) {
            let sum = (held ?? 0) + change
            held = sum > 0 ? sum : nil
        }
        count += change
        let (share, request) = (Share(entry), ObjectIdentifier(entry.request))
        add(to: &shares[share, default: [:]][request])
        add(to: &sharesOfAll[share.queue, default: [:]][request])
    }

    /// The next notification that a lane admits: any one if the gate is open, otherwise one as a probe.
    func nextAdmitted(_ place: Place, at now: Instant) -> Handle? {
        self[place].gate.admits(at: now) ? self[place].held.first : nil
    }

    mutating func release(_ place: Place, at time: Instant) {
        releases.insert(place, due: time)
    }

    mutating func popDue(at now: Instant) -> Place? {
        releases.earliest <= now ? releases.popFirst() : nil
    }

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

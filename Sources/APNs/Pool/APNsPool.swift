package import Core
import DequeModule
package import TLS

/// One worker's connections to APNs under one credential, and the requests that wait for them.
///
/// Every request that was submitted ends in exactly one event or in ``cancel(_:handle:)``; between, it waits or is in
/// flight. A request on which APNs has certainly not worked goes back to the head of the line and out again, without
/// the owner hearing of it; whatever else becomes of a request is the owner's to judge.
///
/// The owner calls ``step(at:)`` at the end of each turn and when ``nextDeadline`` has passed. The deadlines of the
/// connections themselves belong to the network.
package final class APNsPool {
    /// The limits and waiting times of a pool.
    ///
    /// It is flat because each property is one setting or one limit, and most callers change only one of them.
    package struct Configuration {
        /// The endpoint, the limits and the kind of credential of each connection.
        package var engine: APNsEngine.Configuration
        /// The pool keeps at least so many connections, and opens more, up to the upper bound, when requests wait.
        package var connections = 1...8
        /// Each connection's token bucket.
        package var permitsPerSecond = 4000
        package var burst = 500
        package var connectTimeout = Duration.seconds(10)
        package var maximumConnectsPerMinute = 30
        package var backoff = Backoff(base: .milliseconds(500), limit: .seconds(30))
        /// After so many failures in a row every attempt keeps the backoff's longest distance from the one before.
        package var breakerThreshold = 10
        /// How long a new connection's first request may be unanswered before the pool grows all the same.
        package var warmUpTime = Duration.seconds(2)
        /// How long nothing may have waited, and half of the connections' room been unused, before one of them is
        /// retired.
        package var surplusTime = Duration.seconds(600)
        /// A connection whose stream limit fell to the highest that it had divided by this, or below, is replaced.
        package var streamCutDivisor = 4
        /// How long a fallen stream limit may hold requests back before the connection is replaced.
        package var streamCutPatience = Duration.seconds(1)
        /// How much slower a connection sends while APNs refuses too much of what it sends; `nil` for never.
        package var errorBrake: ErrorBrake.Limits? = ErrorBrake.Limits()
        /// How long a device is left alone after APNs was asked for it too often.
        package var deviceSpacing = Duration.seconds(1)
        /// How many devices are left alone at once; beyond that the one that has been for longest is let go.
        package var maximumSpacedDevices = 10_000
        /// How many requests wait for one device that is left alone; what comes beyond that is given back.
        package var maximumWaitingPerDevice = 60
        /// How often a request is sent again, although it was certainly not processed, before the owner hears of it.
        package var maximumResends = 16
        /// How many answers in a row may be `InternalServerError` before another connection takes the place of the one
        /// that brings them.
        package var maximumServerErrors = 5

        package init(engine: APNsEngine.Configuration) {
            self.engine = engine
        }
    }

    package enum Event: Sendable {
        case replied(handle: Handle, APNsReply, sentAt: Instant)
        case lost(handle: Handle, Loss, sentAt: Instant?)
        /// Its `apns-expiration` passed while it waited in the line.
        case expired(handle: Handle)
        case connected
        /// `nil` when the connection ended in order by our wish.
        case disconnected(APNsError?)
        case goaway(reason: String)
        /// Something that an operator should know, told once and not for each request that meets it.
        case alarm(Alarm)
    }

    package enum Alarm: Equatable, Sendable {
        /// `ExpiredProviderToken` for a token that was just signed: a clock is wrong, ours or theirs.
        case clockSkew
        /// `TooManyProviderTokenUpdates`: another process signs tokens with the same key.
        ///
        /// - keepsOlder: whether the token before is still good, and is sent instead.
        case tooManyTokenUpdates(keepsOlder: Bool)
        /// `MissingProviderToken`, although every request has one: a defect of this program.
        case missingToken
        /// So many connects in a row have led to nothing: attempts become rare until one succeeds.
        case unreachable(failures: Int)
        /// A connection is of use again after ``unreachable(failures:)``.
        case reachable
        /// APNs allows far fewer streams on a connection than before: another one takes its place if requests wait.
        case streamsCut(from: Int, to: Int)
        /// Nothing but `InternalServerError` comes from a connection: another one takes its place.
        case serverErrors
        /// Nothing was answered on a connection for as long as a request may take: another one takes its place.
        case silent
    }

    /// A request that has not ended. An object, because requests are large and are looked up several times each.
    final class Entry {
        let request: APNsRequest
        var sentAt: Instant?
        var tokenGeneration: UInt32 = 0
        var resends = 0
        /// Whether it has waited for its device.
        var wasSpaced = false
        /// What was tried already after its provider token was refused; each is tried once.
        var recovery = Recovery()
        /// Whether connections that may be bound to what was refused are no good for it.
        var needsFreshConnection: Bool {
            isProbe || recovery.hadFreshConnection
        }
        /// Whether it is to find out what a connection is told that is bound now.
        let isProbe: Bool

        init(request: APNsRequest, isProbe: Bool) {
            self.request = request
            self.isProbe = isProbe
        }
    }

    /// What a request lacks that waits and that no connection can take now.
    enum Shortage {
        case permits
        /// A connection, a stream, or room in the window.
        case other
    }

    /// When the pool has something to do.
    struct Schedule {
        /// Called when ``APNsPool/step(at:)`` becomes due at once.
        var onDue: (() -> Void)?
        var isStepDue = true
        /// When ``APNsPool/step(at:)`` is due although nothing happens; `nil` for never.
        var deadline: Instant?
        /// The next time to remove expired requests from those that wait.
        var nextSweep = Instant.distantPast
    }

    package let configuration: Configuration
    let tokens: ProviderTokenSource?
    var connector: Connector
    var connections: [PoolConnection] = []
    /// By the owner's handles.
    var entries: [Handle: Entry] = [:]
    var waiting: WaitingRequests
    var refusals = Refusals()
    var placement = Placement()
    var surplus: SurplusWatch
    var events = Deque<Event>()
    var counters = PoolCounters()
    var lastGoaway: PoolPicture.Goaway?
    /// `nil` if nothing waits that no connection can take now.
    var shortage: Shortage?
    var schedule = Schedule()
    package private(set) var isDraining = false

    /// Called when ``step(at:)`` becomes due at once, so that the owner need not ask in every turn.
    package var onDue: (() -> Void)? {
        get { schedule.onDue }
        set { schedule.onDue = newValue }
    }

    /// When ``step(at:)`` is due: long past if at once, `nil` until something happens.
    package var nextDeadline: Instant? { schedule.isStepDue ? .distantPast : schedule.deadline }

    /// - Parameters:
    ///   - context: a client's, with `h2` as its protocol, and the provider's certificate if that is the credential.
    ///   - tokens: the credential, where the engine's configuration says that it is a provider token.
    ///   - random: for the jitter of connects.
    package init(
        configuration: Configuration, context: TLSContext, tokens: ProviderTokenSource?, network: any Network,
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(), at now: Instant
    ) {
        precondition(configuration.connections.lowerBound >= 0 && configuration.connections.upperBound >= 1)
        precondition((tokens != nil) == configuration.engine.usesProviderToken, "one credential per pool")
        self.configuration = configuration
        self.tokens = tokens
        let spacing = DeviceSpacing(
            interval: configuration.deviceSpacing, maximumDevices: configuration.maximumSpacedDevices,
            maximumWaiting: configuration.maximumWaitingPerDevice)
        waiting = WaitingRequests(spacing: spacing)
        let dialer = Dialer(
            maximumPerMinute: configuration.maximumConnectsPerMinute, backoff: configuration.backoff,
            breakerThreshold: configuration.breakerThreshold,
            toleratedFarewells: configuration.connections.upperBound)
        connector = Connector(dialer, context: context, network: network, random: random)
        surplus = SurplusWatch(period: configuration.surplusTime, at: now)
    }

    // MARK: Requests

    /// Puts a request into the line, behind those of its rank. Its owner bounds the line's length.
    ///
    /// - Parameters:
    ///   - handle: the owner's small, reused number for the request; no other request has it until this one's event was
    ///     taken or ``cancel(_:)`` took the request back.
    ///   - isProbe: whether it goes out on a fresh connection instead, because those that there are may be bound to
    ///     what is refused. If it is accepted there, the older ones are replaced.
    package func submit(_ request: consuming APNsRequest, handle: Handle, isProbe: Bool = false, at now: Instant) {
        precondition(!isDraining, "a pool that drains takes no more requests")
        let rank = request.rank
        let former = entries.updateValue(Entry(request: request, isProbe: isProbe), forKey: handle)
        precondition(former == nil, "a handle names one request at a time")
        if isProbe {
            wantFreshConnection()
            waiting.rebinding.append(handle)
        } else {
            waiting.line.append(handle, rank: rank)
        }
        counters[.submitted] += 1
        becomeDue()
    }

    /// Takes a request out of the line; it has no event.
    ///
    /// - Returns: `false` when it is in flight, or has ended: its event will come.
    package func cancel(_ handle: Handle) -> Bool {
        guard let entry = entries[handle], leaveLine(handle, entry) else { return false }
        entries[handle] = nil
        counters[.finished] += 1
        return true
    }

    /// - Returns: `false` if it does not wait.
    @discardableResult
    func leaveLine(_ handle: Handle, _ entry: Entry) -> Bool {
        waiting.remove(handle, for: entry.request.target)
    }

    package func nextEvent() -> Event? {
        events.popFirst()
    }

    /// Whether ``nextEvent()`` has something to tell.
    package var hasEvents: Bool { !events.isEmpty }

    /// Requests in the line.
    package var waitingCount: Int {
        waiting.count
    }

    /// Whether a connection takes requests.
    package var isConnected: Bool {
        connections.contains(where: \.isReady)
    }

    /// Requests that were sent and have no end yet.
    package var inFlight: Int {
        entries.count - waitingCount
    }

    // MARK: The end

    /// Gives back everything that waits as lost (not processed), lets what is in flight end, then closes.
    package func drain(at now: Instant) {
        guard !isDraining else { return }
        isDraining = true
        waiting.stopSpacing()
        while let handle = waiting.rebinding.popFirst() ?? waiting.line.popFirst() {
            lose(handle, Loss(processed: .no, detail: "the worker is stopping"))
        }
        for connection in connections { retire(connection, at: now) }
        becomeDue()
    }

    /// A request that has not ended.
    func entry(_ handle: Handle) -> Entry {
        guard let entry = entries[handle] else { preconditionFailure("a request has an entry until it ends") }
        return entry
    }

    /// The request has ended.
    func end(_ handle: Handle) -> Entry {
        guard let entry = entries.removeValue(forKey: handle) else { preconditionFailure("a request ends once") }
        counters[.finished] += 1
        return entry
    }

    /// Whether nothing is left after ``drain(at:)``.
    package var isDrained: Bool {
        isDraining && connections.isEmpty && entries.count == 0
    }

    package func statistics(at now: Instant) -> PoolStatistics {
        var statistics = PoolStatistics(
            spacedDevices: waiting.spacing.count, waiting: waitingCount, counters: counters)
        for connection in connections {
            let engine = connection.engine
            statistics.counters.add(engine.encounters)
            statistics.streams += engine.inFlight
            switch engine.phase {
            case .connecting, .handshaking: statistics.connecting += 1
            case .draining: statistics.draining += 1
            case .closed: break
            case .ready:
                statistics.ready += 1
                if !engine.awaitsAuthentication { statistics.authenticated += 1 }
                statistics.maximumConcurrentStreams += engine.maximumConcurrentStreams
                statistics.permits += connection.limiter.available(at: now)
                statistics.window += max(0, engine.window)
                if let brake = connection.brake, brake.divisor > 1 { statistics.braked += 1 }
            }
        }
        return statistics
    }
}

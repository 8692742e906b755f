package import Core
import DequeModule
package import TLS

/// One worker's connections to APNs with one credential, and their waiting requests.
///
/// Every submitted request ends in exactly one event or in ``cancel(_:)``; until then it waits or is in flight. A
/// request that APNs certainly did not process returns to the queue, twice to its head, and is sent again without the
/// owner's involvement. The owner handles every other result.
///
/// The owner calls ``step(at:)`` at the end of each turn and when ``nextDeadline`` has passed. The network handles the
/// deadlines of the connections.
package struct APNsPool: ~Copyable {
    /// The limits and waiting times of a pool.
    ///
    /// It is flat because each property is one setting or one limit, and most callers change only one of them.
    package struct Configuration {
        /// For name resolution and TCP.
        package static let connectTimeout = Duration.seconds(15)

        /// The endpoint, limits and credential type of each connection.
        package var engine: APNsEngine.Configuration
        /// `nil` for direct connections.
        package var proxy: ProxyAddress?
        /// The minimum and maximum number of connections. The pool opens more than the minimum only when requests
        /// wait.
        package var connections: ClosedRange<Int>
        /// Each connection's token bucket.
        package var permitsPerSecond: Int
        package var burst: Int
        /// Apple treats rapid reconnects as an attack.
        package var maximumConnectsPerMinute = 30
        package var backoff = Backoff(base: .milliseconds(500), limit: .seconds(30))
        /// How long a new connection's first request may be unanswered before the pool grows anyway.
        package var warmUpTime = Duration.seconds(2)
        /// A connection is retired when, for this long, no request waited and half of the capacity was unused.
        package var surplusTime = Duration.seconds(600)
        /// A connection is replaced when its stream limit falls to its peak divided by this, or lower.
        package var streamCutDivisor = 4
        /// How long a reduced stream limit may delay requests before the connection is replaced.
        package var streamCutTimeout = Duration.seconds(1)
        /// How often a request that was certainly not processed is resent before the owner receives it.
        package var maximumResends = 16
        /// The number of consecutive `InternalServerError` responses after which a connection is replaced.
        package var maximumServerErrors = 5

        package init(
            engine: APNsEngine.Configuration, connections: ClosedRange<Int>, permitsPerSecond: Int, burst: Int
        ) {
            (self.engine, self.connections) = (engine, connections)
            (self.permitsPerSecond, self.burst) = (permitsPerSecond, burst)
        }
    }

    package enum Event: Sendable {
        /// `sentAt` is `nil` if the attempt was already reported as ``resent(handle:_:sentAt:endedAt:)``.
        case responded(handle: Handle, APNsResponse, sentAt: Instant?)
        case lost(handle: Handle, Loss, sentAt: Instant?)
        /// An attempt failed, and the request is sent again: for traces.
        case resent(handle: Handle, AttemptEnd, sentAt: Instant, endedAt: Instant)
        /// Its `apns-expiration` passed while it waited.
        case expired(handle: Handle)
        case connected
        /// `nil` when we closed the connection in order.
        case disconnected(APNsError?)
        case goaway(reason: String)
        /// A condition for operators, reported once and not per request.
        case alarm(Alarm)
    }

    package enum AttemptEnd: Equatable, Sendable {
        case responded(APNsResponse)
        case lost(Loss)
    }

    /// Its ``description`` says what it means.
    package enum Alarm: Equatable, Sendable {
        /// `ExpiredProviderToken` for a token that was just signed.
        case clockSkew
        /// - keepsOlder: whether the previous token is still valid.
        case tooManyTokenUpdates(keepsOlder: Bool)
        case missingToken
        case unreachable(failures: Int)
        /// A connection works again after ``unreachable(failures:)``.
        case reachable
        /// The connection is replaced if requests wait.
        case streamsCut(from: Int, to: Int)
        case serverErrors
        /// Nothing was answered for a full request timeout.
        case silent
    }

    /// The resource that a waiting request lacks on all connections.
    enum Shortage {
        case permits
        /// A connection, a stream, or room in the window.
        case other
    }

    package let configuration: Configuration
    let tokens: ProviderTokenSource?
    let context: TLSContext
    let network: any Network
    var dialer: Dialer
    var random: any RandomNumberGenerator
    /// Whether the limit of connects per minute was already counted as reached.
    var isCapped = false
    /// Whether the circuit breaker was open at the end of the last step.
    var isBreakerOpen = false
    /// The number of the next connection. Serial numbers follow the order of the attempts.
    var nextSerial: UInt32 = 0
    /// The rate divisor of the connection that ended last. The next one starts with it while no other is open.
    var lastDivisor = 1
    var connections: [PoolConnection] = []
    /// Requests that have not ended, by the owner's handles.
    var requests = Slab<APNsRequest>(givesHandles: false)
    var waiting = WaitingRequests()
    /// The first connection that counts as fresh after a provider token was refused.
    var freshSerial: UInt32 = 0
    /// A fresh connection has also refused a provider token, so requests from older ones need no fresh connection.
    /// Valid until APNs accepts a provider token.
    var verdict: (refusal: TokenRefusal, serial: UInt32)?
    var placement = Placement()
    var surplus: PoolShrinkPolicy
    var events = Deque<Event>()
    var counters = PoolCounters()
    var lastGoaway: PoolStatistics.Goaway?
    /// Why the pool has no connection; `nil` while it has one, and before the first failure.
    package internal(set) var outage: Outage?
    /// `nil` if no request waits for a connection.
    var shortage: Shortage?
    var isStepDue = true
    /// When ``step(at:)`` is due without an event; `nil` for never.
    var stepDeadline: Instant?
    /// The next time to remove expired requests from the queue.
    var nextSweep = Instant.distantPast
    package private(set) var isDraining = false
    /// Whether APNs refuses the credential for every app of the pool: only a probe opens a connection.
    package var isPaused = false {
        didSet { if isPaused != oldValue { becomeDue() } }
    }
    var minimumConnections: Int { isPaused ? 0 : configuration.connections.lowerBound }

    /// For the owner, when ``step(at:)`` becomes due immediately, so that it need not poll. Connections use it as well.
    package var waker: Waker?

    /// When ``step(at:)`` is due: in the past if immediately, `nil` if only after an event.
    package var nextDeadline: Instant? {
        isStepDue || connections.contains { !$0.engine.events.isEmpty } ? .distantPast : stepDeadline
    }

    /// - Parameters:
    ///   - context: a client context with `h2` as its protocol, and the provider's certificate if that is the
    ///     credential.
    ///   - tokens: required if the engine's configuration uses provider tokens.
    ///   - random: for the jitter of connects.
    package init(
        configuration: Configuration, context: TLSContext, tokens: ProviderTokenSource?, network: any Network,
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(), at now: Instant
    ) {
        precondition(configuration.connections.lowerBound >= 0 && configuration.connections.upperBound >= 1)
        precondition((tokens != nil) == configuration.engine.usesProviderToken, "one credential per pool")
        self.configuration = configuration
        self.tokens = tokens
        self.context = context
        self.network = network
        self.random = random
        dialer = Dialer(
            maximumPerMinute: configuration.maximumConnectsPerMinute, backoff: configuration.backoff,
            toleratedEarlyCloses: configuration.connections.upperBound)
        surplus = PoolShrinkPolicy(period: configuration.surplusTime, at: now)
    }

    // MARK: Requests

    /// Queues a request behind those of its rank. The owner limits the queue's length.
    ///
    /// - Parameters:
    ///   - handle: the owner's small, reusable number for the request. It is in use until the request's event was
    ///     taken or ``cancel(_:)`` removed it.
    ///   - isProbe: whether to send it on a fresh connection, because the existing ones may be bound to what is
    ///     refused. If APNs accepts it there, the older connections are replaced.
    package mutating func submit(
        _ request: consuming APNsRequest, handle: Handle, isProbe: Bool = false, at now: Instant
    ) {
        precondition(!isDraining, "a draining pool must not receive requests")
        let rank = request.rank
        request.submission = APNsRequest.Submission(isProbe: isProbe)
        requests.insert(request, at: handle)
        if isProbe {
            wantFreshConnection()
            waiting.rebinding.append(handle)
        } else {
            waiting.queue.append(handle, rank: rank)
        }
        counters[.submitted] += 1
        becomeDue()
    }

    /// Removes a request from the queue without an event.
    ///
    /// - Returns: `false` when it is in flight or has ended: its event will follow.
    package mutating func cancel(_ handle: Handle) -> Bool {
        guard requests.contains(handle), waiting.remove(handle) else { return false }
        if requests.remove(handle).submission.wasResent {
            // The owner may use the handle for another request at once.
            events.removeAll { if case .resent(handle, _, _, _) = $0 { true } else { false } }
        }
        return true
    }

    package mutating func nextEvent() -> Event? {
        events.popFirst()
    }

    package var hasEvents: Bool { !events.isEmpty }

    package var waitingCount: Int {
        waiting.count
    }

    /// Whether a connection accepts requests.
    package var isConnected: Bool {
        connections.contains(where: \.isReady)
    }

    /// Whether a connection accepts requests, or none is wanted now.
    package var isUsable: Bool {
        isConnected || (minimumConnections == 0 && requests.count == 0)
    }

    package var inFlight: Int {
        requests.count - waitingCount
    }

    // MARK: Draining

    /// Returns all waiting requests as lost (not processed), waits for those in flight, then closes.
    package mutating func drain(at now: Instant) {
        guard !isDraining else { return }
        isDraining = true
        while let handle = waiting.rebinding.popFirst() ?? waiting.queue.popFirst() {
            lose(handle, Loss(processed: .no, detail: "the worker is stopping"))
        }
        for connection in connections { retire(connection, at: now) }
        becomeDue()
    }

    /// Whether ``drain(at:)`` has finished and the owner has taken every event.
    package var isDrained: Bool {
        isDraining && connections.isEmpty && requests.count == 0 && events.isEmpty
    }
}

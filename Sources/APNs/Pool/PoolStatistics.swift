package import Core

/// A pool and its connections at one moment, for metrics and the dashboard. Created only on request.
package struct PoolStatistics: Sendable {
    package struct Connection: Sendable {
        package let serial: UInt32
        package let phase: APNsConnectionMachine.Phase
        /// Whether APNs has accepted the credential on it.
        package let isAuthenticated: Bool
        /// Requests in flight.
        package let streams: Int
        /// The current stream limit; 0 before it is ready.
        package let maximumStreams: Int
        package let permits: Int
        package let burst: Int
        /// Permits per second: fewer than configured while too many requests are refused.
        package let permitsPerSecond: Int
        package let isBraked: Bool
        /// The time since it became ready.
        package let age: Duration?
        /// APNs' GOAWAY, if it has sent one.
        package let goaway: String?
    }

    package struct Goaway: Sendable {
        /// Its reason, otherwise the name of HTTP/2's code.
        package let reason: String
        package let at: Instant
    }

    package let connections: [Connection]
    /// The newest GOAWAY on any of the pool's connections; most of these close soon afterwards.
    package let lastGoaway: Goaway?
    package var waiting: Int
    package fileprivate(set) var counters: PoolCounters

    private var readyConnections: [Connection] { connections.filter { $0.phase == .ready } }
    package var ready: Int { readyConnections.count }
    package var connecting: Int { connections.count { $0.phase < .ready } }
    package var draining: Int { connections.count { $0.phase == .draining } }
    /// Ready connections on which APNs has accepted the credential.
    package var authenticated: Int { readyConnections.count(where: \.isAuthenticated) }
    /// Ready connections with a reduced send rate, because too many of their requests are refused.
    package var braked: Int { readyConnections.count(where: \.isBraked) }
    package var streams: Int { connections.reduce(0) { $0 + $1.streams } }
    package var maximumConcurrentStreams: Int { readyConnections.reduce(0) { $0 + $1.maximumStreams } }
    package var permits: Int { readyConnections.reduce(0) { $0 + $1.permits } }
}

extension APNsPool {
    package func statistics(at now: Instant) -> PoolStatistics {
        var statistics = PoolStatistics(
            connections: connections.map { $0.statistics(at: now) }, lastGoaway: lastGoaway, waiting: waitingCount,
            counters: counters)
        for connection in connections { statistics.counters.add(connection.engine.counters) }
        return statistics
    }
}

extension PoolConnection {
    fileprivate func statistics(at now: Instant) -> PoolStatistics.Connection {
        PoolStatistics.Connection(
            serial: serial, phase: engine.phase, isAuthenticated: isReady && engine.isAuthenticated,
            streams: engine.inFlight, maximumStreams: trial.readyAt == nil ? 0 : engine.maximumConcurrentStreams,
            permits: limiter.available(at: now), burst: limiter.burst, permitsPerSecond: limiter.perSecond,
            isBraked: brake.divisor > 1, age: trial.readyAt.map { now - $0 }, goaway: engine.goaway?.text)
    }
}

/// A pool's counters since its start, including how often it hit each limit.
package struct PoolCounters: Sendable {
    package enum Name: Int, CaseIterable, Sendable {
        case submitted
        case connects
        /// Connections that ended before they were useful.
        case failures
        /// Requests resent because APNs had certainly not processed them.
        case resends
        /// Requests resent with another provider token.
        case renewals
        /// Requests resent on a fresh connection, because their own refused its provider token.
        case rebinds

        // MARK: Limits

        /// Turns that ended with requests waiting for a connection, by the resource that all connections lacked.
        case turnsWithoutConnection
        case turnsWithoutStream
        case turnsWithoutPermit
        case turnsWithoutWindow
        /// Turns that ended with requests waiting for another connection while the pool had its maximum.
        case turnsAtMaximumConnections
        /// Connects that were delayed by the limit per minute.
        case connectCapHits
        /// How often the circuit breaker opened after consecutive failed connects.
        case breakerOpenings
        /// Connections that counted as failed connects because too many in a row ended early.
        case earlyEnds
        /// New connections whose first request was not answered in time, so that the pool grew anyway.
        case warmUpTimeouts
        /// Connections replaced because they returned only `InternalServerError`.
        case serverErrorLimitHits
        /// Connections replaced because they were alive but answered nothing for a full request timeout.
        case silentConnections
        /// Unprocessed requests returned to the owner because they had been resent too often.
        case resendLimitHits
        /// Refused provider tokens whose request had exhausted all recoveries.
        case recoveryLimitHits
        /// Requests that were not answered in time.
        case requestTimeouts
        /// Responses whose body was truncated.
        case responseBodyLimitHits
        /// PINGs after a silence: with requests in flight, and without.
        case stallPings
        case idlePings

        /// The value of the label `limit` in metrics; `nil` for a counter that is not a limit.
        package var limit: String? {
            switch self {
            case .turnsWithoutConnection: "no_connection"
            case .turnsWithoutStream: "no_stream"
            case .turnsWithoutPermit: "no_permit"
            case .turnsWithoutWindow: "no_window"
            case .turnsAtMaximumConnections: "connections"
            case .connectCapHits: "connects_per_minute"
            case .breakerOpenings: "breaker"
            case .earlyEnds: "early_ends"
            case .warmUpTimeouts: "warm_up"
            case .serverErrorLimitHits: "server_errors"
            case .silentConnections: "silent_connection"
            case .resendLimitHits: "resends"
            case .recoveryLimitHits: "recovery"
            case .requestTimeouts: "request_timeout"
            case .responseBodyLimitHits: "reply_body"
            case .stallPings: "stall"
            default: nil
            }
        }
    }

    private var counts = Array(repeating: 0, count: Name.allCases.count)

    package internal(set) subscript(name: Name) -> Int {
        get { counts[name.rawValue] }
        set { counts[name.rawValue] = newValue }
    }

    /// Ended connections by ``APNsError/Code``, such as `handshakeTimeout`, `stalled`, `drainDeadline`; `none` for an
    /// orderly close.
    package private(set) var disconnects: [String: Int] = [:]

    mutating func count(disconnect error: APNsError?) {
        disconnects[error?.code.rawValue ?? "none", default: 0] += 1
    }

    /// GOAWAYs by reason, otherwise by the name of HTTP/2's code.
    package private(set) var goaways: [String: Int] = [:]

    /// APNs documents about twenty. The limit keeps a peer that invents reasons from exhausting memory.
    static let maximumGoawayReasons = 40

    package init() {}

    package mutating func add(_ other: PoolCounters) {
        for index in counts.indices { counts[index] += other.counts[index] }
        disconnects.merge(other.disconnects, uniquingKeysWith: +)
        for (reason, count) in other.goaways { self.count(goaway: reason, times: count) }
    }

    mutating func count(goaway reason: String, times count: Int = 1) {
        let isKnown = goaways[reason] != nil || goaways.count < Self.maximumGoawayReasons
        goaways[isKnown ? reason : "other", default: 0] += count
    }
}

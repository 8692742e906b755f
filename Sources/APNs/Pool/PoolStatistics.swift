import Core

/// A pool in numbers, for metrics and the dashboard.
package struct PoolStatistics: Sendable {
    package var connecting = 0
    package var ready = 0
    /// Ready connections on which APNs has taken the credential already.
    package var authenticated = 0
    package var draining = 0
    /// Requests that wait for their answers.
    package var streams = 0
    /// Streams that APNs allows at once, over all ready connections.
    package var maximumConcurrentStreams = 0
    /// Permits in the buckets of all ready connections.
    package var permits = 0
    /// Bytes of payload that APNs takes at the moment, over all ready connections.
    package var window = 0
    /// Ready connections that send slower than permitted, because too much is refused on them.
    package var braked = 0
    /// Devices that are left alone for a while, because APNs was asked for them too often.
    package var spacedDevices = 0
    package var waiting = 0
    package var counters = PoolCounters()
}

/// What a pool has done since it began, and how often it met each of its limits.
package struct PoolCounters: Sendable {
    package enum Name: Int, CaseIterable, Sendable {
        case submitted
        /// Replied, lost or cancelled.
        case finished
        /// Connects attempted.
        case connects
        /// Connections that ended before they had been of any use.
        case failures
        /// Requests sent again because APNs had certainly not worked on them.
        case resends
        /// Requests sent again with another provider token.
        case renewals
        /// Requests sent again on a fresh connection, because theirs refused its provider token.
        case rebinds
        /// Connections replaced because of what APNs answered on them.
        case replaced
        /// How often a connection began to send slower, or slower still, because too much was refused on it.
        case brakes
        /// Requests that had to wait because their device is left alone.
        case spaced
        /// Connections on which APNs cut the number of streams to a fraction.
        case streamCuts
        /// Connections retired because the others have room enough.
        case shrinks

        // MARK: Limits that were met

        /// Turns at whose end something waited that no connection could take, by what all of them lacked.
        case turnsWithoutConnection
        case turnsWithoutStream
        case turnsWithoutPermit
        case turnsWithoutWindow
        /// Turns at whose end something waited for another connection and the pool had as many as it may.
        case turnsAtMaximumConnections
        /// Connects that had to wait because those of the last minute were used up.
        case connectCapHits
        /// How often so many connects had failed in a row that attempts became rare.
        case breakerOpenings
        /// Connections that APNs ended so early, so many in a row, that they counted as failed connects.
        case earlyEnds
        /// New connections whose first request was not answered in time, so that the pool grew all the same.
        case warmUpTimeouts
        /// Connections replaced because they brought nothing but `InternalServerError`.
        case serverErrorLimitHits
        /// Connections replaced because they were alive and answered nothing for as long as a request may take.
        case silentConnections
        /// Requests given back although they were not processed, because they had been sent again too often.
        case resendLimitHits
        /// Refused provider tokens for whose request everything had been tried.
        case recoveryLimitHits
        /// Devices that were let go before their time, because too many were left alone.
        case spacedDeviceLimitHits
        /// Requests given back because too many waited for their device already.
        case crowdedDevices
        /// Requests that were not answered in time.
        case requestTimeouts
        /// Answers with a body of which only a part was kept.
        case replyBodyLimitHits
        /// PINGs after a silence while requests were open, and while none was.
        case stallPings
        case idlePings

        /// The value of the label `limit` in metrics; `nil` for a counter that counts no limit.
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
            case .spacedDeviceLimitHits: "spaced_devices"
            case .crowdedDevices: "crowded_device"
            case .requestTimeouts: "request_timeout"
            case .replyBodyLimitHits: "reply_body"
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

    /// Connections that ended, by ``APNsError/Code``, such as `handshakeTimeout`, `stalled`, `drainDeadline`; in order
    /// it is `none`.
    package private(set) var disconnects: [String: Int] = [:]

    mutating func count(disconnect error: APNsError?) {
        disconnects[error?.code.rawValue ?? "none", default: 0] += 1
    }

    mutating func add(_ encounters: APNsEngine.Encounters) {
        self[.requestTimeouts] += encounters.requestTimeouts
        self[.replyBodyLimitHits] += encounters.replyBodyLimitHits
        self[.stallPings] += encounters.stallPings
        self[.idlePings] += encounters.idlePings
    }

    // MARK: GOAWAY

    /// GOAWAYs by reason, else by the name of HTTP/2's code.
    package private(set) var goaways: [String: Int] = [:]

    /// APNs documents about twenty; a peer that invents more of them does not fill the memory.
    static let maximumGoawayReasons = 40

    package init() {}

    /// Adds what another pool has done.
    package mutating func add(_ other: PoolCounters) {
        for index in counts.indices { counts[index] += other.counts[index] }
        disconnects.merge(other.disconnects, uniquingKeysWith: +)
        for (reason, count) in other.goaways { countGoaways(count, reason) }
    }

    mutating func count(goaway reason: String) {
        countGoaways(1, reason)
    }

    private mutating func countGoaways(_ count: Int, _ reason: String) {
        let isKnown = goaways[reason] != nil || goaways.count < Self.maximumGoawayReasons
        goaways[isKnown ? reason : "other", default: 0] += count
    }
}

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
    package var submitted = 0
    /// Replied, lost or cancelled.
    package var finished = 0
    /// Connects attempted.
    package var connects = 0
    /// Connections that ended before they had been of any use.
    package var failures = 0
    /// Requests sent again because APNs had certainly not worked on them.
    package var resends = 0
    /// Requests sent again with another provider token.
    package var renewals = 0
    /// Requests sent again on a fresh connection, because theirs refused its provider token.
    package var rebinds = 0
    /// Connections replaced because of what APNs answered on them.
    package var replaced = 0
    /// How often a connection began to send slower, or slower still, because too much was refused on it.
    package var brakes = 0
    /// Requests that had to wait because their device is left alone.
    package var spaced = 0
    /// Connections on which APNs cut the number of streams to a fraction.
    package var streamCuts = 0
    /// Connections retired because the others have room enough.
    package var shrinks = 0
    // MARK: Limits that were met

    /// Turns at whose end something waited that no connection could take, by what all of them lacked.
    package var turnsWithoutConnection = 0
    package var turnsWithoutStream = 0
    package var turnsWithoutPermit = 0
    package var turnsWithoutWindow = 0
    /// Turns at whose end something waited for another connection and the pool had as many as it may.
    package var turnsAtMaximumConnections = 0
    /// Connects that had to wait because those of the last minute were used up.
    package var connectCapHits = 0
    /// How often so many connects had failed in a row that attempts became rare.
    package var breakerOpenings = 0
    /// Connections that APNs ended so early, so many in a row, that they counted as failed connects.
    package var earlyEnds = 0
    /// New connections whose first request was not answered in time, so that the pool grew all the same.
    package var warmUpTimeouts = 0
    /// Connections replaced because they brought nothing but `InternalServerError`.
    package var serverErrorLimitHits = 0
    /// Connections replaced because they were alive and answered nothing for as long as a request may take.
    package var silentConnections = 0
    /// Requests given back although they were not processed, because they had been sent again too often.
    package var resendLimitHits = 0
    /// Refused provider tokens for whose request everything had been tried.
    package var recoveryLimitHits = 0
    /// Devices that were let go before their time, because too many were left alone.
    package var spacedDeviceLimitHits = 0
    /// Requests given back because too many waited for their device already.
    package var crowdedDevices = 0
    /// Requests that were not answered in time.
    package var requestTimeouts = 0
    /// Answers with a body of which only a part was kept.
    package var replyBodyLimitHits = 0
    /// PINGs after a silence while requests were open, and while none was.
    package var stallPings = 0
    package var idlePings = 0
    /// Connections that ended, by ``APNsError/Code``, such as `handshakeTimeout`, `stalled`, `drainDeadline`; in order
    /// it is `none`.
    package private(set) var disconnects: [String: Int] = [:]

    /// The limits that were met, by the names that metrics give them.
    package static var limits: [(name: String, counter: WritableKeyPath<PoolCounters, Int>)] {
        [
            ("connections", \.turnsAtMaximumConnections), ("connects_per_minute", \.connectCapHits),
            ("breaker", \.breakerOpenings), ("crowded_device", \.crowdedDevices), ("early_ends", \.earlyEnds),
            ("no_connection", \.turnsWithoutConnection),
            ("no_permit", \.turnsWithoutPermit), ("no_stream", \.turnsWithoutStream),
            ("no_window", \.turnsWithoutWindow),
            ("recovery", \.recoveryLimitHits), ("reply_body", \.replyBodyLimitHits),
            ("request_timeout", \.requestTimeouts), ("resends", \.resendLimitHits),
            ("server_errors", \.serverErrorLimitHits), ("silent_connection", \.silentConnections),
            ("spaced_devices", \.spacedDeviceLimitHits),
            ("stall", \.stallPings), ("warm_up", \.warmUpTimeouts),
        ]
    }

    mutating func count(disconnect error: APNsError?) {
        disconnects[error?.code.rawValue ?? "none", default: 0] += 1
    }

    mutating func add(_ encounters: APNsEngine.Encounters) {
        requestTimeouts += encounters.requestTimeouts
        replyBodyLimitHits += encounters.replyBodyLimitHits
        stallPings += encounters.stallPings
        idlePings += encounters.idlePings
    }

    // MARK: GOAWAY

    /// GOAWAYs by reason, else by the name of HTTP/2's code.
    package private(set) var goaways: [String: Int] = [:]

    /// APNs documents about twenty; a peer that invents more of them does not fill the memory.
    static let maximumGoawayReasons = 40

    package init() {}

    /// Adds what another pool has done.
    package mutating func add(_ other: PoolCounters) {
        let plain = [
            \Self.submitted, \.finished, \.connects, \.failures, \.resends, \.renewals, \.rebinds, \.replaced, \.brakes,
            \.spaced, \.streamCuts, \.shrinks,
        ]
        for counter in plain + Self.limits.map(\.counter) { self[keyPath: counter] += other[keyPath: counter] }
        disconnects.merge(other.disconnects, uniquingKeysWith: +)
        for (reason, count) in other.goaways { add(count, goaways: reason) }
    }

    mutating func count(goaway reason: String) {
        add(1, goaways: reason)
    }

    private mutating func add(_ count: Int, goaways reason: String) {
        let isKnown = goaways[reason] != nil || goaways.count < Self.maximumGoawayReasons
        goaways[isKnown ? reason : "other", default: 0] += count
    }
}

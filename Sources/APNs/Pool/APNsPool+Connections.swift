import Core

/// Manages a pool's connections: their use, dialling and retirement.
extension APNsPool {
    // MARK: Use

    mutating func noteUse(of connection: PoolConnection, at now: Instant) {
        switch connection.trial.responded(at: now) {
        case .none: break
        case .firstResponse: dialer.responded()
        case .proven: dialer.succeeded()
        }
    }

    /// Counts a connection that has lived long enough as a success, even without requests.
    ///
    /// - Returns: When that is due, if there are failures to reset.
    private mutating func noteAge(of connection: PoolConnection, at now: Instant) -> Instant? {
        guard dialer.failures > 0, let due = connection.trial.provenAt else { return nil }
        guard due <= now else { return due }
        connection.trial.provenByAge()
        dialer.succeeded()
        return nil
    }

    /// Reports the circuit breaker's changes since the last step, unless one was undone within the step.
    mutating func watchBreaker() {
        guard dialer.isBreakerOpen != isBreakerOpen else { return }
        isBreakerOpen = dialer.isBreakerOpen
        guard isBreakerOpen else { return events.append(.alarm(.reachable)) }
        counters[.breakerOpenings] += 1
        events.append(.alarm(.unreachable(failures: dialer.failures)))
    }

    /// The peer ends a connection. If many end early, the next attempts are delayed.
    mutating func peerClosed(_ connection: PoolConnection, at now: Instant) {
        guard connection.trial.peerClosed(at: now), dialer.peerClosedEarly(at: now, using: &random) else { return }
        connection.trial.countEnd()
        counters[.earlyEnds] += 1
    }

    mutating func closed(_ connection: PoolConnection, _ error: APNsError?, at now: Instant) {
        connection.isClosed = true
        lastDivisor = connection.brake.divisor
        counters.add(connection.engine.counters)
        counters.count(disconnect: error)
        if let error, !isConnected { outage = .after(outage, error, at: now) }
        if error != nil, connection.trial.isUseless(at: now) {
            counters[.failures] += 1
            if !connection.trial.isEndCounted { dialer.failed(at: now, using: &random) }
        } else if error != nil {
            peerClosed(connection, at: now)
        }
        events.append(.disconnected(error))
    }

    func retire(_ connection: PoolConnection, at now: Instant) {
        // A transport that is not open yet cannot carry GOAWAY or close_notify.
        if connection.engine.phase == .connecting { network.disconnect(connection.link) }
        connection.engine.retire(at: now)
    }

    // MARK: Dialling

    /// Dials missing connections, and retires surplus and replaced ones.
    ///
    /// - Returns: When the next check is due without an event.
    mutating func dial(at now: Instant) -> Instant? {
        guard !isDraining else { return nil }
        if isPaused, requests.count == 0 {
            for connection in connections where connection.isUsable { retire(connection, at: now) }
        }
        let counts = countConnections(at: now)
        var due = counts.due
        var connecting = counts.connecting
        var ready = counts.ready
        for connection in connections {
            if let newest = counts.newest, let replacement = connection.replacedBy, replacement <= newest {
                retire(connection, at: now)
            }
        }
        if shortage != nil {
            surplus.restart(at: now)
            if let next = replaceCut(at: now) { due = min(due, next) }
            ready = connections.count(where: \.isServing)
        } else if ready > minimumConnections {
            shrink(ready, at: now)
            due = min(due, surplus.deadline)
        }
        var wanted = minimumConnections
        // Dials one more at a time, and only after the last one has had time to prove its capacity. If requests wait
        // because of the error brake, another connection would be refused as well.
        let isHeldByBrake = shortage == .permits && brakeDivisor > 1
        if shortage != nil, connecting == 0, counts.warmingUp == 0, !isHeldByBrake { wanted = max(wanted, ready + 1) }
        if lacksFreshConnection {
            if connecting + ready >= configuration.connections.upperBound {
                // Until then the oldest connection serves the others.
                if dialer.nextAttempt > now {
                    due = min(due, dialer.nextAttempt)
                } else if let oldest = connections.first(where: \.isReady) {
                    retire(oldest, at: now)
                    ready -= 1
                }
            }
            wanted = max(wanted, connecting + ready + 1)
        }
        if wanted > configuration.connections.upperBound {
            wanted = configuration.connections.upperBound
            counters[.turnsAtMaximumConnections] += 1
        }
        isCapped = isCapped && dialer.isCapped(at: now)
        while connecting + ready < wanted {
            // After a failure, a single attempt tests the path.
            if dialer.failures > 0, connecting > 0 { break }
            guard dialer.nextAttempt <= now else {
                due = min(due, dialer.nextAttempt)
                if !isCapped, dialer.isCapped(at: now) {
                    isCapped = true
                    counters[.connectCapHits] += 1
                }
                break
            }
            if connect(at: now) { connecting += 1 }
        }
        return due == .distantFuture ? nil : due
    }

    private struct ConnectionCounts {
        var connecting = 0
        /// Excludes those being replaced.
        var ready = 0
        /// While requests wait: how many of them have no response yet and are within their warm-up time.
        var warmingUp = 0
        /// The highest serial number of the ready connections.
        var newest: UInt32?
        /// When the next connection must be checked again.
        var due = Instant.distantFuture
    }

    private mutating func countConnections(at now: Instant) -> ConnectionCounts {
        var counts = ConnectionCounts()
        for connection in connections {
            switch connection.engine.phase {
            case .connecting, .handshaking: counts.connecting += 1
            case .ready:
                counts.newest = connection.serial
                if let proof = noteAge(of: connection, at: now) { counts.due = min(counts.due, proof) }
                watchStreams(of: connection, at: now)
                if connection.replacedBy != nil { continue }
                counts.ready += 1
                // For a connection's first response, the pool waits before it opens another one.
                guard shortage != nil, !connection.engine.isAuthenticated, let since = connection.trial.readyAt else {
                    continue
                }
                let end = since + configuration.warmUpTime
                if end > now {
                    counts.warmingUp += 1
                    counts.due = min(counts.due, end)
                } else if !connection.isWarmUpOver {
                    connection.isWarmUpOver = true
                    counters[.warmUpTimeouts] += 1
                }
            case .draining, .closed: break
            }
        }
        return counts
    }

    private var brakeDivisor: Int {
        connections.isEmpty ? lastDivisor : connections.reduce(1) { max($0, $1.brake.divisor) }
    }

    /// - Returns: `false` if there is no memory for a session.
    private mutating func connect(at now: Instant) -> Bool {
        dialer.attempted(at: now)
        counters[.connects] += 1
        do throws(APNsError) {
            var engine = try APNsEngine(configuration: configuration.engine, tls: context)
            engine.eventWaker = waker
            let divisor = brakeDivisor
            let limiter = RateLimiter(
                perSecond: max(1, configuration.permitsPerSecond / divisor), burst: configuration.burst, at: now)
            let brake = ErrorBrake(divisor: divisor, at: now)
            let connection = PoolConnection(engine: engine, serial: nextSerial, limiter: limiter, brake: brake)
            nextSerial += 1
            connections.append(connection)
            network.connect(
                connection.link, to: configuration.engine.endpoint, through: configuration.proxy,
                timeout: Configuration.connectTimeout)
            return true
        } catch {
            counters[.failures] += 1
            dialer.failed(at: now, using: &random)
            counters.count(disconnect: error)
            if !isConnected { outage = .after(outage, error, at: now) }
            events.append(.disconnected(error))
            return false
        }
    }

    // MARK: Shrinking

    /// Retires a connection if the others have sufficient capacity.
    private mutating func shrink(_ ready: Int, at now: Instant) {
        guard surplus.deadline <= now else { return }
        let open = connections.filter(\.isServing)
        let isSurplus = surplus.isSurplus(
            ready: ready, inFlight: inFlight,
            streams: open.reduce(0) { $0 + $1.engine.maximumConcurrentStreams },
            permits: configuration.permitsPerSecond, at: now)
        guard isSurplus, let leastBusy = open.min(by: { $0.engine.inFlight < $1.engine.inFlight }) else { return }
        retire(leastBusy, at: now)
    }

    // MARK: Falling stream limits

    private mutating func watchStreams(of connection: PoolConnection, at now: Instant) {
        let streams = connection.engine.maximumConcurrentStreams
        guard connection.streamCut.observe(streams, divisor: configuration.streamCutDivisor, at: now) else { return }
        events.append(.alarm(.streamsCut(from: connection.streamCut.peak, to: streams)))
    }

    /// Replaces the connection with the oldest stream cut, one at a time. It continues until its replacement is ready.
    ///
    /// - Returns: When the next one is due.
    private func replaceCut(at now: Instant) -> Instant? {
        guard !connections.contains(where: { $0.isReady && $0.replacedBy != nil }) else { return nil }
        let cuts = connections.lazy.filter(\.isReady).compactMap { connection in
            connection.streamCut.since.map { (connection: connection, since: $0) }
        }
        guard let (longest, since) = cuts.min(by: { $0.since < $1.since }) else { return nil }
        guard since + configuration.streamCutTimeout <= now else { return since + configuration.streamCutTimeout }
        longest.replacedBy = nextSerial
        return nil
    }
}

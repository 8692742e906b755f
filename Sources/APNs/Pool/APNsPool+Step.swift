package import Core

/// One turn of a pool: process the connections' events, place waiting requests, dial missing connections.
extension APNsPool {
    /// The interval between wake-ups for permits. A wake-up for each permit would cost more than it gains.
    private static let permitInterval = Duration.milliseconds(1)
    /// The interval between expiry checks of a queue that does not advance.
    private static let sweepInterval = Duration.seconds(1)

    package mutating func step(at now: Moment) {
        isStepDue = false
        receiveEvents(at: now)
        place(at: now)
        var deadline = dial(at: now.instant)
        watchBreaker()
        if shortage != nil {
            sweep(at: now)
            let permit = nextPermit(at: now.instant).map { max($0, now.instant + Self.permitInterval) }
            deadline = min(deadline ?? .distantFuture, nextSweep, permit ?? .distantFuture)
        }
        stepDeadline = deadline
    }

    /// Work is due immediately. The owner is notified once per step.
    mutating func becomeDue() {
        guard !isStepDue else { return }
        isStepDue = true
        waker?.wake()
    }

    // MARK: Events

    private mutating func receiveEvents(at now: Moment) {
        var isAnyClosed = false
        for connection in connections {
            while let event = connection.engine.nextEvent() { handle(consume event, of: connection, at: now) }
            if connection.isClosed { isAnyClosed = true }
        }
        if isAnyClosed { connections.removeAll { $0.isClosed } }
    }

    private mutating func handle(
        _ event: consuming APNsEngine.Event, of connection: PoolConnection, at now: Moment
    ) {
        switch consume event {
        case .ready:
            connection.trial.becameReady(at: now.instant)
            outage = nil
            events.append(.connected)
        case .responded(let handle, let response): responded(handle, response, on: connection, at: now)
        case .lost(let handle, let loss):
            noteSilence(of: connection, sentAt: requests[handle].submission.sentAt, at: now.instant)
            if loss.processed == .no, resends(handle, after: .lost(loss), at: now.instant) { return }
            lose(handle, loss)
        case .goaway(let reason):
            counters.count(goaway: reason)
            lastGoaway = PoolStatistics.Goaway(reason: reason, at: now.instant)
            events.append(.goaway(reason: reason))
            peerClosed(connection, at: now.instant)
        case .closed(let error): closed(connection, error, at: now.instant)
        }
    }

    private mutating func responded(
        _ handle: Handle, _ response: APNsResponse, on connection: PoolConnection, at now: Moment
    ) {
        connection.respondedAt = now.instant
        let refusal = response.isSuccess ? nil : response.rule.tokenRefusal
        if refusal == nil, response.status != 500 { noteUse(of: connection, at: now.instant) }
        if let known = verdict, refusal == nil, connection.serial >= known.serial { verdict = nil }
        noteServerErrors(response, on: connection, at: now.instant)
        if connection.brake.responded(response.status, at: now.instant) {
            let rate = max(1, configuration.permitsPerSecond / connection.brake.divisor)
            connection.limiter.change(perSecond: rate, at: now.instant)
        }
        if let refusal {
            if recover(handle, from: refusal, response, on: connection, at: now) {
                return attemptFailed(handle, .responded(response), at: now.instant)
            }
            counters[.recoveryLimitHits] += 1
        } else if !response.isSuccess {
            let rule = response.rule
            if rule.closesConnection { retire(connection, at: now.instant) }
            if rule.action == .resend, requests[handle].submission.turnedAway < Self.resendsAhead {
                requests[handle].submission.turnedAway += 1
                if resends(handle, after: .responded(response), at: now.instant) { return }
            }
        }
        let submission = requests.remove(handle).submission
        if submission.isProbe { probeEnded(on: connection, response.rule, at: now.instant) }
        events.append(.responded(handle: handle, response, sentAt: submission.sentAt))
    }

    /// A connection that only returns server errors may lead to a faulty part of APNs.
    private mutating func noteServerErrors(_ response: APNsResponse, on connection: PoolConnection, at now: Instant) {
        connection.serverErrors = response.status == 500 ? connection.serverErrors + 1 : 0
        guard connection.serverErrors == configuration.maximumServerErrors else { return }
        counters[.serverErrorLimitHits] += 1
        dialer.failed(at: now, using: &random)
        connection.trial.countEnd()
        retire(connection, at: now)
        events.append(.alarm(.serverErrors))
    }

    /// A request was lost. If it timed out and nothing else was answered meanwhile, the connection is unusable, even
    /// if APNs answers its PINGs.
    private mutating func noteSilence(of connection: PoolConnection, sentAt: Instant?, at now: Instant) {
        guard connection.engine.phase == .ready, let sentAt,
            now - sentAt >= configuration.engine.requestTimeout, connection.respondedAt ?? .distantPast < sentAt
        else { return }
        counters[.silentConnections] += 1
        dialer.failed(at: now, using: &random)
        connection.trial.countEnd()
        retire(connection, at: now)
        events.append(.alarm(.silent))
    }

    /// How often a request that was not processed is sent again before all others, and how often at all because of
    /// a response.
    private static let resendsAhead = 2

    mutating func enqueueAgain(_ handle: Handle) {
        if requests[handle].submission.needsFreshConnection {
            waiting.rebinding.append(handle)
        } else {
            waiting.queue.appendAhead(handle)
        }
    }

    /// - Returns: Whether a request that was certainly not processed is sent again.
    private mutating func resends(_ handle: Handle, after end: AttemptEnd, at now: Instant) -> Bool {
        guard !isDraining else { return false }
        guard requests[handle].submission.resends < configuration.maximumResends else {
            counters[.resendLimitHits] += 1
            return false
        }
        requests[handle].submission.resends += 1
        counters[.resends] += 1
        attemptFailed(handle, end, at: now)
        if requests[handle].submission.resends > Self.resendsAhead, !requests[handle].submission.needsFreshConnection {
            // The connections may end over this request: the others are sent first.
            waiting.queue.append(handle, rank: 0)
        } else {
            enqueueAgain(handle)
        }
        return true
    }

    /// The request of an attempt that failed waits again.
    private mutating func attemptFailed(_ handle: Handle, _ end: AttemptEnd, at now: Instant) {
        guard let sentAt = requests[handle].submission.sentAt else { return }
        requests[handle].submission.sentAt = nil
        requests[handle].submission.wasResent = true
        events.append(.resent(handle: handle, end, sentAt: sentAt, endedAt: now))
    }

    /// The notification has expired: sending it would only waste a permit.
    private mutating func expire(_ handle: Handle) {
        requests.remove(handle)
        events.append(.expired(handle: handle))
    }

    /// Expires requests that wait behind an unexpired one.
    private mutating func sweep(at now: Moment) {
        guard nextSweep <= now.instant else { return }
        nextSweep = now.instant + Self.sweepInterval
        for handle in requests.handles {
            if isExpired(handle, at: now), waiting.remove(handle) { expire(handle) }
        }
    }

    private func isExpired(_ handle: Handle, at now: Moment) -> Bool {
        requests[handle].notification.content.hasExpired(at: now.wall)
    }

    mutating func lose(_ handle: Handle, _ loss: Loss) {
        let request = requests.remove(handle)
        events.append(.lost(handle: handle, loss, sentAt: request.submission.sentAt))
    }

    // MARK: Placing

    private mutating func place(at now: Moment) {
        shortage = nil
        guard waitingCount > 0 else { return }
        placement.capacities.removeAll(keepingCapacity: true)
        for connection in connections {
            let permits = connection.limiter.available(at: now.instant)
            placement.capacities.append(connection.engine.capacity(permits: permits))
        }
        let fresh = connections.firstIndex { $0.serial >= freshSerial } ?? connections.count
        var token: ProviderToken?
        var isRebinding = !waiting.rebinding.isEmpty
        while let handle = isRebinding ? waiting.rebinding.first : waiting.queue.first {
            if isExpired(handle, at: now) {
                _ = waiting.remove(handle)
                expire(handle)
            } else if let index = placement.place(
                size: requests[handle].notification.content.payload.count, from: isRebinding ? fresh : 0)
            {
                if token == nil { token = tokens?.token(at: now) }
                let taken = isRebinding ? waiting.rebinding.popFirst() : waiting.queue.popFirst()
                precondition(taken == handle, "the placed request must be the head of the queue")
                send(handle, on: connections[index], token, at: now.instant)
            } else {
                shortage = .other
                guard isRebinding else { return countShortage() }
                isRebinding = false
                continue
            }
            if waiting.rebinding.isEmpty { isRebinding = false }
        }
    }

    /// Requests wait in the queue: counts what all connections lack.
    private mutating func countShortage() {
        var isReady = false
        var hasStream = false
        for (connection, capacity) in zip(connections, placement.capacities) where connection.engine.phase == .ready {
            isReady = true
            guard capacity.freeStreams > 0 else { continue }
            hasStream = true
            if capacity.permits > 0 { return counters[.turnsWithoutWindow] += 1 }
        }
        if hasStream {
            shortage = .permits
            counters[.turnsWithoutPermit] += 1
        } else if isReady {
            counters[.turnsWithoutStream] += 1
        } else {
            counters[.turnsWithoutConnection] += 1
        }
    }

    private mutating func send(
        _ handle: Handle, on connection: PoolConnection, _ token: ProviderToken?, at now: Instant
    ) {
        let hasPermit = connection.limiter.take(at: now)
        precondition(hasPermit, "a request must be placed on a connection with a permit")
        let request = requests[handle]
        do throws(APNsError) {
            try connection.engine.submit(request, handle: handle, authorization: token, at: now)
        } catch {
            return lose(handle, Loss(processed: .no, detail: error.description))
        }
        request.submission.sentAt = now
        request.submission.tokenGeneration = token?.generation ?? 0
        connection.isBound = true
        surplus.sent()
    }

    private func nextPermit(at now: Instant) -> Instant? {
        var earliest: Instant?
        for connection in connections where connection.engine.freeStreams > 0 {
            let permit = connection.limiter.nextPermit(at: now)
            // A connection with a permit lacks something else, which will arrive as an event.
            if permit > now { earliest = min(earliest ?? permit, permit) }
        }
        return earliest
    }
}

import APNs
import Core
import Logging
import Pipeline
import TLS

extension Worker {
    /// Takes the events of the pools that have some; these may create new requests.
    mutating func takeResponses() {
        pools.takeDue(at: now.instant)
        for number in pools.due.lazy.map(PoolID.init) where step(number) {
            while let event = pools[number].nextEvent() {
                guard isWorking else { continue }
                take(consume event, from: number)
                performActions()
            }
        }
    }

    /// Lets the pools send their requests; resulting events are taken in the next turn.
    mutating func stepPools() {
        pools.takeDue(at: now.instant)
        for number in pools.due.lazy.map(PoolID.init) where step(number) && pools[number].hasEvents {
            pools.wake(number)
        }
    }

    private mutating func step(_ number: PoolID) -> Bool {
        guard pools.step(number, at: now) else { return false }
        pipeline.pool(number, isUsable: pools[number].isUsable, at: now)
        return true
    }

    private mutating func take(_ event: consuming APNsPool.Event, from number: PoolID) {
        switch consume event {
        case .responded(let handle, let response, let sentAt):
            if let sentAt {
                pipeline.recordDurations(handle, sentAt: sentAt, at: now)
                traceAttempt(handle, .responded(response), by: number, sentAt: sentAt, endedAt: now.instant)
            }
            pipeline.responded(handle, response, at: now)
        case .lost(let handle, let loss, let sentAt):
            if let sentAt { traceAttempt(handle, .lost(loss), by: number, sentAt: sentAt, endedAt: now.instant) }
            pipeline.lost(handle, loss, at: now)
        case .resent(let handle, let end, let sentAt, let endedAt):
            traceAttempt(handle, end, by: number, sentAt: sentAt, endedAt: endedAt)
        case .expired(let handle): pipeline.expired(handle, at: now)
        case .connected:
            pools.roster.connected(number)
            log.info("connected to APNs", metadata: metadata(number))
            pools.opened.insert(number)
            pipeline.checkIfSuspended(at: now)
            if pools.refused.remove(number) != nil { pipeline.certificateAccepted(pool: number, at: now) }
        case .disconnected(let error?) where error.code == .certificateRefused && !pools[number].isConnected:
            pools.opened.remove(number)
            // The pool keeps trying to connect; one line is enough.
            if pools.refused.insert(number).inserted {
                log.error("APNs refuses a certificate", metadata: metadata(number, "error.message", error))
                pools[number].isPaused = false
            }
            pipeline.certificateRefused(pool: number, at: now)
        case .disconnected(let error):
            let wasOpen = pools.opened.contains(number)
            if !pools[number].isConnected { pools.opened.remove(number) }
            guard let error else { break }
            log.warning(
                "\(wasOpen ? "a connection to APNs ended" : "cannot connect to APNs"); trying again",
                metadata: metadata(number, "error.message", error))
        case .goaway(let reason):
            log.notice("APNs sent GOAWAY", metadata: metadata(number, "reason", reason))
            pipeline.goaway(RejectionReason(rawValue: reason), pool: number, at: now)
        case .alarm(.reachable): log.notice("\(APNsPool.Alarm.reachable)", metadata: metadata(number))
        case .alarm(let alarm): log.error("\(alarm)", metadata: metadata(number))
        }
    }

    private mutating func traceAttempt(
        _ handle: Handle, _ end: APNsPool.AttemptEnd, by pool: PoolID, sentAt: Instant, endedAt: Instant
    ) {
        guard tracer != nil else { return }
        pipeline.traceAttempt(
            handle, end, on: pools[pool].configuration.engine.endpoint, sentAt: sentAt, endedAt: endedAt)
    }

    private func metadata(_ pool: PoolID) -> Logger.Metadata {
        let endpoint = pools[pool].configuration.engine.endpoint
        return ["server.address": "\(endpoint.host)", "server.port": .stringConvertible(endpoint.port)]
    }

    private func metadata(_ pool: PoolID, _ key: String, _ value: some CustomStringConvertible) -> Logger.Metadata {
        metadata(pool).merging([key: "\(value)"]) { $1 }
    }

    /// Pools whose apps are all refused keep no connection. An exception: whether APNs accepts a certificate shows when
    /// a connection opens, so those pools keep connecting.
    mutating func pausePools() {
        guard let paused = pipeline.waiting.takePausedPools() else { return }
        for number in pools.roster.numbers {
            pools[number].isPaused = paused.contains(number) && !pools.refused.contains(number)
        }
    }
}

import APNs
package import Core
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
                take(event, from: number)
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
            pipeline.timed(handle, sentAt: sentAt, at: now)
            traceAttempt(handle, .responded(response), by: number, sentAt: sentAt, endedAt: now.instant)
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
            pipeline.mayRecover(at: now)
            if pools.refused.remove(number) != nil { pipeline.certificateAccepted(pool: number, at: now) }
        case .disconnected(let error?) where error.code == .certificateRefused && !pools[number].isConnected:
            // The pool keeps trying to connect; one line is enough.
            if pools.refused.insert(number).inserted {
                log.error("APNs refuses a certificate", metadata: metadata(number, "error.message", error))
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

    private func traceAttempt(
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

    // MARK: Reload

    /// Applies another plan: new pools connect first, and replace the old ones when they are ready.
    ///
    /// A draining worker keeps its plan.
    ///
    /// - Parameters:
    ///   - plan: must have the same queues as this worker.
    ///   - contexts: for every pool that the previous plan cannot serve.
    package mutating func reload(_ plan: AppPlan, contexts: AppPlan.Contexts, at now: Moment) {
        guard drain.stage == .running else { return }
        self.now = now
        var settings = PipelineSettings(plan.configuration, worker: WorkerName.text(index: index))
        // A reload does not change the queues.
        settings.queues = pipeline.settings.queues
        use(settings)
        pace = TurnPace(plan.configuration)
        adopt(plan, contexts)
        applyChanges(isNewPlan: true)
        hasWork = true
    }

    mutating func adopt(_ plan: AppPlan, _ contexts: AppPlan.Contexts) {
        let numbers = plan.pools.indices.map { index in
            let wanted = plan.pools[index]
            return pools.roster.number(serving: wanted) ?? add(wanted, contexts[index], plan.tokens)
        }
        let apps = plan.apps.map { app in PipelineApp(app, pools: app.pools.map { numbers[$0.index] }) }
        for slot in pipeline.configured where !apps.contains(where: pipeline.app(in: slot).isSame) {
            pools.roster.cancelPendingChange(of: slot)
            pipeline.remove(slot, at: now)
            performActions()
        }
        pipeline.configured = apps.map { app in
            guard let slot = pipeline.configured.first(where: { pipeline.app(in: $0).isSame(app) }) else {
                let (slot, wasAnothers) = pipeline.add(app)
                if wasAnothers { pipeline.tally.forget(app: slot) }
                return slot
            }
            pools.roster.scheduleChange(slot, to: app)
            return slot
        }
    }

    private mutating func add(_ plan: PoolPlan, _ context: Handoff<TLSContext>?, _ tokens: ProviderTokens) -> PoolID {
        guard let context = context?.take() else {
            preconditionFailure("a new identity must have a TLS context")
        }
        let number = pools.add(plan, context, tokens, at: now.instant)
        pipeline.pool(number, isUsable: true, at: now)
        return number
    }

    /// Pools whose apps are all refused keep no connection. An exception: whether APNs accepts a certificate shows when
    /// a connection opens, so those pools keep connecting.
    mutating func pausePools() {
        guard let paused = pipeline.takePausedPools() else { return }
        for number in pools.roster.numbers {
            pools[number].isPaused = paused.contains(number) && !pools.refused.contains(number)
        }
    }

    /// - Parameter isNewPlan: whether pools may have become superfluous even if no app changes now.
    mutating func applyChanges(isNewPlan: Bool = false) {
        let changes = pools.roster.takeDueChanges(at: now.instant)
        for (slot, app) in changes {
            pipeline.change(slot, to: app, at: now)
            performActions()
        }
        if isNewPlan || !changes.isEmpty {
            for number in pools.roster.retire(besides: pipeline.configured.map { pipeline.app(in: $0) }) {
                pools[number].drain(at: now.instant)
            }
        }
        pools.removeDrained(at: now.instant)
    }
}

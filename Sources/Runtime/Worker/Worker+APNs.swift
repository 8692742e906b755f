import APNs
package import Core
import Logging
import Pipeline
import TLS

/// Handles the events of a worker's pools, and reloads.
extension Worker {
    /// Takes the events of the pools that have some; these may create new requests.
    mutating func takeResponses() {
        pools.takeDue(at: now.instant)
        for number in pools.due.lazy.map(PoolID.init) {
            guard let pool = step(number) else { continue }
            while let event = pool.nextEvent() {
                guard isWorking else { continue }
                take(event, from: number, pool)
                performActions()
            }
        }
    }

    /// Lets the pools send their requests; resulting events are taken in the next turn.
    mutating func stepPools() {
        pools.takeDue(at: now.instant)
        for number in pools.due.lazy.map(PoolID.init) {
            if step(number)?.hasEvents == true { pools.agenda.members.wake(number.index) }
        }
    }

    private mutating func step(_ number: PoolID) -> APNsPool? {
        guard let pool = pools.roster.pools[number.index] else { return nil }
        pool.step(at: now)
        pipeline.pool(number, isUsable: pool.isUsable, at: now)
        pools.agenda.members.schedule(number.index, at: pool.nextDeadline)
        return pool
    }

    private mutating func take(_ event: consuming APNsPool.Event, from number: PoolID, _ pool: APNsPool) {
        switch consume event {
        case .responded(let handle, let response, let sentAt):
            pipeline.timed(handle, sentAt: sentAt, at: now)
            traceAttempt(handle, .responded(response), on: pool, sentAt: sentAt, endedAt: now.instant)
            pipeline.responded(handle, response, at: now)
        case .lost(let handle, let loss, let sentAt):
            if let sentAt { traceAttempt(handle, .lost(loss), on: pool, sentAt: sentAt, endedAt: now.instant) }
            pipeline.lost(handle, loss, at: now)
        case .resent(let handle, let end, let sentAt, let endedAt):
            traceAttempt(handle, end, on: pool, sentAt: sentAt, endedAt: endedAt)
        case .expired(let handle): pipeline.expired(handle, at: now)
        case .connected:
            pools.roster.connected(number)
            log.info("connected to APNs", metadata: metadata(pool))
            opened.insert(Self.name(number))
            pipeline.mayRecover(at: now)
            if pools.refused.remove(number) != nil { pipeline.certificateAccepted(pool: number, at: now) }
        case .disconnected(let error?) where error.code == .certificateRefused && !pool.isConnected:
            // The pool keeps trying to connect; one line is enough.
            if pools.refused.insert(number).inserted {
                log.error("APNs refuses a certificate", metadata: metadata(pool, "error.message", error))
            }
            pipeline.certificateRefused(pool: number, at: now)
        case .disconnected(let error):
            let wasOpen = opened.contains(Self.name(number))
            if !pool.isConnected { opened.remove(Self.name(number)) }
            guard let error else { break }
            log.warning(
                "\(wasOpen ? "a connection to APNs ended" : "cannot connect to APNs"); trying again",
                metadata: metadata(pool, "error.message", error))
        case .goaway(let reason):
            log.notice("APNs sent GOAWAY", metadata: metadata(pool, "reason", reason))
            pipeline.goaway(RejectionReason(rawValue: reason), pool: number, at: now)
        case .alarm(.reachable): log.notice("\(APNsPool.Alarm.reachable)", metadata: metadata(pool))
        case .alarm(let alarm): log.error("\(alarm)", metadata: metadata(pool))
        }
    }

    private func traceAttempt(
        _ handle: Handle, _ end: APNsPool.AttemptEnd, on pool: APNsPool, sentAt: Instant, endedAt: Instant
    ) {
        guard tracer != nil else { return }
        pipeline.traceAttempt(
            handle, end, on: pool.configuration.engine.endpoint, sentAt: sentAt, endedAt: endedAt)
    }

    private func metadata(_ pool: APNsPool) -> Logger.Metadata {
        let endpoint = pool.configuration.engine.endpoint
        return ["server.address": "\(endpoint.host)", "server.port": .stringConvertible(endpoint.port)]
    }

    private static func name(_ pool: PoolID) -> String { "pool \(pool.index)" }

    private func metadata(_ pool: APNsPool, _ key: String, _ value: some CustomStringConvertible) -> Logger.Metadata {
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
        let pool = pools.make(plan, context, tokens, now.instant)
        let number = pools.roster.add(pool, plan, opens: plan.opensAtOnce, at: now.instant)
        pools.refused.remove(number)
        opened.remove(Self.name(number))
        pipeline.pool(number, isUsable: true, at: now)
        pool.onDue = { [agenda = pools.agenda] in agenda.members.wake(number.index) }
        pools.agenda.members.wake(number.index)
        return number
    }

    /// Pools whose apps are all refused keep no connection. An exception: whether APNs accepts a certificate shows when
    /// a connection opens, so those pools keep connecting.
    mutating func pausePools() {
        guard let paused = pipeline.takePausedPools() else { return }
        for case (let number, let pool?) in zip(pools.roster.pools.indices.map(PoolID.init), pools.roster.pools) {
            pool.isPaused = paused.contains(number) && !pools.refused.contains(number)
        }
    }

    mutating func applyDueChanges() {
        // During the close no pool takes over from another.
        if isWorking, pools.roster.isChanging { applyChanges() }
    }

    /// - Parameter isNewPlan: whether pools may have become superfluous even if no app changes now.
    private mutating func applyChanges(isNewPlan: Bool = false) {
        let changes = pools.roster.takeDueChanges(at: now.instant)
        for (slot, app) in changes {
            pipeline.change(slot, to: app, at: now)
            performActions()
        }
        if isNewPlan || !changes.isEmpty {
            for pool in pools.roster.retire(besides: pipeline.configured.map { pipeline.app(in: $0) }) {
                pool.drain(at: now.instant)
            }
        }
        for pool in pools.roster.removeLeaving(where: \.isDrained) {
            pools.formerCounters.add(pool.statistics(at: now.instant).counters)
        }
    }
}

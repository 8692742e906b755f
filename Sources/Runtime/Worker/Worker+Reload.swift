import APNs
package import Core
import Pipeline
import TLS

/// What a reload changes in a worker.
extension Worker {
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
        let apps = plan.apps.map { app in
            PipelineApp(
                topic: app.topic, environment: app.environment, pools: app.pools.map { numbers[$0.index] },
                certificate: app.certificate)
        }
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

    /// - Parameter isNewPlan: whether pools may have become superfluous even if no app changes now.
    mutating func applyChanges(isNewPlan: Bool = false) {
        let changes = pools.roster.takeDueChanges(at: now.instant)
        for (slot, app) in changes {
            let wasRefused = pipeline.app(in: slot).pools.all.contains { pools.refused.contains($0) }
            pipeline.change(slot, to: app, at: now)
            performActions()
            for number in app.pools.all where wasRefused && pools[number].isConnected {
                pipeline.certificateAccepted(pool: number, at: now)
            }
        }
        // The probes of paused apps, which need the new connections.
        if !changes.isEmpty {
            pipeline.expire(at: now)
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

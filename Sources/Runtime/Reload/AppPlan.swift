package import Configuration
package import Core
package import Pipeline
package import TLS

/// The pools, credentials and token signers that a configuration's apps need, with the contents of all files. Made on
/// the control thread, shared by all workers.
package struct AppPlan: Sendable {
    package struct App: Sendable {
        package let topic: String
        package let environment: Environment
        /// Replaces a signing key.
        package let certificate: Certificate?
        /// The pools that send its notifications, by index in the plan.
        package let pools: PipelineApp.Pools
    }

    package var configuration: Configuration
    /// In the configuration's order.
    package let apps: [App]
    package let pools: [PoolPlan]
    package let tokens: ProviderTokens

    /// Reads the keys of all apps.
    ///
    /// - Parameter previous: the active plan; its provider tokens stay in use for keys that it also contains.
    package init(_ configuration: Configuration, after previous: AppPlan? = nil) throws(TLSError) {
        self.configuration = configuration
        tokens = try ProviderTokens(configuration.apps, reusing: previous?.tokens)
        var pools: [PoolPlan] = []
        var apps: [App] = []
        for app in configuration.apps {
            let digest = try app.credentialDigest()
            func pool(managesChannels: Bool) -> PoolID {
                let plan = PoolPlan(app, configuration.apns, managesChannels: managesChannels, digest: digest)
                guard let known = pools.firstIndex(where: { $0.isAlike(plan) }) else {
                    pools.append(plan)
                    return PoolID(pools.count - 1)
                }
                pools[known].include(plan)
                return PoolID(known)
            }
            apps.append(
                App(
                    topic: app.topic, environment: app.environment,
                    certificate: try app.credential.tlsIdentity()?.certificate(),
                    pools: PipelineApp.Pools(
                        notifications: pool(managesChannels: false), management: pool(managesChannels: true))))
        }
        self.apps = apps
        self.pools = pools
    }

    /// The names of the apps that a reload has added, changed or removed.
    ///
    /// - Parameter contexts: of one worker, made after `previous`.
    package func changes(after previous: AppPlan, with contexts: Contexts) -> [String: [String]] {
        func names(_ apps: [App]) -> [String] { apps.map { "\($0.topic) (\($0.environment.rawValue))" } }
        func isIn(_ plan: AppPlan) -> (App) -> Bool {
            { app in plan.apps.contains { $0.topic == app.topic && $0.environment == app.environment } }
        }
        let kept = apps.filter(isIn(previous))
        return [
            "added": names(apps.filter { !isIn(previous)($0) }),
            "changed": names(kept.filter { app in app.pools.all.contains { contexts[$0.index] != nil } }),
            "removed": names(previous.apps.filter { !isIn(self)($0) }),
        ]
    }

    /// One worker's TLS contexts, by pool; `nil` if a pool of `previous` can be kept.
    package typealias Contexts = [Handoff<TLSContext>?]

    /// - Parameter previous: the plan that the worker already runs.
    package func makeContexts(after previous: AppPlan? = nil) throws(TLSError) -> Contexts {
        try pools.map { (plan) throws(TLSError) in
            let isServed = previous?.pools.contains { $0.serves(plan) } ?? false
            return isServed ? nil : Handoff(try plan.makeContext())
        }
    }
}

package import Configuration
package import Core
package import Pipeline
package import TLS

/// What a configuration's apps need: pools, credentials and the signers of provider tokens, with everything read from
/// files that has to be. Made on the control thread, and the same for every worker.
package struct AppPlan: Sendable {
    package struct App: Sendable {
        package let topic: String
        package let environment: Environment
        /// What it has instead of a signing key.
        package let certificate: Certificate?
        /// The pools that carry it, by their places in the plan.
        package let pools: PipelineApp.Pools
    }

    package private(set) var configuration: Configuration
    /// In the configuration's order.
    package let apps: [App]
    package let pools: [PoolPlan]
    package let tokens: ProviderTokens

    /// Reads every key that the apps name.
    ///
    /// - Parameter previous: what is in force: a signing key that it has too keeps its provider token.
    package init(_ configuration: Configuration, after previous: AppPlan? = nil) throws(TLSError) {
        self.configuration = configuration
        tokens = try ProviderTokens(configuration.apps, reusing: previous?.tokens)
        var pools: [PoolPlan] = []
        var apps: [App] = []
        for app in configuration.apps {
            let digest = try app.credentialDigest()
            func pool(for purpose: PoolIdentity.Purpose) -> PoolID {
                let plan = PoolPlan(app, for: purpose, configuration.apns, digest: digest)
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
                        notifications: pool(for: .notifications), broadcasts: pool(for: .broadcasts),
                        management: pool(for: .management))))
        }
        self.apps = apps
        self.pools = pools
    }

    /// Goes over to another password of the broker.
    package mutating func renew(_ password: Secret) {
        configuration.broker.password = password
    }

    /// The apps' certificates.
    package var certificates: [CertificateWatch.Entry] {
        apps.compactMap { app in
            app.certificate.map { CertificateWatch.Entry(topic: app.topic, environment: app.environment, $0) }
        }
    }

    /// One worker's TLS contexts, by pool; `nil` where `previous` has a pool that will do.
    package typealias Contexts = [Handoff<TLSContext>?]

    /// - Parameter previous: what the worker runs already.
    package func makeContexts(after previous: AppPlan? = nil) throws(TLSError) -> Contexts {
        var contexts: Contexts = []
        for plan in pools {
            let isServed = previous.map { $0.pools.contains { $0.serves(plan) } } ?? false
            contexts.append(isServed ? nil : Handoff(try plan.identity.makeContext()))
        }
        return contexts
    }
}

extension PipelineApp {
    /// - Parameter pools: the plan's, as the worker numbers them.
    init(_ app: AppPlan.App, pools: Pools) {
        self.init(topic: app.topic, environment: app.environment, pools: pools, certificate: app.certificate)
    }
}

package import Admin
package import Core
package import Runtime

/// Everything that those who watch are told about, at one moment. What `/metrics`, `/readyz` and the dashboard say is
/// made of it alone.
package struct Observation: Sendable {
    package struct Worker: Sendable {
        /// `nil` before its first answer.
        package var snapshot: WorkerSnapshot?
        /// How long ago it answered, or began.
        package var silence: Duration
        /// Whether it turns, as far as its answers tell.
        package var isAlive: Bool
        package var hasEnded: Bool

        package init(snapshot: WorkerSnapshot?, silence: Duration, isAlive: Bool, hasEnded: Bool) {
            self.snapshot = snapshot
            self.silence = silence
            self.isAlive = isAlive
            self.hasEnded = hasEnded
        }
    }

    /// What is known of an app's credential.
    package struct Credential: Sendable {
        package let app: AppName
        /// Whether provider tokens are signed for it; else it has a certificate.
        package let usesProviderTokens: Bool
        /// Of its certificate, until it expires.
        package let expiresIn: Int64?
        /// Since its newest provider token was signed.
        package let tokenAge: Duration?

        package init(_ app: AppName, usesProviderTokens: Bool, expiresIn: Int64?, tokenAge: Duration?) {
            self.app = app
            self.usesProviderTokens = usesProviderTokens
            self.expiresIn = expiresIn
            self.tokenAge = tokenAge
        }
    }

    package var workers: [Worker]
    /// Whether one app that is not usable makes the process unready.
    package var needsEveryApp: Bool
    package var credentials: [Credential]
    /// Seconds until the broker's password expires; `nil` where it does not.
    package var passwordExpiresIn: Int64?
    package var admin: AdminStatistics
    /// Whether orders about dead letters are taken.
    package var takesOrders: Bool
    package var orders: DeadLetterOrderTally
    package var spans: SpanCounts
    package var process: ProcessUsage
    /// When all this was so.
    package var at: Moment

    package init(
        workers: [Worker], needsEveryApp: Bool = false, credentials: [Credential], admin: AdminStatistics,
        takesOrders: Bool = false, passwordExpiresIn: Int64? = nil,
        orders: DeadLetterOrderTally = DeadLetterOrderTally(), spans: SpanCounts = SpanCounts(),
        process: ProcessUsage = ProcessUsage(), at: Moment
    ) {
        self.workers = workers
        self.needsEveryApp = needsEveryApp
        self.credentials = credentials
        self.passwordExpiresIn = passwordExpiresIn
        self.admin = admin
        self.takesOrders = takesOrders
        self.orders = orders
        self.spans = spans
        self.process = process
        self.at = at
    }

    /// Those that have answered.
    var snapshots: [WorkerSnapshot] {
        workers.compactMap(\.snapshot)
    }
}

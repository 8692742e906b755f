package import Core
package import Runtime

/// What became of all spans so far.
package struct SpanCounts: Sendable, Equatable {
    package var exported: UInt64 = 0
    /// Because the queue was full, or the collector did not take them.
    package var dropped: UInt64 = 0

    package init() {}
}

/// The monitored state of a process at one moment. `/metrics`, `/readyz` and the dashboard use only this.
package struct ProcessSnapshot: Sendable {
    package struct Worker: Sendable {
        /// `nil` before its first response.
        package var snapshot: WorkerSnapshot?
        /// The time since its last response, or its start.
        package var silence: Duration
        /// Whether it is alive, according to its responses.
        package var isAlive: Bool
        package var hasEnded: Bool
    }

    /// The state of an app's credential.
    package struct Credential: Sendable {
        package let app: AppName
        /// Seconds until its certificate expires; `nil` if it uses provider tokens.
        package let expiresIn: Int64?
        /// The time since its newest provider token was signed.
        package let tokenAge: Duration?

        package init(_ app: AppName, expiresIn: Int64?, tokenAge: Duration?) {
            self.app = app
            self.expiresIn = expiresIn
            self.tokenAge = tokenAge
        }
    }

    package var workers: [Worker]
    /// Whether one unusable app makes the process unready.
    package var needsEveryApp: Bool
    package var credentials: [Credential]
    /// Why the last reload failed; `nil` after a success.
    package var reloadFailure: String?
    /// Seconds until the broker's password expires; `nil` where it does not.
    package let passwordExpiresIn: Int64?
    package var spans: SpanCounts
    package var process: ProcessUsage
    /// The time of this state.
    package var at: Moment

    package init(
        workers: [Worker], needsEveryApp: Bool = false, credentials: [Credential], reloadFailure: String? = nil,
        passwordExpiresIn: Int64? = nil, spans: SpanCounts = SpanCounts(), process: ProcessUsage = ProcessUsage(),
        at: Moment
    ) {
        self.workers = workers
        self.needsEveryApp = needsEveryApp
        self.credentials = credentials
        self.reloadFailure = reloadFailure
        self.passwordExpiresIn = passwordExpiresIn
        self.spans = spans
        self.process = process
        self.at = at
    }

    /// The workers' snapshots; workers that have not answered yet are left out.
    var snapshots: [WorkerSnapshot] {
        workers.compactMap(\.snapshot)
    }
}

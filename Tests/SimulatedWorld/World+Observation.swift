import Admin
import Core
package import Monitoring
import Runtime

extension World {
    /// The control thread's view of the running workers.
    package func observation(_ credentials: [Observation.Credential] = []) -> Observation {
        Observation(
            workers: running.map {
                Observation.Worker(snapshot: $0.snapshot(at: moment), silence: .zero, isAlive: true, hasEnded: false)
            }, credentials: credentials, admin: AdminStatistics(), at: moment)
    }
}

package import Configuration
import Core
package import Pipeline

package enum WorkerCommand: Sendable {
    /// Stop consuming, finish the requests in flight, then end, at the latest after this time.
    case drain(within: Duration)
    /// Report the state: ``WorkerReport/Event/snapshot(_:)``.
    case sendSnapshot
    /// End at once; the broker requeues the requests in flight.
    case stop
    /// The control thread has the last ``WorkerReport/Event/spans(_:)``.
    case spansReceived
    /// Apply another configuration, for which everything is prepared.
    case reload(AppPlan, AppPlan.Contexts)
    /// Log in with another password from now on.
    case renewPassword(Secret)
}

package struct WorkerReport: Sendable {
    package enum Failure: Sendable {
        /// A file that the configuration names cannot be used.
        case configuration
        /// The broker refuses permanently.
        case unavailable
        /// Limits or set-up of this machine: `EMFILE`, `ENOMEM` …
        case `internal`
    }

    package enum Event: Sendable {
        /// All queues are consumed (again).
        case ready
        /// A queue is no longer consumed.
        case notReady
        /// The response to ``WorkerCommand/sendSnapshot``.
        case snapshot(WorkerSnapshot)
        /// Finished spans, answered by ``WorkerCommand/spansReceived``.
        case spans(Tracer.Batch)
        /// The worker cannot start or continue; the process ends.
        case failed(Failure, message: String)
        /// The worker has ended: in order, or with unsettled deliveries because of its drain deadline or a command.
        case ended(PipelineCounters, inOrder: Bool)
    }

    package let worker: Int
    package let event: Event
}

package import Configuration
import Core
package import Pipeline
import TLS

/// What the control thread tells a worker.
package enum WorkerCommand: Sendable {
    /// Stop consuming, finish what is in flight, then end, at the latest after so long.
    case drain(within: Duration)
    /// Tell how everything is: ``WorkerReport/Event/told(_:)``.
    case tell
    /// End at once; what is in flight goes back to its queue.
    case stop
    /// The last ``WorkerReport/Event/spans(_:)`` have arrived.
    case tookSpans
    /// Go over to another configuration, for which everything is ready.
    case reload(AppPlan, AppPlan.Contexts)
    /// Log in with another password from now on.
    case renewPassword(Secret)
}

/// What a worker tells the control thread.
package struct WorkerReport: Sendable {
    /// What keeps a worker from working.
    package enum Failure: Sendable {
        /// A file that the configuration names cannot be used.
        case configuration
        /// The broker refuses in a way that waiting does not mend.
        case unavailable
        /// This machine's own limits or set-up: `EMFILE`, `ENOMEM` …
        case `internal`

        /// Of an error that ended a worker's thread.
        init(_ error: any Error) {
            self = error is TLSError ? .configuration : .internal
        }
    }

    package enum Event: Sendable {
        /// Every queue is being consumed (again).
        case ready
        /// Some queue is not being consumed any more.
        case notReady
        /// The answer to ``WorkerCommand/tell``.
        case told(WorkerSnapshot)
        /// Finished spans, answered by ``WorkerCommand/tookSpans``.
        case spans(Tracer.Batch)
        /// The worker cannot start or go on; the process is to end.
        case failed(Failure, message: String)
        /// The worker has ended: in order, or cut short by its drain deadline or a command with deliveries unsettled.
        case ended(PipelineCounters, inOrder: Bool)
    }

    package let worker: Int
    package let event: Event
}

package import Core
package import Pipeline
package import Runtime

/// A worker that several places of a test refer to, as its thread does in the program.
package final class RunningWorker {
    package var worker: Worker

    package init(_ worker: consuming Worker) {
        self.worker = worker
    }

    package var counters: PipelineCounters { worker.pipeline.counters }
    package var hasEnded: Bool { worker.hasEnded }
    package var isSuspended: Bool { worker.pipeline.reachability.isSuspended }
    package var nextDeadline: Instant? { worker.nextDeadline }
    package var paused: [PausedTopic] { worker.pipeline.waiting.paused }
    package var tracer: Tracer? { worker.tracer }
    package var turnInterval: Duration { worker.turnInterval }
    package var wasCutShort: Bool { worker.wasCutShort }

    package func expire(at now: Moment) { worker.expire(at: now) }
    package func inspectQueues(at now: Moment) { worker.inspectQueues(at: now) }
    package func nextEvent() -> WorkerReport.Event? { worker.nextEvent() }
    package func snapshot(at now: Moment) -> WorkerSnapshot { worker.snapshot(at: now) }
    package func startDrain(deadline: Instant) { worker.startDrain(deadline: deadline) }
    package func step(at now: Moment) { worker.step(at: now) }
    package func stop(at now: Moment) { worker.stop(at: now) }
}

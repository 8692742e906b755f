import APNs
import Configuration
package import Core
package import Logging
import Pipeline
package import System
import TLS

/// A worker on a separate thread with its event loop and sockets.
package final class WorkerThread: LoopOwner {
    private let task: Task
    private let loop: EventLoop
    private var worker: Worker

    package struct Task: Sendable {
        let index: Int
        let plan: AppPlan
        let resolver: Resolver
        let commands: Mailbox<WorkerCommand>
        package let reports: Mailbox<WorkerReport>
        let log: Logger

        package init(
            index: Int, plan: AppPlan, resolver: Resolver, commands: Mailbox<WorkerCommand>,
            reports: Mailbox<WorkerReport>, log: Logger
        ) {
            self.index = index
            self.plan = plan
            self.resolver = resolver
            self.commands = commands
            self.reports = reports
            self.log = log
        }

        func report(_ event: WorkerReport.Event) {
            reports.post(WorkerReport(worker: index, event: event))
        }
    }

    package typealias Body = @Sendable (Task) -> Void

    /// The body of a worker's thread: runs the worker until it has ended, and reports its events.
    @Sendable package static func run(_ task: Task) {
        var thread: WorkerThread?
        do {
            thread = try WorkerThread(task)
            if let thread { try thread.loop.run(owner: thread) }
        } catch {
            // A file of the configuration, or limits of this machine.
            task.report(.failed(error is TLSError ? .configuration : .internal, message: "\(error)"))
        }
        // A thread that did not start holds nothing.
        let counters =
            thread?.worker.pipeline.counters ?? PipelineCounters(queues: task.plan.configuration.queues.count)
        task.report(.ended(counters, inOrder: thread.map { $0.worker.hasEnded && !$0.worker.wasCutShort } ?? true))
    }

    private init(_ task: Task) throws {
        self.task = task
        loop = try EventLoop()
        let brokerNetwork = try SocketNetwork(loop: loop, resolver: task.resolver)
        let apnsNetwork = try SocketNetwork(loop: loop, resolver: task.resolver, options: .apns)
        var log = task.log
        log[metadataKey: "worker"] = .stringConvertible(task.index)
        let resources = Worker.Resources(
            brokerNetwork: brokerNetwork, apnsNetwork: apnsNetwork, programs: ProgramRunner(brokerNetwork),
            log: log, seed: UInt64.random(in: 0 ... .max))
        worker = try Worker(
            index: task.index, plan: task.plan, contexts: try task.plan.makeContexts(), on: resources, at: loop.now)
        try loop.attach(task.commands) { [unowned self] in execute($0) }
    }

    private func execute(_ command: WorkerCommand) {
        switch command {
        case .drain(let limit): worker.startDrain(deadline: loop.now.instant + limit)
        case .sendSnapshot:
            task.report(.snapshot(worker.snapshot(at: loop.now)))
            worker.inspectQueues(at: loop.now)
        case .stop: worker.stop(at: loop.now)
        case .renewPassword(let password): worker.renewPassword(password, at: loop.now)
        case .spansReceived: worker.tracer?.batchReceived()
        case .reload(let plan, let contexts): worker.reload(plan, contexts: contexts, at: loop.now)
        }
    }

    package var nextDeadline: Instant? {
        worker.nextDeadline
    }

    package func expire(at now: Moment) {
        worker.expire(at: now)
    }

    package var turnInterval: Duration {
        worker.turnInterval
    }

    package func endTurn(at now: Moment) {
        worker.step(at: now)
        while let event = worker.nextEvent() {
            // So that an early snapshot knows of a missing dead-letter queue.
            if case .ready = event { worker.inspectQueues(at: now) }
            task.report(event)
        }
        if let tracer = worker.tracer, let batch = tracer.takeBatch(isLast: worker.hasEnded, at: now.instant) {
            task.report(.spans(batch))
        }
        if worker.hasEnded { loop.stop() }
    }
}

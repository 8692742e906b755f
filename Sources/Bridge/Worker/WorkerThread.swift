import APNs
import AMQP
package import Core
package import EventLoop
package import Logging
import TLS

/// A worker on a thread with an event loop and sockets of its own.
package final class WorkerThread: LoopOwner {
    private let index: Int
    private let loop: EventLoop
    private let network: SocketNetwork
    private let worker: Worker
    private let configuration: Configuration
    private let reports: Mailbox<WorkerReport>

    /// The body of a worker's thread: runs the worker until it has ended, and reports what happens.
    package static func run(
        index: Int, configuration: Configuration, tokens: ProviderTokens, resolver: Resolver,
        commands: Mailbox<WorkerCommand>, reports: Mailbox<WorkerReport>, log: Logger
    ) {
        var log = log
        log[metadataKey: "worker"] = "\(index)"
        let counters = PipelineCounters(queues: configuration.queues.count)
        do {
            let thread = try WorkerThread(
                index: index, configuration: configuration, tokens: tokens, resolver: resolver, commands: commands,
                reports: reports, log: log)
            try thread.loop.run(owner: thread)
            thread.report(.ended(thread.worker.counters, inOrder: !thread.worker.wasCutShort))
        } catch let error as TLSError {
            reports.post(WorkerReport(worker: index, event: .failed(message: error.description, isConfiguration: true)))
            reports.post(WorkerReport(worker: index, event: .ended(counters, inOrder: true)))
        } catch {
            reports.post(WorkerReport(worker: index, event: .failed(message: "\(error)", isConfiguration: false)))
            reports.post(WorkerReport(worker: index, event: .ended(counters, inOrder: true)))
        }
    }

    private init(
        index: Int, configuration: Configuration, tokens: ProviderTokens, resolver: Resolver,
        commands: Mailbox<WorkerCommand>, reports: Mailbox<WorkerReport>, log: Logger
    ) throws {
        self.index = index
        self.configuration = configuration
        self.reports = reports
        loop = try EventLoop()
        network = try SocketNetwork(loop: loop, resolver: resolver)
        worker = try WorkerFactory.worker(
            index: index, configuration: configuration, tokens: tokens, network: network, log: log,
            seed: UInt64.random(in: 0 ... .max), at: loop.now)
        try loop.attach(commands) { [unowned self] in obey($0) }
    }

    private func obey(_ command: WorkerCommand) {
        switch command {
        case .drain: worker.startDrain(deadline: loop.now.instant + configuration.drainDeadline)
        case .stop: worker.stop()
        }
    }

    private func report(_ event: WorkerReport.Event) {
        reports.post(WorkerReport(worker: index, event: event))
    }

    // MARK: LoopOwner

    package var nextDeadline: Instant? {
        worker.nextDeadline
    }

    package func expire(at now: Moment) {
        worker.expire(at: now)
    }

    package func endTurn(at now: Moment) {
        worker.step(at: now)
        while let event = worker.nextEvent() {
            switch event {
            case .ready: report(.ready)
            case .notReady: report(.notReady)
            case .failed(let error): report(.failed(message: Self.message(error), isConfiguration: false))
            }
        }
        if worker.hasEnded { loop.stop() }
    }

    private static func message(_ error: AMQPError) -> String {
        let advice = error.code == .notFound ? " ('harebell topology --config FILE --apply' does that)" : ""
        return error.description + advice
    }
}

import Admin
import Configuration
package import Core
import Glibc
package import Logging
import Monitoring
import Pipeline
package import Runtime
package import System
import TLS

/// `harebell run`: the control thread with its signals, and the workers.
///
/// The control thread is not on the message path. It starts the workers, receives their reports, and turns signals into
/// commands. SIGTERM and SIGINT drain; a second one stops at once. SIGHUP and a changed file reload the configuration.
///
/// It is flat because each property is a separate part of the process.
package final class Application: LoopOwner {
    /// How the process ends.
    package enum End: Equatable {
        case drained
        /// A worker could not start or continue.
        case failed(WorkerReport.Failure)
        /// The drain deadline passed, or a second signal arrived, before everything was settled; or a worker did not
        /// end.
        case cutShort
    }

    /// The extra time for workers to end after the drain deadline and the close timeout.
    package static let endTimeout = Duration.seconds(5)

    /// The configuration file, and the watch of the files that it names.
    struct ConfigurationFile {
        let path: String
        var watch: FileWatch
        /// Why the last reload failed; empty after a success.
        var problems: [String] = []
        /// `nil` where the broker's password is not in a file.
        var password: SecretWatch?

        var failure: String? {
            problems.first.map { problems.count > 1 ? "\($0) (and \(problems.count - 1) more)" : $0 }
        }
    }

    struct Shutdown {
        fileprivate(set) var isDraining = false
        /// Whether a signal has asked for the end; a failed worker drains the others without one.
        fileprivate var isRequested = false
        /// The end of the wait for the workers.
        fileprivate(set) var deadline: Instant?
        fileprivate var end = End.drained
    }

    var plan: AppPlan
    var file: ConfigurationFile
    let log: Logger
    let threshold: LogThreshold
    let loop: EventLoop
    private let onReady: () -> Void
    var workers: WorkerThreads
    private(set) var hasReportedReady = false
    private(set) var shutdown = Shutdown()
    /// `nil` if it is turned off.
    var adminServer: AdminServer?
    let processMeter: ProcessMeter
    /// `nil` where nothing is traced.
    private(set) var traces: TraceExporter?
    var service: ServiceNotifier

    /// - Parameters:
    ///   - file: the configuration file, which SIGHUP reads again.
    ///   - threshold: the level of `log`.
    ///   - manager: `nil` without a service manager.
    ///   - onReady: called once, when every worker consumes every queue
    package init(
        _ plan: AppPlan, file: String, log: Logger, threshold: LogThreshold,
        manager: ServiceManager? = ServiceManager(), onReady: @escaping () -> Void
    ) throws(EventLoopError) {
        self.plan = plan
        self.log = log
        self.threshold = threshold
        self.onReady = onReady
        loop = try EventLoop()
        workers = try WorkerThreads(plan, at: loop.now.instant)
        processMeter = ProcessMeter(at: loop.now)
        let watch = FileWatch(reading: Self.stamps(plan.configuration.files(file)), at: loop.now.instant)
        self.file = ConfigurationFile(
            path: file, watch: watch, password: SecretWatch(plan.configuration.broker, at: loop.now))
        service = ServiceNotifier(manager, log, at: loop.now.instant)
    }

    /// Runs until every worker has ended, or is abandoned.
    package func run(worker body: @escaping WorkerThread.Body = WorkerThread.run) throws(EventLoopError) -> End {
        SignalSource.ignoreBrokenPipes()
        // Before the first thread starts: threads inherit the mask, so only the control thread receives signals.
        _ = try SignalSource(loop: loop, signals: [SIGTERM, SIGINT, SIGHUP]) { [unowned self] in signalled($0) }
        try loop.attach(workers.reports) { [unowned self] in workerReported($0) }
        if let end = startAdmin() { return end }
        let resolver = Resolver()
        if let end = try startTracing(resolver) { return end }
        logStart()
        try workers.start(plan, resolver, log, body: body)
        try loop.run(owner: self)
        joinWorkers()
        logTotals()
        return shutdown.end
    }

    /// - Returns: how the process ends if there is no TLS for it.
    private func startTracing(_ resolver: Resolver) throws(EventLoopError) -> End? {
        guard let settings = plan.configuration.tracing else { return nil }
        let network = try SocketNetwork(loop: loop, resolver: resolver)
        do throws(TLSError) {
            traces = try TraceExporter(
                settings, network,
                resource: [
                    ("service.name", .text("harebell")), ("service.version", .text(Version.text)),
                    ("host.name", .text(WorkerName.host)), ("process.pid", .integer(Int(getpid()))),
                ], log: log)
            return nil
        } catch {
            log.critical("tracing.endpoint: \(error)")
            return .failed(.configuration)
        }
    }

    /// Waits for the worker threads; a worker may hang before or after its last report.
    private func joinWorkers() {
        let stuck = workers.join(until: loop.now.instant + Self.endTimeout)
        guard !stuck.isEmpty else { return }
        log.critical(
            "workers do not end: they are abandoned",
            metadata: ["workers": .array(stuck.map { .stringConvertible($0) })])
        if shutdown.end == .drained { shutdown.end = .cutShort }
    }

    // MARK: Events

    func signalled(_ signal: Int32) {
        if signal == SIGHUP { return reload(at: loop.now) }
        defer { shutdown.isRequested = true }
        if shutdown.isRequested {
            log.warning("stopping at once: requests in flight return to their queue")
            shutdown.deadline = loop.now.instant + Self.endTimeout
            workers.post(.stop)
        } else if !shutdown.isDraining {
            log.notice(
                "draining",
                metadata: ["deadline_seconds": .stringConvertible(plan.configuration.drainDeadline.inSeconds)])
            drain()
        }
    }

    private func drain() {
        shutdown.isDraining = true
        service.notify(.stopping)
        let limit = plan.configuration.drainDeadline
        shutdown.deadline = loop.now.instant + limit + Worker.closeTimeout + Self.endTimeout
        workers.post(.drain(within: limit))
    }

    func workerReported(_ report: WorkerReport) {
        switch report.event {
        case .ready:
            workers.isReady[report.worker] = true
            guard !hasReportedReady, workers.areReady else { return }
            hasReportedReady = true
            onReady()
            service.notify(.ready)
        case .notReady: workers.isReady[report.worker] = false
        case .failed(let failure, let message):
            log.critical("\(message)", metadata: ["worker": .stringConvertible(report.worker)])
            shutdown.end = .failed(failure)
            if !shutdown.isDraining { drain() }
        case .spans(let batch):
            traces?.add(batch, at: loop.now.instant)
            workers.commands[report.worker].post(.spansReceived)
        case .snapshot(let snapshot): workers.watch.responded(report.worker, snapshot, at: loop.now.instant)
        case .ended(let counters, let inOrder):
            workers.ended(report.worker, counters)
            if !inOrder, shutdown.end == .drained { shutdown.end = .cutShort }
        }
    }

    func sendKeepAlive(at now: Instant) {
        service.sendKeepAlive(at: now) { workers.watch.seen(at: now).allSatisfy(\.isAlive) }
    }

    // MARK: LoopOwner

    package var nextDeadline: Instant? {
        [
            shutdown.deadline, service.nextKeepAlive, shutdown.isDraining ? nil : file.watch.nextCheck,
            file.password?.nextCheck, workers.watch.nextDeadline, workers.summary.nextDue, traces?.nextDeadline,
        ]
        .compactMap(\.self).min()
    }

    package func expire(at now: Moment) {
        if let deadline = shutdown.deadline, deadline <= now.instant { loop.stop() }
        sendKeepAlive(at: now.instant)
        logWork(at: now.instant)
        checkFiles(at: now)
        if let look = file.password?.nextCheck, look <= now.instant { checkPasswordFile(at: now) }
    }

    package func endTurn(at now: Moment) {
        workers.ask(workers.watch.round(at: now.instant))
        if workers.watch.isComplete(at: now.instant) { adminServer?.respondToWaiting() }
        if workers.haveEnded { traces?.endSoon(at: now.instant) }
        traces?.step(at: now.instant)
        if workers.haveEnded, traces?.isIdle ?? true { loop.stop() }
    }
}

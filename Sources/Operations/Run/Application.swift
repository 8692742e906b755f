import Admin
package import Configuration
package import Core
import Glibc
package import Logging
import Monitoring
import Pipeline
package import Runtime
package import System

/// `harebell run`: the control thread with its signals, and the workers.
///
/// The control thread does nothing on a message's path. It starts the workers, hears from them, and turns signals into
/// commands: SIGTERM and SIGINT drain, a second one stops at once; SIGHUP reloads, and so does a file that has changed.
package final class Application: LoopOwner {
    /// How the process ends.
    package enum End: Equatable {
        case drained
        /// A worker could not start or go on.
        case failed(WorkerReport.Failure)
        /// The drain deadline passed, or a second signal came, before everything was settled; or a worker did not end.
        case cutShort
    }

    /// How long workers may take to end beyond the drain deadline and what closing their connections may take.
    package static let endTimeout = Duration.seconds(5)

    /// What is in force.
    var plan: AppPlan
    /// The configuration file.
    let file: String
    let log: Logger
    let threshold: LogThreshold
    let loop: EventLoop
    private let onReady: () -> Void
    private let reports: Mailbox<WorkerReport>
    private(set) var commands: [Mailbox<WorkerCommand>] = []
    private var threads: [Thread] = []
    private var signals: SignalSource?

    private var isReady: [Bool]
    private var hasEnded: [Bool]
    private(set) var saidReady = false
    private(set) var isDraining = false
    /// When the workers are not waited for any longer.
    private var deadline: Instant?
    private var totals: PipelineCounters
    /// For `harebell_certificate_expiry_seconds`, and what is logged about it.
    package internal(set) var certificates: CertificateWatch
    private var end = End.drained
    var files: FileWatch

    /// `nil` where it is turned off.
    var admin: AdminServer?
    var watch: WorkerWatch
    let deadLetters: DeadLetterService
    let process: ProcessMeter
    /// There from the workers' start on.
    private(set) var resolver: Resolver?
    /// Whether a page waits for what the workers have to tell.
    var isWaitingForWorkers = false

    /// `nil` where none wants to hear anything.
    let manager: ServiceManager?
    var hasToldInVain = false
    /// When the watchdog is to be told that the workers turn.
    var nextSignOfLife: Instant?

    /// - Parameters:
    ///   - file: what SIGHUP reads again.
    ///   - threshold: of `log`.
    ///   - manager: `nil` where none wants to hear anything.
    ///   - onReady: called once, when every worker consumes every queue
    package init(
        _ plan: AppPlan, file: String, log: Logger, threshold: LogThreshold,
        manager: ServiceManager? = ServiceManager(), onReady: @escaping () -> Void
    ) throws(EventLoopError) {
        self.plan = plan
        self.file = file
        self.log = log
        self.threshold = threshold
        self.manager = manager
        self.onReady = onReady
        loop = try EventLoop()
        reports = try Mailbox()
        deadLetters = try DeadLetterService()
        process = ProcessMeter(at: loop.now)
        isReady = Array(repeating: false, count: plan.configuration.workers)
        hasEnded = isReady
        totals = PipelineCounters(queues: plan.configuration.queues.count)
        certificates = CertificateWatch(plan.certificates, at: loop.now.instant)
        files = FileWatch(
            interval: plan.configuration.reloadInterval, reading: Self.stamps(plan.configuration.files(file)),
            at: loop.now.instant)
        watch = WorkerWatch(workers: plan.configuration.workers, at: loop.now.instant)
        if manager?.watchdog != nil { nextSignOfLife = loop.now.instant }
    }

    /// Runs until every worker has ended, or is given up.
    package func run(worker body: @escaping WorkerThread.Body = WorkerThread.run) throws(EventLoopError) -> End {
        let handled: [Int32] = [SIGTERM, SIGINT, SIGHUP]
        SignalSource.ignoreBrokenPipes()
        // Before the first thread starts: threads inherit the mask, so that only the control thread sees signals.
        SignalSource.block(handled)
        signals = try SignalSource(loop: loop, signals: handled) { [unowned self] in signalled($0) }
        try loop.attach(reports) { [unowned self] in heard($0) }
        try loop.attach(deadLetters.reports) { [unowned self] in heard($0) }
        if let end = startAdmin() { return end }
        let resolver = try Resolver()
        self.resolver = resolver
        for index in 0..<plan.configuration.workers {
            let mailbox = try Mailbox<WorkerCommand>()
            commands.append(mailbox)
            let task = WorkerThread.Task(
                index: index, plan: plan, resolver: resolver, commands: mailbox, reports: reports, log: log)
            threads.append(try Thread.start(name: "worker-\(index)") { body(task) })
        }
        try loop.run(owner: self)
        joinWorkers()
        logTotals()
        return end
    }

    /// A worker may have got stuck, before its last report or after it.
    private func joinWorkers() {
        let latest = max(deadline ?? loop.now.instant, loop.now.instant + Self.endTimeout)
        var stuck: [Int] = []
        for (index, thread) in threads.enumerated() {
            let hasEnded = hasEnded[index] ? thread.join(until: latest) : false
            guard !hasEnded else { continue }
            thread.detach()
            stuck.append(index)
        }
        if !deadLetters.end(until: latest) { log.warning("an order about dead letters does not end: it is given up") }
        guard !stuck.isEmpty else { return }
        log.critical("workers do not end: they are given up", metadata: ["workers": "\(stuck)"])
        if end == .drained { end = .cutShort }
    }

    // MARK: What happens

    private func signalled(_ signal: Int32) {
        if signal == SIGHUP {
            reload(at: loop.now)
        } else if isDraining {
            log.warning("stopping at once: what is in flight goes back to its queue")
            deadline = loop.now.instant + Self.endTimeout
            for mailbox in commands { mailbox.post(.stop) }
        } else {
            log.notice("draining", metadata: ["deadline_seconds": "\(plan.configuration.drainDeadline.inSeconds)"])
            drain()
        }
    }

    private func drain() {
        isDraining = true
        deadLetters.stop()
        tell(.stopping)
        let limit = plan.configuration.drainDeadline
        deadline = loop.now.instant + limit + DrainMachine.closeTimeout + Self.endTimeout
        for mailbox in commands { mailbox.post(.drain(within: limit)) }
    }

    private func heard(_ report: WorkerReport) {
        switch report.event {
        case .ready:
            isReady[report.worker] = true
            guard !saidReady, isReady.allSatisfy({ $0 }) else { return }
            saidReady = true
            onReady()
            tell(.ready)
        case .notReady:
            isReady[report.worker] = false
        case .failed(let failure, let message):
            log.critical("\(message)", metadata: ["worker": "\(report.worker)"])
            end = .failed(failure)
            if !isDraining { drain() }
        case .told(let snapshot): watch.answered(report.worker, snapshot, at: loop.now.instant)
        case .ended(let counters, let inOrder):
            totals.add(counters)
            if !inOrder, end == .drained { end = .cutShort }
            hasEnded[report.worker] = true
            watch.ended(report.worker)
            stopWhenEnded()
        }
    }

    func stopWhenEnded() {
        if hasEnded.allSatisfy({ $0 }), !deadLetters.isBusy { loop.stop() }
    }

    private func logTotals() {
        var fields: Logger.Metadata = [
            "deliveries": "\(totals.deliveries.reduce(0, +))", "retries": "\(totals[.retries])",
            "duplicates_avoided": "\(totals[.duplicatesAvoided])", "uncertain": "\(totals[.uncertain])",
            "parked": "\(totals[.parked])", "requeued": "\(totals[.requeued])",
            "dead_letters": "\(totals[.deadLetters])",
            "unsettled": "\(totals.unsettled)",
        ]
        for outcome in Outcome.allCases { fields["\(outcome.name)"] = "\(totals[outcome])" }
        log.notice("ended", metadata: fields)
    }

    private func warn(of entry: CertificateWatch.Entry, _ expiry: CertificateExpiry) {
        let level: Logger.Level
        let message: Logger.Message
        switch expiry {
        case .far: return
        case .near: (level, message) = (.notice, "a certificate expires within 30 days")
        case .soon: (level, message) = (.warning, "a certificate expires within 7 days")
        case .today: (level, message) = (.error, "a certificate expires within a day")
        case .over: (level, message) = (.error, "a certificate has expired")
        case .early: (level, message) = (.error, "a certificate is not valid yet")
        }
        log.log(
            level: level, message,
            metadata: [
                "topic": "\(entry.topic)", "environment": "\(entry.environment.rawValue)",
                "not_before": "\(entry.notBefore.inUTC)", "not_after": "\(entry.notAfter.inUTC)",
            ])
    }

    // MARK: LoopOwner

    package var nextDeadline: Instant? {
        [
            certificates.nextDeadline, deadline, nextSignOfLife, isDraining ? nil : files.nextLook,
            isWatching ? watch.nextDeadline : nil,
        ]
        .compactMap(\.self).min()
    }

    package func expire(at now: Moment) {
        if let deadline, deadline <= now.instant { loop.stop() }
        for (entry, expiry) in certificates.warnings(at: now) { warn(of: entry, expiry) }
        showLife(at: now.instant)
        lookAtFiles(at: now)
    }

    package func endTurn(at now: Moment) {
        watchWorkers(at: now)
    }
}

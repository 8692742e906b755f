package import Core
package import EventLoop
import Glibc
package import Logging

/// `harebell run`: the control thread with its signals, and the workers.
///
/// The control thread does nothing on a message's path. It starts the workers, hears from them, and turns signals into
/// commands: SIGTERM and SIGINT drain, a second one stops at once.
package final class Application: LoopOwner {
    /// How the process ends.
    package enum End: Equatable {
        case drained
        /// The broker or APNs refused us before we were ready.
        case unavailable
        case badConfiguration
        /// The drain deadline passed, or a second signal came, before everything was settled.
        case cutShort
    }

    private let configuration: Configuration
    private let log: Logger
    private let loop: EventLoop
    private let onReady: () -> Void
    private let reports: Mailbox<WorkerReport>
    private var commands: [Mailbox<WorkerCommand>] = []
    private var threads: [Thread] = []
    private var signals: SignalSource?

    private var isReady: [Bool]
    private var hasEnded: [Bool]
    private var saidReady = false
    private var isDraining = false
    private var totals: PipelineCounters
    /// For `harebell_certificate_expiry_seconds`, and what is logged about it.
    package private(set) var certificates: CertificateWatch
    private var end = End.drained

    /// - Parameters:
    ///   - certificates: those of the apps.
    ///   - onReady: called once, when every worker consumes every queue
    package init(
        _ configuration: Configuration, certificates: [CertificateWatch.Entry], log: Logger,
        onReady: @escaping () -> Void
    ) throws(EventLoopError) {
        self.configuration = configuration
        self.log = log
        self.onReady = onReady
        loop = try EventLoop()
        reports = try Mailbox()
        isReady = Array(repeating: false, count: configuration.workers)
        hasEnded = isReady
        totals = PipelineCounters(queues: configuration.queues.count)
        self.certificates = CertificateWatch(certificates, at: loop.now.instant)
    }

    /// Runs until every worker has ended.
    package func run(tokens: ProviderTokens) throws(EventLoopError) -> End {
        let handled: [Int32] = [SIGTERM, SIGINT]
        SignalSource.ignoreBrokenPipes()
        // Before the first thread starts: threads inherit the mask, so that only the control thread sees signals.
        SignalSource.block(handled)
        signals = try SignalSource(loop: loop, signals: handled) { [unowned self] in signalled($0) }
        try loop.attach(reports) { [unowned self] in heard($0) }
        let resolver = try Resolver()
        for index in 0..<configuration.workers { try start(worker: index, tokens: tokens, resolver: resolver) }
        try loop.run(owner: self)
        for thread in threads { thread.join() }
        logTotals()
        return end
    }

    private func start(worker index: Int, tokens: ProviderTokens, resolver: Resolver) throws(EventLoopError) {
        let mailbox = try Mailbox<WorkerCommand>()
        commands.append(mailbox)
        let (configuration, log, reports) = (configuration, log, reports)
        threads.append(
            try Thread.start(name: "worker-\(index)") {
                WorkerThread.run(
                    index: index, configuration: configuration, tokens: tokens, resolver: resolver, commands: mailbox,
                    reports: reports, log: log)
            })
    }

    // MARK: What happens

    private func signalled(_ signal: Int32) {
        if isDraining {
            log.warning("stopping at once: what is in flight goes back to its queue")
            for mailbox in commands { mailbox.post(.stop) }
        } else {
            log.notice("draining", metadata: ["deadline_seconds": "\(configuration.drainDeadline.inSeconds)"])
            drain()
        }
    }

    private func drain() {
        isDraining = true
        for mailbox in commands { mailbox.post(.drain) }
    }

    private func heard(_ report: WorkerReport) {
        switch report.event {
        case .ready:
            isReady[report.worker] = true
            guard !saidReady, isReady.allSatisfy({ $0 }) else { return }
            saidReady = true
            onReady()
        case .notReady:
            isReady[report.worker] = false
        case .failed(let message, let isConfiguration):
            log.critical("\(message)", metadata: ["worker": "\(report.worker)"])
            end = isConfiguration ? .badConfiguration : .unavailable
            if !isDraining { drain() }
        case .ended(let counters, let inOrder):
            totals.add(counters)
            if !inOrder, end == .drained { end = .cutShort }
            hasEnded[report.worker] = true
            if hasEnded.allSatisfy({ $0 }) { loop.stop() }
        }
    }

    private func logTotals() {
        var fields: Logger.Metadata = [
            "deliveries": "\(totals.deliveries.reduce(0, +))", "retries": "\(totals.retries)",
            "duplicates_avoided": "\(totals.duplicatesAvoided)", "uncertain": "\(totals.uncertain)",
            "dead_letters": "\(totals.deadLetters)", "unsettled": "\(totals.unsettled)",
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

    package var nextDeadline: Instant? { certificates.nextDeadline }

    package func expire(at now: Moment) {
        for (entry, expiry) in certificates.warnings(at: now) { warn(of: entry, expiry) }
    }

    package func endTurn(at now: Moment) {}
}

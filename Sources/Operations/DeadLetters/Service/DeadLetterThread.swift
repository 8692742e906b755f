import AMQP
import Configuration
import Core
import Runtime
import System

/// Runs one dead-letter order on a separate thread with its event loop and connections, away from the message path. It
/// uses the code of `harebell dead-letters` and a worker's stack size, which suffices for headers nested as deeply as a
/// frame permits.
final class DeadLetterThread: LoopOwner {
    enum Command: Sendable {
        /// End in order: messages that were not sent stay in the queue.
        case stop
    }

    struct Task: Sendable {
        let order: DeadLetterOperation
        let configuration: Configuration
        let resolver: Resolver
        let commands: Mailbox<Command>
        let reports: Mailbox<DeadLetterProgress>
    }

    /// The interval of reports while the order is running.
    static let reportInterval = Duration.milliseconds(250)

    private enum Work {
        case look(DeadLetterScan)
        case replay(DeadLetterRun)
        /// Follows a scan: renews messages that were delivered too often.
        case renewal(DeadLetterRun)

        var run: any Run {
            switch self {
            case .look(let scan): scan
            case .replay(let run), .renewal(let run): run
            }
        }
    }

    private let task: Task
    private let loop: EventLoop
    private let network: SocketNetwork
    private let reader: RequestReader
    private var work: Work?
    private var progress: DeadLetterProgress
    private var chosen = 0
    private var groups = DeadLetterGroups()
    private var isStopped = false
    private var failure: String?
    private var nextReport: Instant

    @Sendable static func run(_ task: Task) {
        var progress = DeadLetterProgress(task.configuration, verb: task.order.verb)
        do {
            let thread = try DeadLetterThread(task)
            defer { thread.work = nil }
            try thread.loop.run(owner: thread)
            progress = thread.progress
            if let failure = thread.failure { (progress.end, progress.detail) = ("failed", failure) }
        } catch {
            (progress.end, progress.detail) = ("failed", "\(error)")
        }
        task.reports.post(progress)
    }

    private init(_ task: Task) throws {
        self.task = task
        progress = DeadLetterProgress(task.configuration, verb: task.order.verb)
        reader = RequestReader(task.configuration)
        loop = try EventLoop()
        nextReport = loop.now.instant
        network = try SocketNetwork(loop: loop, resolver: task.resolver)
        try loop.attach(task.commands) { [unowned self] _ in
            isStopped = true
            work?.run.stop(at: loop.now)
        }
        work =
            try task.order.verb == .look
            ? .look(look()) : .replay(makeRun(.replay(to: ReplayTarget(task.configuration)), settings))
    }

    private func connect(_ role: AMQPRole) throws -> AMQPConnection {
        try BrokerConnections.connection(
            role, name: "harebell dead-letters \(task.order.verb.rawValue) on \(WorkerName.text(index: 0))",
            task.configuration.broker, network: network, seed: UInt64.random(in: 0 ... .max))
    }

    private var settings: DeadLetterRun.Settings {
        var settings = DeadLetterRun.Settings(queue: progress.queue)
        settings.filter = task.order.filter
        settings.limit = task.order.limit ?? .max
        settings.rate = task.order.rate
        settings.abortAbove = DeadLetterOperation.abortAbove
        return settings
    }

    // MARK: Work

    /// Scans as many messages as one connection holds.
    private func look() throws -> DeadLetterScan {
        var looked = 0
        let (order, reader) = (task.order, reader)
        return try DeadLetterScan(
            progress.queue, at: loop.now.instant, connect: { [unowned self] in try connect($0) }
        ) { [unowned self] delivery, letter in
            looked += 1
            if order.filter.matches(letter, delivery, reader) {
                chosen += 1
                groups.add(letter)
            }
            return chosen < order.limit ?? .max && looked < DeadLetterScan.window
        }
    }

    private func makeRun(_ action: DeadLetterRun.Action, _ settings: DeadLetterRun.Settings) throws -> DeadLetterRun {
        var random = SystemRandomNumberGenerator()
        return try DeadLetterRun(
            action, settings, reader: reader, id: NotificationID.random(using: &random).description,
            at: loop.now.instant, connect: connect)
    }

    private func note(_ work: Work) {
        switch work {
        case .look(let scan):
            progress.tally.atStart = scan.atStart
            progress.tally.seen = scan.seen
            progress.tally.chosen = chosen
            progress.groups = groups
            guard scan.isFinished else { return }
            switch scan.end {
            case .failed(let message)?: (progress.end, progress.detail) = ("failed", message)
            case .stopped?: progress.end = "interrupted"
            case .complete?, nil: progress.end = "complete"
            }
        case .replay(let run):
            progress.tally = run.tally
            guard run.isFinished, let end = run.end else { return }
            progress.end = end.name
            if end != .complete { progress.detail = run.explanation }
        case .renewal(let run): progress.tally.renewed = run.tally.renewed
        }
    }

    /// The work that follows, if any.
    private func next(after work: Work) throws -> Work? {
        guard case .look(let scan) = work, scan.end == .complete, scan.worn > 0, !isStopped else { return nil }
        return .renewal(try makeRun(.renew, .renewing(progress.queue)))
    }

    // MARK: LoopOwner

    var nextDeadline: Instant? {
        work?.run.nextDeadline
    }

    /// The end of the turn does the due work.
    func expire(at now: Moment) {}

    func endTurn(at now: Moment) {
        guard let work else { return loop.stop() }
        work.run.step(at: now)
        note(work)
        if work.run.isFinished {
            do {
                self.work = try next(after: work)
            } catch {
                failure = "\(error)"
                self.work = nil
            }
            if self.work == nil { loop.stop() } else { loop.requestTurn() }
        } else if nextReport <= now.instant {
            nextReport = now.instant + Self.reportInterval
            var unfinished = progress
            unfinished.end = nil
            task.reports.post(unfinished)
        }
    }
}

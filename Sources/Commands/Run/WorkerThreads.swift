import Configuration
import Core
import Logging
import Monitoring
import Pipeline
import Runtime
import System

/// The threads of the workers: their mailboxes, and what each worker last reported.
struct WorkerThreads {
    let reports: Mailbox<WorkerReport>
    var watch: WorkerWatch
    var summary: WorkSummary
    /// The sum of the counters of ended workers.
    private(set) var totals: PipelineCounters
    private(set) var commands: [Mailbox<WorkerCommand>] = []
    private var threads: [Thread] = []
    var isReady: [Bool]

    init(_ plan: AppPlan, at now: Instant) throws(EventLoopError) {
        reports = try Mailbox()
        watch = WorkerWatch(workers: plan.configuration.workers, at: now)
        summary = WorkSummary(at: now)
        totals = PipelineCounters(queues: plan.configuration.queues.count)
        isReady = Array(repeating: false, count: plan.configuration.workers)
    }

    /// Whether each worker consumes all of its queues.
    var areReady: Bool { isReady.allSatisfy { $0 } }

    var haveEnded: Bool { isReady.indices.allSatisfy { watch.hasEnded($0) } }

    mutating func start(
        _ plan: AppPlan, _ resolver: Resolver, _ log: Logger, body: @escaping WorkerThread.Body
    ) throws(EventLoopError) {
        for index in isReady.indices {
            let mailbox = try Mailbox<WorkerCommand>()
            commands.append(mailbox)
            let task = WorkerThread.Task(
                index: index, plan: plan, resolver: resolver, commands: mailbox, reports: reports, log: log)
            threads.append(try Thread.start(name: "worker-\(index)") { body(task) })
        }
    }

    func post(_ command: WorkerCommand) {
        for mailbox in commands { mailbox.post(command) }
    }

    func ask(_ workers: [Int]) {
        for worker in workers { commands[worker].post(.sendSnapshot) }
    }

    mutating func ended(_ worker: Int, _ counters: PipelineCounters) {
        totals.add(counters)
        watch.ended(worker)
    }

    /// Joins the threads. Abandons a thread that has not reported its end or does not end in time.
    ///
    /// - Returns: The workers whose threads were abandoned.
    func join(until deadline: Instant) -> [Int] {
        threads.indices.filter { index in
            let isOver = watch.hasEnded(index) && threads[index].join(until: deadline)
            if !isOver { threads[index].detach() }
            return !isOver
        }
    }
}

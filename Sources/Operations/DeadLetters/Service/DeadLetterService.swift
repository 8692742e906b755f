import Configuration
import Core
import Monitoring
import System

/// Runs an operator's dead-letter orders, one at a time, and keeps the result of the last one.
///
/// Belongs to the control thread; the work runs on a separate thread, see ``DeadLetterThread``.
final class DeadLetterService {
    private(set) var progress: DeadLetterProgress?
    private(set) var orders = DeadLetterOperationTally()
    let reports: Mailbox<DeadLetterProgress>
    private var commands: Mailbox<DeadLetterThread.Command>?
    private var thread: Thread?

    init() throws(EventLoopError) {
        reports = try Mailbox()
    }

    /// Whether an order is running.
    var isBusy: Bool { thread != nil }

    func start(
        _ order: DeadLetterOperation, _ configuration: Configuration, _ resolver: Resolver
    ) throws(EventLoopError) {
        precondition(!isBusy, "only one operation may run")
        let commands = try Mailbox<DeadLetterThread.Command>()
        let task = DeadLetterThread.Task(
            order: order, configuration: configuration, resolver: resolver, commands: commands, reports: reports)
        thread = try Thread.start(name: "dead-letters") { DeadLetterThread.run(task) }
        self.commands = commands
        progress = DeadLetterProgress(configuration, verb: order.verb)
    }

    /// Handles an operator's request to stop the running order, if any.
    func handleStop() {
        orders.add("stop", "complete")
        stop()
    }

    /// Stops the running order: messages that were not sent stay in the queue.
    func stop() {
        commands?.post(.stop)
    }

    func progressed(_ progress: DeadLetterProgress) {
        self.progress = progress
        guard let end = progress.end else { return }
        orders.add(progress.verb.rawValue, end)
        // That report was the thread's last action.
        thread?.join()
        forget()
    }

    /// Waits until the deadline, then abandons the order, which at worst leaves a duplicate.
    ///
    /// - Returns: whether it had ended.
    func end(until deadline: Instant) -> Bool {
        defer { forget() }
        guard let thread, !thread.join(until: deadline) else { return true }
        thread.detach()
        return false
    }

    private func forget() {
        thread = nil
        commands = nil
    }
}

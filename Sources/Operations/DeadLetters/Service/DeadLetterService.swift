import Configuration
import Core
import Monitoring
import System

/// Takes an operator's orders about dead letters, one at a time, and knows what became of the last one.
///
/// Belongs to the control thread; the work is done on a thread of its own, see ``DeadLetterThread``.
final class DeadLetterService {
    private(set) var progress: DeadLetterProgress?
    private(set) var orders = DeadLetterOrderTally()
    let reports: Mailbox<DeadLetterProgress>
    private var commands: Mailbox<DeadLetterThread.Command>?
    private var thread: Thread?

    init() throws(EventLoopError) {
        reports = try Mailbox()
    }

    /// Whether an order is under way.
    var isBusy: Bool { thread != nil }

    func start(
        _ order: DeadLetterOrder, _ configuration: Configuration, _ resolver: Resolver
    ) throws(EventLoopError) {
        precondition(!isBusy, "one order at a time")
        let commands = try Mailbox<DeadLetterThread.Command>()
        let task = DeadLetterThread.Task(
            order: order, configuration: configuration, resolver: resolver, commands: commands, reports: reports)
        thread = try Thread.start(name: "dead-letters") { DeadLetterThread.run(task) }
        self.commands = commands
        progress = DeadLetterProgress(configuration, verb: order.verb)
    }

    /// An operator wants what is under way to end, if anything is.
    func obeyStop() {
        orders.add("stop", "complete")
        stop()
    }

    /// Ends what is under way in order: what was not sent stays.
    func stop() {
        commands?.post(.stop)
    }

    func heard(_ progress: DeadLetterProgress) {
        self.progress = progress
        guard let end = progress.end else { return }
        orders.add(progress.verb.rawValue, end)
        // That report was the last thing that it did.
        thread?.join()
        forget()
    }

    /// Waits no longer than that; what is under way is given up then, which leaves a message twice at worst.
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

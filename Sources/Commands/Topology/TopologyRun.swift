import AMQP
import Core

/// Declares a plan on the broker step by step. Sans-IO like a worker.
///
/// It reports a step that the broker refuses (for example because a queue exists with other arguments) and continues
/// with the next. It reopens lost connections.
final class TopologyRun: Run {
    /// The timeout for a step.
    static let timeLimit = Duration.seconds(30)

    private let steps: [TopologyPlan.Step]
    private let control: AMQPConnection
    private var isWaiting = false
    private var broker: BrokerProgress
    private var end: OrderlyClose?
    /// One report for each step that the broker answered.
    private(set) var reports: [TopologyReport] = []
    /// Why the broker cannot be used.
    private(set) var failure: String?
    private(set) var isFinished = false

    init(_ plan: TopologyPlan, control: AMQPConnection, at now: Instant) {
        steps = plan.steps
        self.control = control
        broker = BrokerProgress(limit: Self.timeLimit, at: now)
        control.start(at: now)
    }

    var nextDeadline: Instant? {
        guard !isFinished else { return nil }
        return end?.deadline ?? min(broker.deadline, control.nextDeadline ?? .distantFuture)
    }

    func trouble(at now: Instant) -> String? { broker.trouble(at: now) }

    func step(at moment: Moment) {
        let now = moment.instant
        control.expire(at: now)
        while end == nil, let event = control.nextEvent(at: now) { take(event, at: now) }
        if end == nil, let failure = broker.failure(at: now) { fail(failure, at: now) }
        if end == nil, control.isOpen, !isWaiting {
            if reports.count < steps.count {
                isWaiting = true
                control.request(steps[reports.count].declaration, at: now)
            } else {
                end = OrderlyClose([control], at: now)
            }
        }
        isFinished = end?.isOver(at: now) ?? false
    }

    private func take(_ event: AMQPConnection.Event, at now: Instant) {
        broker.took(event, at: now)
        switch event {
        case .engine(.responded(let response)):
            isWaiting = false
            broker.restart(at: now)
            if case .refused(let error) = response {
                reports.append(TopologyReport(steps[reports.count], .refused, detail: error.message))
            } else {
                reports.append(TopologyReport(steps[reports.count], .declared))
            }
        case .disconnected(_, let error, _):
            // A step whose response was lost is repeated: declaring is idempotent.
            isWaiting = false
            if !error.isTransient { fail(error.description, at: now) }
        default: break
        }
    }

    private func fail(_ reason: String, at now: Instant) {
        failure = reason
        end = OrderlyClose([control], at: now)
    }

    func stop(at now: Moment) {
        if end == nil { fail("stopped", at: now.instant) }
    }
}

import AMQP
import Core

/// Declares a plan on the broker step by step. Sans-IO like a worker.
///
/// It reports a step that the broker refuses (for example because a queue exists with other arguments) and continues
/// with the next. It reopens lost connections.
final class TopologyRun: Run {
    static let timeLimit = Duration.seconds(30)

    private let steps: [TopologyPlan.Step]
    private let control: AMQPConnection
    private var isWaiting = false
    private var broker: BrokerProgress
    private var end: OrderlyClose?
    /// The broker's error for each step that it answered; `nil` for a declared one.
    private(set) var answers: [String?] = []
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
        if control.isEstablished { broker.greeted() }
        while end == nil, let event = control.nextEvent(at: now) { take(event, at: now) }
        if end == nil, let failure = broker.failure(at: now) { fail(failure, at: now) }
        if end == nil, control.isOpen, !isWaiting {
            if answers.count < steps.count {
                isWaiting = true
                control.request(steps[answers.count].declaration, at: now)
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
            if case .refused(let error) = response { answers.append(error.message) } else { answers.append(nil) }
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

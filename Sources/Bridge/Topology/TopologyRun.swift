package import AMQP
package import Core

/// Declares a plan on the broker, step by step. Sans-IO like a worker.
///
/// A step that the broker refuses (a queue exists with other arguments, say) is told and does not stop the others. Lost
/// connections are made again for as long as the patience lasts.
package final class TopologyRun {
    package enum Event {
        case done(TopologyPlan.Step)
        case refused(TopologyPlan.Step, AMQPError)
        /// The broker cannot be used; `nil` when it is only silent.
        case failed(AMQPError?)
    }

    /// How long the broker may leave a step, or the wish for a connection, without an answer.
    package static let patience = Duration.seconds(30)

    private let steps: [TopologyPlan.Step]
    private let control: AMQPConnection
    private var next = 0
    private var isWaiting = false
    private var lastProgress: Instant
    private var lastLoss: AMQPError?
    private var events = EventQueue<Event>()
    package private(set) var isFinished = false

    package init(_ plan: TopologyPlan, control: AMQPConnection, at now: Instant) {
        steps = plan.steps
        self.control = control
        lastProgress = now
        control.start(at: now)
    }

    package func nextEvent() -> Event? {
        events.popFirst()
    }

    package var nextDeadline: Instant? {
        guard !isFinished else { return nil }
        let end = lastProgress + Self.patience
        return control.nextDeadline.map { min($0, end) } ?? end
    }

    package func expire(at now: Instant) {
        control.expire(at: now)
        step(at: now)
    }

    package func step(at now: Instant) {
        while let event = control.nextEvent(at: now) {
            switch event {
            case .engine(.replied(.refused(let error))):
                events.append(.refused(steps[next], error))
                advance(at: now)
            case .engine(.replied):
                events.append(.done(steps[next]))
                advance(at: now)
            case .disconnected(_, let error, _):
                // A step whose answer got lost is asked again: declaring is idempotent.
                isWaiting = false
                lastLoss = error
                if !error.isTransient { fail(error, at: now) }
            default: break
            }
        }
        if now >= lastProgress + Self.patience { fail(lastLoss, at: now) }
        guard !isFinished, control.isOpen, !isWaiting else { return }
        guard next < steps.count else {
            stop(at: now)
            return
        }
        isWaiting = true
        control.request(Self.request(steps[next]), at: now)
    }

    private func advance(at now: Instant) {
        isWaiting = false
        lastProgress = now
        next += 1
    }

    private func fail(_ error: AMQPError?, at now: Instant) {
        guard !isFinished else { return }
        events.append(.failed(error))
        stop(at: now)
    }

    /// Ends it where it is.
    package func stop(at now: Instant) {
        isFinished = true
        control.close(at: now)
    }

    /// Whether the connection is closed after the end.
    package var isClosed: Bool {
        isFinished && control.isClosed
    }

    private static func request(_ step: TopologyPlan.Step) -> ControlRequest {
        switch step {
        case .exchange(let exchange): .declareExchange(exchange)
        case .queue(let queue, _): .declareQueue(queue)
        case .binding(let queue, let exchange, let key):
            .bindQueue(queue, exchange: exchange, routingKey: key, arguments: FieldTable())
        }
    }
}

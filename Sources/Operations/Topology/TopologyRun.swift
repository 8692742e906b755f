package import AMQP
package import Core
import DequeModule

/// Declares a plan on the broker, or compares it with the broker's state, step by step. Sans-IO like a worker.
///
/// It reports a step that the broker refuses (for example because a queue exists with other arguments) and continues
/// with the next. It reopens lost connections within ``timeLimit``.
package final class TopologyRun: Run {
    package enum Purpose: Sendable {
        case apply, compare
    }

    package enum Event {
        /// Declared, or existed already.
        case done(TopologyPlan.Step)
        case refused(TopologyPlan.Step, AMQPError)
        /// Compared; `nil` if that is impossible: AMQP cannot read bindings.
        case compared(TopologyPlan.Step, DeclarationComparison.Finding?)
        /// The broker cannot be used; `nil` if it only does not answer.
        case failed(AMQPError?)
    }

    /// The timeout for a step or a connection.
    package static let timeLimit = Duration.seconds(30)

    private let steps: [TopologyPlan.Step]
    private let purpose: Purpose
    private let control: AMQPConnection
    private var next = 0
    /// The comparison of the next step.
    private var comparison: DeclarationComparison?
    private var isWaiting = false
    private var lastProgress: Instant
    private var lastLoss: AMQPError?
    private var events = Deque<Event>()
    private var isEnding = false

    package init(_ plan: TopologyPlan, _ purpose: Purpose, control: AMQPConnection, at now: Instant) {
        steps = plan.steps
        self.purpose = purpose
        self.control = control
        lastProgress = now
        control.start(at: now)
    }

    package func nextEvent() -> Event? {
        events.popFirst()
    }

    package var nextDeadline: Instant? {
        guard !isEnding else { return nil }
        let end = lastProgress + Self.timeLimit
        return control.nextDeadline.map { min($0, end) } ?? end
    }

    package func step(at moment: Moment) {
        let now = moment.instant
        control.expire(at: now)
        while let event = control.nextEvent(at: now) {
            switch event {
            case .engine(.responded(let response)): responded(response, at: now)
            case .disconnected(_, let error, _):
                // A step whose response was lost is repeated: declaring and comparing are idempotent.
                isWaiting = false
                comparison = nil
                lastLoss = error
                if !error.isTransient { fail(error, at: now) }
            default: break
            }
        }
        if now >= lastProgress + Self.timeLimit { fail(lastLoss, at: now) }
        guard !isEnding, control.isOpen, !isWaiting else { return }
        if let request = nextRequest() {
            isWaiting = true
            control.request(request, at: now)
        } else {
            end(at: now)
        }
    }

    /// `nil` after the last step.
    private func nextRequest() -> ControlRequest? {
        while next < steps.count {
            guard purpose == .compare else { return steps[next].declaration }
            if comparison == nil { comparison = steps[next].subject.map(DeclarationComparison.init) }
            if let request = comparison?.nextRequest { return request }
            events.append(.compared(steps[next], comparison?.finding))
            comparison = nil
            next += 1
        }
        return nil
    }

    private func responded(_ response: ControlResponse, at now: Instant) {
        isWaiting = false
        lastProgress = now
        guard purpose == .apply else {
            comparison?.take(response)
            return
        }
        if case .refused(let error) = response {
            events.append(.refused(steps[next], error))
        } else {
            events.append(.done(steps[next]))
        }
        next += 1
    }

    private func fail(_ error: AMQPError?, at now: Instant) {
        guard !isEnding else { return }
        events.append(.failed(error))
        end(at: now)
    }

    package func stop(at now: Moment) {
        end(at: now.instant)
    }

    private func end(at now: Instant) {
        isEnding = true
        control.close(at: now)
    }

    package var isFinished: Bool {
        isEnding && control.isClosed
    }
}

extension TopologyPlan.Step {
    fileprivate var declaration: ControlRequest {
        switch self {
        case .exchange(let exchange): .declareExchange(exchange)
        case .queue(let queue, _): .declareQueue(queue)
        case .binding(let queue, let exchange, let key):
            .bindQueue(queue, exchange: exchange, routingKey: key, arguments: FieldTable())
        }
    }

    /// The part that can be compared with the broker's state.
    package var subject: DeclarationComparison.Subject? {
        switch self {
        case .exchange(let exchange): .exchange(exchange)
        case .queue(let queue, _): .queue(queue)
        case .binding: nil
        }
    }
}

package import AMQP
package import Core
import DequeModule

/// Declares a plan on the broker step by step. Sans-IO like a worker.
///
/// It reports a step that the broker refuses (for example because a queue exists with other arguments) and continues
/// with the next. It reopens lost connections within ``timeLimit``.
package final class TopologyRun: Run {
    package enum Event {
        /// Declared, or existed already.
        case done(TopologyPlan.Step)
        case refused(TopologyPlan.Step, AMQPError)
        /// Why the broker cannot be used.
        case failed(String)
    }

    /// The timeout for a step or a connection.
    package static let timeLimit = Duration.seconds(30)

    private let steps: [TopologyPlan.Step]
    private let control: AMQPConnection
    private var next = 0
    private var isWaiting = false
    private var timeout: ProgressTimeout
    private var events = Deque<Event>()
    private var isEnding = false

    package init(_ plan: TopologyPlan, control: AMQPConnection, at now: Instant) {
        steps = plan.steps
        self.control = control
        timeout = ProgressTimeout(limit: Self.timeLimit, at: now)
        control.start(at: now)
    }

    package func nextEvent() -> Event? {
        events.popFirst()
    }

    package var nextDeadline: Instant? {
        guard !isEnding else { return nil }
        return min(timeout.deadline, control.nextDeadline ?? .distantFuture)
    }

    package func step(at moment: Moment) {
        let now = moment.instant
        control.expire(at: now)
        while let event = control.nextEvent(at: now) {
            switch event {
            case .engine(.responded(let response)): responded(response, at: now)
            case .disconnected(_, let error, _):
                // A step whose response was lost is repeated: declaring is idempotent.
                isWaiting = false
                timeout.connectionLost(error)
                if !error.isTransient { fail(error.description, at: now) }
            default: break
            }
        }
        if let failure = timeout.failure(at: now) { fail(failure, at: now) }
        guard !isEnding, control.isOpen, !isWaiting else { return }
        guard next < steps.count else { return end(at: now) }
        isWaiting = true
        control.request(steps[next].declaration, at: now)
    }

    private func responded(_ response: ControlResponse, at now: Instant) {
        isWaiting = false
        timeout.restart(at: now)
        if case .refused(let error) = response {
            events.append(.refused(steps[next], error))
        } else {
            events.append(.done(steps[next]))
        }
        next += 1
    }

    private func fail(_ reason: String, at now: Instant) {
        guard !isEnding else { return }
        events.append(.failed(reason))
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

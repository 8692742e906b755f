package import AMQP
package import Core
import Logging

/// Publishes until the broker has confirmed.
extension Pipeline {
    func publish(
        _ publication: Publication, for request: InFlightRequest, _ kind: PendingPublication.Kind, at now: Moment
    ) {
        request.open += 1
        counters.unconfirmed += 1
        publish(PendingPublication(request: request, publication: publication, kind: kind), at: now)
    }

    /// Publishes after what waits already.
    func publish(_ pending: PendingPublication, at now: Moment) {
        unpublished.append(pending)
        publishWaiting(at: now)
    }

    /// Publishes what waits for the publishing connection, as far as that takes it.
    package func publishWaiting(at now: Moment) {
        while doors.canPublish, let pending = unpublished.popFirst() {
            do {
                unconfirmed.insert(pending, at: try doors.publish(pending.publication))
            } catch {
                // It would fail for ever: no frame takes what a request brought along for its result.
                returned(pending, error.message, at: now)
            }
        }
    }

    /// The broker has told the end of a publish.
    package func confirmed(_ sequence: UInt64, _ confirmation: Confirmation, at now: Moment) {
        let pending = unconfirmed.remove(sequence)
        switch confirmation {
        case .acked:
            counters.unconfirmed -= 1
            closeOne(of: pending.request, at: now)
        case .nacked:
            counters.refusedPublishes += 1
            pending.refusals += 1
            later.insert(.republish(pending), due: now.instant + settings.pauseAfterRefusal(pending.refusals))
        case .lost:
            unpublished.append(pending)
        case .returned(let code, let text):
            counters.returned += 1
            returned(pending, "\(code) \(text)", at: now)
        }
    }

    /// No queue took a publish. A result goes where the configuration sends results, then to the dead letters with its
    /// request; a dead letter waits until somebody makes its queue.
    func returned(_ pending: PendingPublication, _ reply: String, at now: Moment) {
        switch pending.kind {
        case .result(let report, let id):
            if let route = settings.results(for: report.outcome), pending.request.delivery.replyTo != nil {
                counters.unconfirmed -= 1
                pending.request.open -= 1
                publish(
                    pending.publication.rerouted(to: route), for: pending.request,
                    .routedResult(report: report, id: id), at: now)
            } else {
                abandonResult(pending, report, id, reply, at: now)
            }
        case .routedResult(let report, let id):
            abandonResult(pending, report, id, reply, at: now)
        case .feedback:
            log.error(
                "the feedback queue does not exist: an unregistered result went only to its own queue",
                metadata: ["reply": "\(reply)"])
            counters.unconfirmed -= 1
            closeOne(of: pending.request, at: now)
        case .deadLetter:
            pending.refusals += 1
            log.error(
                "no queue takes dead letters: the request is held until one does ('harebell topology --apply' makes it)",
                metadata: ["reply": "\(reply)"])
            later.insert(.republish(pending), due: now.instant + settings.pauseAfterRefusal(pending.refusals))
        }
    }

    func abandonResult(
        _ pending: PendingPublication, _ report: Report, _ id: NotificationID?, _ reply: String, at now: Moment
    ) {
        counters.unconfirmed -= 1
        if pending.request.firstFailure == nil {
            var report = report
            report.detail = "the result could not be routed (\(reply))" + (report.detail.map { "; \($0)" } ?? "")
            pending.request.firstFailure = (id, report)
        }
        if !settings.callsForDeadLetter(report.outcome) { pending.request.failures += 1 }
        closeOne(of: pending.request, at: now)
    }
}

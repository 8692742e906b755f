package import AMQP
package import Core
import Logging

/// Publishes until the broker has confirmed.
extension Pipeline {
    func publish(
        _ publication: consuming Publication, for request: InFlightRequest, _ kind: consuming PendingPublication.Kind,
        at now: Moment
    ) {
        request.open += 1
        counters.unconfirmed += 1
        publish(PendingPublication(request: request, publication: publication, kind: kind), at: now)
    }

    /// Publishes after what waits already.
    func publish(_ pending: PendingPublication, at now: Moment) {
        if pending.closes > 0 { suspect(pending) } else { unpublished.append(pending) }
        publishWaiting(at: now)
    }

    /// Something like this, or this, was taken out before: it goes alone, and one more close is enough to know.
    private func suspect(_ pending: PendingPublication) {
        pending.closes = SuspectPublishes.closesUntilQuarantine - 1
        suspects.append(pending)
    }

    /// Publishes what waits for the publishing connection, as far as that takes it.
    package func publishWaiting(at now: Moment) {
        while doors.canPublish, !suspects.isTrying {
            if suspects.isEmpty {
                guard let pending = unpublished.popFirst() else { return }
                switch suspects.verdict(on: pending, at: now.instant) {
                case .open: write(pending, at: now)
                case .doubtful: suspect(pending)
                case .refused(let reply): quarantine(pending, reply, at: now)
                }
            } else {
                // What else is outstanding has to end first.
                guard unconfirmed.count == 0, let suspect = suspects.next() else { return }
                if case .refused(let reply) = suspects.verdict(on: suspect, at: now.instant) {
                    suspects.dropCandidate()
                    quarantine(suspect, reply, at: now)
                } else {
                    suspects.tried()
                    write(suspect, at: now)
                }
            }
        }
    }

    private func write(_ pending: PendingPublication, at now: Moment) {
        do {
            unconfirmed.insert(pending, at: try doors.publish(pending.publication))
        } catch {
            // It would fail for ever: no frame takes what a request brought along for its result.
            if suspects.candidate === pending { suspects.dropCandidate() }
            returned(pending, error.message, at: now)
        }
    }

    /// The broker has told the end of a publish.
    package func confirmed(_ sequence: UInt64, _ confirmation: Confirmation, at now: Moment) {
        let pending = unconfirmed.remove(sequence)
        guard confirmation != .lost else { return suspects.lost(pending) }
        if suspects.candidate === pending {
            suspects.dropCandidate()
            suspects.taken(pending.publication)
            pending.closes = 0
        }
        switch confirmation {
        case .acked:
            counters.unconfirmed -= 1
            if case .retry = pending.kind { pending.request.parked = [] }
            closeOne(of: pending.request, at: now)
        case .nacked:
            counters.refusedPublishes += 1
            pending.refusals += 1
            later.insert(.republish(pending), due: now.instant + settings.pauseAfterRefusal(pending.refusals))
        case .lost: break
        case .returned(let code, let text):
            counters.returned += 1
            returned(pending, "\(code) \(text)", at: now)
        }
    }

    /// The publishing connection is gone: what had no confirm is published again. If the broker closed it over a publish,
    /// each goes alone, until it is known which one that was.
    package func publisherLost(_ error: AMQPError, at now: Moment) {
        let (lost, wasAlone) = suspects.takeLost()
        guard error.isAboutPublish else {
            if !wasAlone { for pending in lost { unpublished.append(pending) } }
            return
        }
        guard wasAlone, let suspect = suspects.candidate else {
            if !lost.isEmpty {
                log.warning(
                    "the broker closed the connection over a publish: each that is unconfirmed goes again alone",
                    metadata: ["error": "\(error)", "unconfirmed": "\(lost.count)"])
            }
            for pending in lost { suspects.append(pending) }
            return
        }
        suspect.closes += 1
        guard suspect.closes >= SuspectPublishes.closesUntilQuarantine else { return }
        suspects.dropCandidate()
        suspects.refused(suspect.publication, error, until: now.instant + settings.quarantine)
        log.error(
            "the broker closes the connection over one publish: it is taken out",
            metadata: traced(
                suspect.request.delivery,
                [
                    "error": "\(error)",
                    "exchange": "\(String(decoding: suspect.publication.exchange, as: UTF8.self))",
                    "routing_key": "\(String(decoding: suspect.publication.routingKey, as: UTF8.self))",
                ]))
        quarantine(suspect, error.message, at: now)
    }

    /// The broker does not stand this publish. A result goes another way; a dead letter waits, for there is none.
    private func quarantine(_ pending: PendingPublication, _ reply: String, at now: Moment) {
        counters.quarantined += 1
        guard case .deadLetter = pending.kind else { return returned(pending, reply, at: now) }
        log.error(
            "the broker does not take a dead letter: the request is held, and it is tried again",
            metadata: traced(
                pending.request.delivery,
                ["error": "\(reply)", "pause_seconds": "\(settings.quarantine.components.seconds)"]))
        later.insert(.republish(pending), due: now.instant + settings.quarantine)
    }

    /// No queue took a publish. A result goes where the configuration sends results, then to the dead letters with its
    /// request; what should have been parked ends; a dead letter waits until somebody makes its queue.
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
                metadata: traced(pending.request.delivery, ["reply": "\(reply)"]))
            counters.unconfirmed -= 1
            closeOne(of: pending.request, at: now)
        case .retry, .putOff: retryReturned(pending, reply, at: now)
        case .deadLetter:
            pending.refusals += 1
            log.error(
                "no queue takes dead letters: the request is held until one does ('harebell topology --apply' makes it)",
                metadata: traced(pending.request.delivery, ["reply": "\(reply)"]))
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
            pending.request.firstFailure = InFlightRequest.Failure(id: id, report: report)
        }
        if !settings.callsForDeadLetter(report.outcome) { pending.request.failures += 1 }
        closeOne(of: pending.request, at: now)
    }
}

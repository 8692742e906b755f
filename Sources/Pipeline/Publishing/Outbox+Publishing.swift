package import AMQP
package import Core
import DequeModule
import Logging

/// From a publish to the broker's confirm.
extension Outbox {
    mutating func publish(
        _ publication: consuming Publication, for request: InFlightRequest, _ kind: consuming PendingPublication.Kind,
        at now: Moment
    ) {
        request.open += 1
        counters.unconfirmed += 1
        guard publication.exchange.isEmpty, DirectReplyName.isPrefix(of: publication.routingKey) else {
            let pending = PendingPublication(request: request, publication: publication, kind: kind, role: .queues)
            return publish(pending, at: now)
        }
        let reply = PendingPublication(
            request: request, publication: Self.directReply(publication), kind: kind, role: .directReplies)
        guard DirectReplyName.isWellFormed(reply.publication.routingKey) else {
            return returned(reply, "reply_to is not a direct reply-to name of the broker", at: now)
        }
        publish(reply, at: now)
    }

    /// Publishes after everything that already waits.
    mutating func publish(_ pending: PendingPublication, at now: Moment) {
        pending.isWaiting = false
        let index = pending.role.rawValue
        if pending.role == .directReplies {
            if case .refused(let replyText) = outlets[index].suspects.verdict(on: pending, at: now.instant) {
                return quarantine(pending, replyText, at: now)
            }
            guard !isFull(outlets[index], at: now) else { return divertReply(pending, at: now) }
        }
        pending.waitingSince = now.instant
        if pending.closes > 0 { suspect(pending) } else { outlets[index].unpublished.append(pending) }
    }

    /// A similar publish, or this one, was in quarantine before: it is published alone, and one more close is proof.
    private mutating func suspect(_ pending: PendingPublication) {
        pending.closes = SuspectPublishes.closesUntilQuarantine - 1
        outlets[pending.role.rawValue].suspects.append(pending)
    }

    /// Whether the limit of waiting direct replies is reached. A working connection publishes them immediately.
    private func isFull(_ outlet: borrowing PublishOutlet, at now: Moment) -> Bool {
        guard !outlet.isOpen || !outlet.suspects.isEmpty else { return false }
        return now.instant < outlet.unreliableUntil && outlet.waiting >= refusedResults.limit
    }

    /// The next publish for an open publishing connection. ``published(_:as:)`` or ``cannotPublish(_:_:at:)`` reports
    /// what was done with it.
    package mutating func nextPublication(on role: PublisherRole, at now: Moment) -> PendingPublication? {
        let index = role.rawValue
        while !outlets[index].suspects.isTrying {
            guard outlets[index].suspects.isEmpty else {
                // All other outstanding publishes have to end first.
                guard outlets[index].unconfirmed.count == 0, let suspect = outlets[index].suspects.next() else {
                    return nil
                }
                guard case .refused(let replyText) = outlets[index].suspects.verdict(on: suspect, at: now.instant)
                else {
                    outlets[index].suspects.candidateWritten()
                    return suspect
                }
                outlets[index].suspects.dropCandidate()
                quarantine(suspect, replyText, at: now)
                continue
            }
            guard let pending = outlets[index].unpublished.popFirst() else { return nil }
            switch outlets[index].suspects.verdict(on: pending, at: now.instant) {
            case .open: return pending
            case .doubtful: suspect(pending)
            case .refused(let replyText): quarantine(pending, replyText, at: now)
            }
        }
        return nil
    }

    /// Whether a publishing connection accepts publishes now.
    ///
    /// - Returns: whether a publish waits for this connection.
    package mutating func publisher(_ role: PublisherRole, isOpen: Bool) -> Bool {
        outlets[role.rawValue].isOpen = isOpen
        return outlets[role.rawValue].waiting > 0
    }

    /// A publish was written; its confirm will carry this number.
    package mutating func published(_ pending: PendingPublication, as sequence: UInt64) {
        outlets[pending.role.rawValue].unconfirmed.insert(pending, at: sequence)
    }

    /// The properties of a publish do not fit into a frame, so it would always fail.
    package mutating func cannotPublish(_ pending: PendingPublication, _ error: AMQPError, at now: Moment) {
        let index = pending.role.rawValue
        if outlets[index].suspects.candidate === pending { outlets[index].suspects.dropCandidate() }
        returned(pending, error.message, at: now)
    }

    /// The broker confirmed, refused or returned a publish, or the connection was lost.
    package mutating func confirmed(
        _ sequence: UInt64, _ confirmation: Confirmation, on role: PublisherRole, at now: Moment
    ) {
        let index = role.rawValue
        let pending = outlets[index].unconfirmed.remove(sequence)
        guard confirmation != .lost else { return outlets[index].suspects.lost(pending) }
        if outlets[index].suspects.candidate === pending {
            outlets[index].suspects.dropCandidate()
            outlets[index].suspects.taken(pending.publication)
            pending.closes = 0
        }
        switch confirmation {
        case .acked: taken(pending, at: now)
        case .nacked: publishRefused(pending, at: now)
        case .lost: break
        case .returned(let code, let text):
            counters[.returned] += 1
            returned(pending, "\(code) \(text)", at: now)
        }
    }

    /// A publish reached its queue or its requester.
    mutating func taken(_ pending: PendingPublication, at now: Moment) {
        counters.unconfirmed -= 1
        refusedResults.ended(pending)
        accepted(pending)
        if let trace = pending.request.trace { trace.confirmed(pending, at: now.instant) }
        if case .retry = pending.kind { pending.request.parked = [] }
        closeOne(of: pending.request, at: now)
    }

    // MARK: Refusals

    /// The queue of a publish refuses it for now. A result is diverted if its reply queue keeps refusing it; everything
    /// else has only one destination.
    private mutating func publishRefused(_ pending: PendingPublication, at now: Moment) {
        counters[.refusedPublishes] += 1
        pending.refusals += 1
        let pause = settings.pauseAfterRefusal(pending.refusals)
        guard pending.isReply else {
            if refusing.refused(pending.publication, at: now.instant) {
                log.error(
                    "a queue of the configuration refuses publishes: their requests are held until it accepts them",
                    metadata: [
                        "exchange": "\(pending.exchange)",
                        "messaging.rabbitmq.destination.routing_key": "\(pending.routingKey)",
                    ])
            }
            waiting.insert(pending, due: now.instant + pause)
            return
        }
        let exhausted = refusedResults.refused(pending, at: now.instant)
        if !exhausted.contains(where: { $0 === pending }) {
            let due = refusedResults.nextRetry(of: pending, after: pause, at: now.instant)
            waiting.insert(pending, due: due)
        }
        giveUp(exhausted, areQueued: exhausted.count > 1 || exhausted.first !== pending, at: now)
    }

    /// The queue of a publish no longer counts as refusing, because it is gone or the broker rejects the publish
    /// itself.
    private mutating func forgetRefusal(of pending: PendingPublication) {
        if !pending.isReply { _ = refusing.accepted(pending.publication) }
    }

    private mutating func accepted(_ pending: PendingPublication) {
        guard refusing.accepted(pending.publication) else { return }
        log.notice(
            "a queue of the configuration accepts publishes again",
            metadata: [
                "exchange": "\(pending.exchange)",
                "messaging.rabbitmq.destination.routing_key": "\(pending.routingKey)",
            ])
    }

    /// A refused publish is due again.
    mutating func republish(_ pending: PendingPublication, at now: Moment) {
        if refusedResults.isOverdue(pending, at: now.instant) {
            giveUp([pending], areQueued: false, at: now)
        } else {
            publish(pending, at: now)
        }
    }

    /// Diverts results whose reply queue keeps refusing them.
    ///
    /// - Parameter areQueued: whether some of them wait for a retry. Finding them requires a search of all waiting
    ///   publishes.
    private mutating func giveUp(_ results: [PendingPublication], areQueued: Bool = true, at now: Moment) {
        guard !results.isEmpty else { return }
        if areQueued {
            let all = Set(results.map(ObjectIdentifier.init))
            waiting.removeAll { all.contains(ObjectIdentifier($0)) }
        }
        for result in results {
            divert(
                result, because: "the reply queue refuses it",
                "a reply queue refuses results: they go to the results target or the dead letters", at: now)
        }
    }

    mutating func divertReply(_ reply: PendingPublication, at now: Moment) {
        divert(
            reply, because: "direct replies cannot be published now",
            "direct replies cannot be published: they go to the results target or the dead letters", at: now)
    }

    /// A result cannot reach the destination in its request.
    private mutating func divert(
        _ result: PendingPublication, because reason: String, _ message: Logger.Message, at now: Moment
    ) {
        counters[.divertedResults] += 1
        log.warning(
            message,
            metadata: result.request.delivery.traced(
                ["messaging.rabbitmq.destination.routing_key": "\(result.routingKey)"]))
        returned(result, reason, at: now)
    }

    /// Starts the drain: results no longer wait for refusing reply queues, and direct replies wait only briefly for
    /// their connections.
    package mutating func stopWaitingForReplyQueues(at now: Moment) {
        giveUp(refusedResults.stop(), at: now)
    }

    /// A publishing connection was lost: unconfirmed publishes are repeated. If the broker closed it over a publish,
    /// each is published alone until the cause is found.
    package mutating func publisherLost(_ role: PublisherRole, _ error: AMQPError, at now: Moment) {
        let index = role.rawValue
        outlets[index].unreliableUntil = now.instant + settings.quarantine
        let (lost, wasAlone) = outlets[index].suspects.takeLost()
        for pending in lost { pending.waitingSince = now.instant }
        guard error.isAboutPublish else {
            if !wasAlone { for pending in lost { outlets[index].unpublished.append(pending) } }
            return
        }
        guard wasAlone, let suspect = outlets[index].suspects.candidate else {
            if !lost.isEmpty {
                log.warning(
                    "a publish made the broker close the connection: the unconfirmed ones are repeated one at a time",
                    metadata: ["error.message": "\(error)", "unconfirmed": .stringConvertible(lost.count)])
            }
            for pending in lost { outlets[index].suspects.append(pending) }
            if role == .directReplies { dropExcess(role, at: now) }
            return
        }
        suspect.closes += 1
        guard suspect.closes >= SuspectPublishes.closesUntilQuarantine else { return }
        outlets[index].suspects.dropCandidate()
        outlets[index].suspects.refused(suspect.publication, error, until: now.instant + settings.quarantine)
        log.error(
            "one publish makes the broker close the connection: it is isolated",
            metadata: suspect.request.delivery.traced(
                [
                    "error.message": "\(error)", "exchange": "\(suspect.exchange)",
                    "messaging.rabbitmq.destination.routing_key": "\(suspect.routingKey)",
                ]))
        quarantine(suspect, error.message, at: now)
    }

    /// Diverts direct replies beyond a tenth of the prefetch while publishes are tried alone.
    private mutating func dropExcess(_ role: PublisherRole, at now: Moment) {
        while outlets[role.rawValue].waiting > refusedResults.limit, let pending = outlets[role.rawValue].popWaiting() {
            divertReply(pending, at: now)
        }
    }

    /// The broker closes the connection over this publish. A result is diverted; a dead letter waits, because it has
    /// only one destination.
    private mutating func quarantine(_ pending: PendingPublication, _ replyText: String, at now: Moment) {
        counters[.quarantined] += 1
        forgetRefusal(of: pending)
        guard case .deadLetter = pending.kind else { return returned(pending, replyText, at: now) }
        log.error(
            "the broker refuses a dead letter: the request is held, and the publish is retried",
            metadata: pending.request.delivery.traced(
                [
                    "error.message": "\(replyText)",
                    "pause_seconds": .stringConvertible(settings.quarantine.components.seconds),
                ]))
        waiting.insert(pending, due: now.instant + settings.quarantine)
    }

    /// The broker could not route a publish. A result goes to the configured results, then into a dead letter with its
    /// request. A parked notification ends. A dead letter waits until an operator creates its queue.
    mutating func returned(_ pending: PendingPublication, _ replyText: String, at now: Moment) {
        refusedResults.ended(pending)
        forgetRefusal(of: pending)
        switch pending.kind {
        case .result(let note, let isReply):
            guard isReply, let route = settings.results(for: note.report.outcome) else {
                return abandonResult(pending, note, replyText, at: now)
            }
            counters.unconfirmed -= 1
            pending.request.open -= 1
            publish(
                pending.publication.rerouted(to: route), for: pending.request, .result(note, isReply: false), at: now)
        case .feedback:
            log.error(
                "the feedback queue does not exist: an unregistered result went only to its own queue",
                metadata: pending.request.delivery.traced(["reply": "\(replyText)"]))
            counters.unconfirmed -= 1
            closeOne(of: pending.request, at: now)
        case .retry, .postpone: retryReturned(pending, replyText, at: now)
        case .deadLetter:
            pending.refusals += 1
            log.error(
                """
                no queue receives dead letters: the request is held until one does ('harebell topology --apply' \
                makes it)
                """,
                metadata: pending.request.delivery.traced(["reply": "\(replyText)"]))
            waiting.insert(pending, due: now.instant + settings.pauseAfterRefusal(pending.refusals))
        }
    }

    /// The request becomes a dead letter that contains its result.
    mutating func abandonResult(
        _ pending: PendingPublication, _ note: ResultNote, _ replyText: String, at now: Moment
    ) {
        log.warning(
            "no queue takes a result: its request becomes a dead letter with it",
            metadata: pending.request.delivery.traced(
                [
                    "exchange": "\(pending.exchange)",
                    "messaging.rabbitmq.destination.routing_key": "\(pending.routingKey)", "reply": "\(replyText)",
                ]))
        counters.unconfirmed -= 1
        if pending.request.firstFailure == nil {
            var report = note.report
            report.detail = "the result could not be routed (\(replyText))" + (report.detail.map { "; \($0)" } ?? "")
            pending.request.firstFailure = InFlightRequest.Failure(id: note.id, report: report)
        }
        pending.request.firstFailure?.results.append(pending.publication.body)
        pending.request.failures.count += note.unfailed
        closeOne(of: pending.request, at: now)
    }
}

extension PendingPublication {
    /// For log lines.
    fileprivate var exchange: String { String(decoding: publication.exchange, as: UTF8.self) }
    fileprivate var routingKey: String { String(decoding: publication.routingKey, as: UTF8.self) }
}

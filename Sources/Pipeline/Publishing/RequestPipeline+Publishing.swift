package import AMQP
package import Core
import DequeModule
import Logging

/// From a publish to the broker's confirm.
extension RequestPipeline {
    /// The destinations of the configuration that are not open although publishes are meant for them, and a
    /// missing dead-letter queue in any case.
    package func troubled(isMissing: (String) -> Bool) -> [TroubledDestination] {
        var troubled = destinations.troubled.filter { $0.isConfigured && $0.publishes > 0 }.map {
            TroubledDestination(
                name: $0.route.name, problem: $0.problem, isMissing: $0.isMissing, since: $0.since)
        }
        let route = settings.deadLetters.route
        if route.exchange.isEmpty, isMissing(route.name), !troubled.contains(where: { $0.name == route.name }) {
            troubled.append(
                TroubledDestination(name: route.name, problem: "does not exist", isMissing: true, since: .distantPast))
        }
        return troubled
    }

    mutating func publish(
        _ publication: consuming Publication, for request: InFlightRequest, _ kind: consuming PendingPublication.Kind,
        at now: Moment
    ) {
        request.addParts()
        counters.unconfirmed += 1
        let destination = destinations.destination(of: publication)
        let isDirect = destination.route.isDirectReply
        // A direct reply would be returned even if its requester received it. Source: RabbitMQ 3.10.8 and 4.0.5.
        if isDirect { publication.mandatory = false }
        let pending = PendingPublication(
            request: request, publication: publication, kind: kind, role: isDirect ? .directReplies : .queues,
            destination: destination)
        if !pending.isReply { destination.isConfigured = true }
        guard !isDirect || DirectReplyName.isWellFormed(destination.route.routingKey) else {
            return takeNextWay(pending, "reply_to is not a direct reply-to name of the broker", at: now)
        }
        enqueue(pending, at: now)
    }

    /// Publishes after everything that already waits, or waits until the destination is open.
    mutating func enqueue(_ pending: PendingPublication, at now: Moment) {
        if pending.role == .attempts { pending.role = .queues }
        let index = pending.role.rawValue
        pending.isUnderway = false
        guard pending.destination.state == .open else { return hold(pending, at: now) }
        guard pending.role == .queues || !isFull(outlets[index]) else { return giveUp(pending, at: now) }
        pending.since = now.instant
        queueForWriting(pending)
    }

    /// The only publish for now to a destination that is not open.
    mutating func attempt(_ pending: PendingPublication) {
        pending.destination.attempt = pending
        if pending.role == .queues { pending.role = .attempts }
        // One more close is proof.
        if pending.destination.state == .harmful { pending.closes = Self.closesUntilHarmful - 1 }
        queueForWriting(pending)
    }

    private mutating func queueForWriting(_ pending: PendingPublication) {
        let index = pending.role.rawValue
        pending.isUnderway = true
        if pending.closes > 0 {
            outlets[index].suspects.append(pending)
        } else {
            outlets[index].unpublished.append(pending)
        }
    }

    /// The next publish for an open publishing connection. ``published(_:as:at:)`` or ``cannotPublish(_:_:at:)``
    /// reports what was done with it.
    package mutating func nextPublication(on role: PublisherRole, at now: Moment) -> PendingPublication? {
        let index = role.rawValue
        guard role != .attempts || outlets[index].unconfirmed.count == 0 else { return nil }
        while outlets[index].candidate == nil {
            let isSuspect = !outlets[index].suspects.isEmpty
            if isSuspect, !outlets[index].mayTrySuspect(at: now.instant) { return nil }
            let next = isSuspect ? outlets[index].suspects.popFirst() : outlets[index].unpublished.popFirst()
            guard let pending = next else { return nil }
            let isAttempt = pending.destination.attempt === pending
            if pending.isAbandoned {
                if isAttempt { pending.destination.attempt = nil }
            } else if pending.destination.state == .open || isAttempt {
                if isSuspect { outlets[index].candidate = pending }
                return pending
            } else {
                enqueue(pending, at: now)
            }
        }
        return nil
    }

    package mutating func hasPublishes(for role: PublisherRole) -> Bool { outlets[role.rawValue].waiting > 0 }

    /// Whether a publishing connection may accept publishes at any time: it does again without an event when it has
    /// sent enough.
    package mutating func awaitsPublisher() -> Bool {
        !canDivert || outlets.indices.contains { outlets[$0].waiting > 0 }
    }

    /// Whether a publishing connection accepts publishes now.
    ///
    /// - Returns: whether it does, and a publish waits for it.
    @discardableResult
    package mutating func publisher(_ role: PublisherRole, isOpen: Bool) -> Bool {
        outlets[role.rawValue].isOpen = isOpen
        return isOpen && outlets[role.rawValue].waiting > 0
    }

    /// The broker blocks a publishing connection, or reads again from it or from its successor. What waits is not
    /// charged for the time between.
    package mutating func publisher(_ role: PublisherRole, isBlocked: Bool, at now: Moment) {
        // Without a connection for attempts the time counts: the broker may close it at each attempt.
        let endsStop = role == .queues || role == .attempts && outlets[role.rawValue].isBlocked
        outlets[role.rawValue].isBlocked = isBlocked
        if isBlocked {
            outlets[role.rawValue].stop(at: now.instant)
        } else if var start = outlets[role.rawValue].stoppedSince.take(), endsStop {
            // An alarm stops both connections, and its time counts once.
            let other = (role == .queues ? PublisherRole.attempts : .queues).rawValue
            if let since = outlets[other].stoppedSince, role == .attempts || outlets[other].isBlocked {
                start = min(start, since)
                outlets[other].stoppedSince = now.instant
            }
            destinations.skip(from: start, to: now.instant)
        }
        for pending in outlets[role.rawValue].unconfirmed.elements {
            pending.writtenAt = now.instant
            if pending.isHeld { pending.since = now.instant }
        }
    }

    /// A publish was written; its confirm will carry this number.
    package mutating func published(_ pending: PendingPublication, as sequence: UInt64, at now: Moment) {
        let index = pending.role.rawValue
        nextWatch = min(nextWatch, now.instant + Destinations.silence)
        pending.writtenAt = now.instant
        outlets[index].unconfirmed.insert(pending, at: sequence)
    }

    /// The properties of a publish do not fit into a frame, so it would always fail.
    package mutating func cannotPublish(_ pending: PendingPublication, _ error: AMQPError, at now: Moment) {
        ended(pending)
        destinations.attemptLost(pending, at: now.instant)
        guard case .deadLetter = pending.kind else { return takeNextWay(pending, error.message, at: now) }
        isolate(pending, error.message, at: now)
    }

    private mutating func ended(_ pending: PendingPublication) {
        pending.isUnderway = false
        if outlets[pending.role.rawValue].candidate === pending { outlets[pending.role.rawValue].candidate = nil }
    }

    /// The broker confirmed, refused or returned a publish, or the connection was lost.
    package mutating func confirmed(
        _ sequence: UInt64, _ confirmation: Confirmation, on role: PublisherRole, at now: Moment
    ) {
        let index = role.rawValue
        let pending = outlets[index].unconfirmed.remove(sequence)
        guard confirmation != .lost else {
            return pending.isAbandoned
                ? destinations.attemptLost(pending, at: now.instant) : outlets[index].lost.append(pending)
        }
        outlets[index].lastConfirm = now.instant
        outlets[index].replacements = 0
        outlets[index].isReliable = true
        let destination = pending.destination
        destination.lastConfirm = now.instant
        if role == .queues { destination.confirmedAfter = outlets[index].losses }
        ended(pending)
        pending.closes = 0
        switch confirmation {
        case .acked:
            destinations.release(pending)
            if destination.state == .slow || destination.attempt === pending { reopen(destination, at: now) }
            if !pending.isAbandoned { taken(pending, at: now) }
        case .nacked:
            counters[.refusedPublishes] += 1
            failed(pending, .refusing, at: now)
        case .returned(let code, let text):
            counters[.returned] += 1
            let replyText = "\(code) \(text)"
            if case .deadLetter = pending.kind {
                failed(pending, .refusing, replyText, at: now)
            } else {
                // Its queue is gone, and with it the state.
                destinations.release(pending)
                if destination.state != .open { reopen(destination, at: now) }
                if !pending.isAbandoned { takeNextWay(pending, replyText, at: now) }
            }
        case .lost: break
        }
        if destination.attempt === pending { destination.attempt = nil }
    }

    private mutating func taken(_ pending: PendingPublication, at now: Moment) {
        if let trace = pending.request.trace { trace.confirmed(pending, at: now.instant) }
        switch pending.kind {
        case .retry:
            pending.request.parked = []
            retryQueueTook(pending)
        case .postpone: retryQueueTook(pending)
        case .result, .feedback, .deadLetter: break
        }
        publishEnded(of: pending.request, at: now)
    }

    mutating func publishEnded(of request: InFlightRequest, at now: Moment) {
        counters.unconfirmed -= 1
        partEnded(of: request, at: now)
    }

    // MARK: Lost connections

    /// The number of closes with only this publish outstanding after which it is the proven cause.
    private static let closesUntilHarmful = 2

    /// A publishing connection was lost: unconfirmed publishes are repeated. If the broker closed it over a publish,
    /// each is published alone until the cause is found.
    package mutating func publisherLost(_ role: PublisherRole, _ error: AMQPError, at now: Moment) {
        let index = role.rawValue
        outlets[index].isOpen = false
        outlets[index].isReliable = false
        outlets[index].isBlocked = false
        outlets[index].stop(at: now.instant)
        outlets[index].losses += 1
        let lost = outlets[index].lost
        outlets[index].lost = []
        let candidate = outlets[index].candidate.take()
        var suspects: [PendingPublication] = []
        for pending in lost where pending !== candidate {
            if candidate == nil, error.blames(pending.publication) {
                suspects.append(pending)
            } else {
                destinations.attemptLost(pending, at: now.instant)
                // One before it can have taken its place among what waits.
                if !pending.isAbandoned { enqueue(pending, at: now) }
            }
        }
        if let candidate {
            guard !candidate.isAbandoned else { return }
            if error.blames(candidate.publication) { candidate.closes += 1 }
            if candidate.closes >= Self.closesUntilHarmful { return harmful(candidate, error, at: now) }
            return outlets[index].suspects.prepend(candidate)
        }
        guard !suspects.isEmpty else { return }
        log.warning(
            "a publish made the broker close the connection: the unconfirmed ones are repeated one at a time",
            metadata: ["error.message": "\(error)", "unconfirmed": .stringConvertible(suspects.count)])
        outlets[index].suspects.append(contentsOf: suspects)
        guard role == .directReplies else { return }
        while outlets[index].waiting > destinations.limit { giveUpReply(at: now) }
    }

    /// The broker closed the connection over this publish alone.
    private mutating func harmful(_ pending: PendingPublication, _ error: AMQPError, at now: Moment) {
        ended(pending)
        log.error(
            "one publish makes the broker close the connection: it is isolated",
            metadata: pending.request.delivery.traced(pending.target(["error.message": "\(error)"])))
        guard error.isAboutDestination || pending.role == .directReplies else {
            // The message is at fault, and its destination is open to others.
            counters[.quarantined] += 1
            destinations.attemptLost(pending, at: now.instant)
            guard case .deadLetter = pending.kind else { return takeNextWay(pending, error.message, at: now) }
            return isolate(pending, error.message, at: now)
        }
        failed(pending, .harmful, error.message, at: now)
        for held in pending.destination.heldResults where destinations.isOverdue(held, at: now.instant) {
            giveUp(held, at: now)
        }
    }

    /// A dead letter that the broker does not accept waits, because it cannot go elsewhere.
    private mutating func isolate(_ pending: PendingPublication, _ replyText: String, at now: Moment) {
        log.error(
            "the broker refuses a dead letter: the request is held, and the publish is retried",
            metadata: pending.request.delivery.traced(
                [
                    "error.message": "\(replyText)",
                    "pause_seconds": .stringConvertible(Destinations.quarantine.components.seconds),
                ]))
        destinations.release(pending)
        pending.closes = Self.closesUntilHarmful - 1
        isolated.insert(pending, due: now.instant + Destinations.quarantine)
    }
}

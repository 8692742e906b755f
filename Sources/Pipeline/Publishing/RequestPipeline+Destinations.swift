import AMQP
package import Core
import Decoding
import DequeModule
import Logging

/// Holds, repeats or reroutes publishes that their destinations do not accept.
extension RequestPipeline {
    /// Whether results can take their next way now. An alarm is for all connections, whichever one noticed it.
    @inline(__always)
    var canDivert: Bool {
        outlets[PublisherRole.queues.rawValue].isOpen && !outlets[PublisherRole.attempts.rawValue].isBlocked
    }

    /// A publish waits until its destination is open; a result not for long.
    mutating func hold(_ pending: PendingPublication, at now: Moment) {
        destinations.hold(pending, at: now.instant)
        guard pending.isDispensable else { return }
        if destinations.isOverdue(pending, at: now.instant) { return giveUp(pending, at: now) }
        // Gives up the results beyond the limit. A result that then waits for its next destination is counted in the
        // same loop.
        guard !isRelieving else { return }
        isRelieving = true
        while let excess = destinations.excess { giveUp(excess, at: now) }
        isRelieving = false
    }

    mutating func failed(
        _ pending: PendingPublication, _ state: Destination.State, _ replyText: String = "", at now: Moment
    ) {
        if destinations.failed(pending, state, replyText, at: now.instant), pending.destination.isConfigured {
            log.error(
                "a queue of the configuration \(pending.destination.problem): publishes to it wait",
                metadata: pending.target())
        }
        if !pending.isAbandoned { hold(pending, at: now) }
    }

    /// A destination accepts publishes again, or is gone.
    mutating func reopen(_ destination: Destination, at now: Moment) {
        if destination.isConfigured {
            log.notice(
                "a queue of the configuration accepts publishes again",
                metadata: ["messaging.destination.name": "\(destination.route.name)"])
        }
        for pending in destinations.opened(destination, at: now.instant) { enqueue(pending, at: now) }
    }

    /// A result does not wait for its destination any longer.
    mutating func giveUp(_ result: PendingPublication, at now: Moment) {
        guard !result.isAbandoned else { return }
        let destination = result.destination
        let reason =
            switch destination.state {
            case .open: "its publishing connection is not open"
            case .slow: "\(result.target) does not confirm it"
            case .refusing: "\(result.target) refuses it"
            case .harmful: destination.replyText
            }
        counters[destination.state == .harmful ? .quarantined : .divertedResults] += 1
        log.warning(
            "a result cannot reach its destination: it goes to the results target or the dead letters",
            metadata: result.request.delivery.traced(result.target(["reply": "\(reason)"])))
        result.isAbandoned = true
        takeNextWay(result, reason, at: now)
    }

    /// Starts the drain: results no longer wait for destinations that are not open, and direct replies wait only
    /// briefly for their connections.
    package mutating func stopWaitingForDestinations(at now: Moment) {
        for pending in destinations.stop() { giveUp(pending, at: now) }
    }

    // MARK: Next way

    /// A result goes to the configured results, then into a dead letter with its request. A parked notification ends. A
    /// dead letter waits until an operator creates its queue.
    mutating func takeNextWay(_ pending: PendingPublication, _ replyText: String, at now: Moment) {
        destinations.release(pending)
        switch pending.kind {
        case .result(let note, let isReply):
            if isReply, let route = settings.results {
                var result = pending.publication
                result.exchange = route.exchange
                result.routingKey = route.routingKey
                // Unlike a requester of a direct reply, this queue has to exist.
                result.mandatory = true
                publish(result, for: pending.request, .result(note, isReply: false), at: now)
            } else {
                abandonResult(pending, note, replyText)
            }
        case .feedback:
            log.error(
                "the feedback queue takes no results: an unregistered result went only to its own queue",
                metadata: pending.request.delivery.traced(["reply": "\(replyText)"]))
        case .retry, .postpone: retryReturned(pending, replyText, at: now)
        case .deadLetter: return failed(pending, .refusing, replyText, at: now)
        }
        publishEnded(of: pending.request, at: now)
    }

    private func abandonResult(_ pending: PendingPublication, _ note: ResultNote, _ replyText: String) {
        log.warning(
            "no queue takes a result: its request becomes a dead letter with it",
            metadata: pending.request.delivery.traced(pending.target(["reply": "\(replyText)"])))
        var report = note.report
        report.detail = "the result could not be routed (\(replyText))" + (report.detail.map { "; \($0)" } ?? "")
        let failures = pending.request.failures ?? InFlightRequest.Failures(id: note.id, report: report)
        failures.join(id: note.id, report: report)
        failures.count += note.unfailed
        failures.unrouted += note.position.map { [$0] } ?? pending.request.joinedPositions
        let body = pending.publication.body
        // The results of one request are an array.
        let several = (try? JSONPart(body))?.elements.map(\.raw) ?? []
        failures.results += several.isEmpty ? [body] : several
        pending.request.failures = failures
    }

    // MARK: Silence

    /// How often publishes without a confirm are looked at.
    private static let watchInterval = Duration.seconds(1)
    /// After this long without any confirm, the connection counts as stopped.
    private static let longestSilence = Duration.seconds(7)
    /// Each replacement repeats unconfirmed publishes. If it has not helped, the next one comes after twice the time.
    private static let maximumDoublings = 4
    /// A publish that is older than the last confirm by this much was overtaken by others.
    private static let overtaking = Duration.milliseconds(100)

    /// Finds the destinations that confirm nothing. If the broker has stopped reading from the connection because of
    /// one, the connection is replaced.
    mutating func watch(_ role: PublisherRole, at now: Moment) {
        let index = role.rawValue
        let open = outlets[index].unconfirmed.elements
        guard !open.isEmpty else { return }
        nextWatch = min(nextWatch, max(open[0].writtenAt + Destinations.silence, now.instant + Self.watchInterval))
        guard !outlets[index].isBlocked, open[0].writtenAt + Destinations.silence <= now.instant else { return }
        guard role != .attempts else {
            if outlets[index].waiting > 0 { append(.replacePublisher(role)) }
            return
        }
        let silent = Self.silent(open, at: now.instant)
        let lastConfirm = outlets[index].lastConfirm
        let isSuspectSilent = silent.contains { $0 === outlets[index].candidate }
        if isSuspectSilent {
            // A publish that closes the connection does so at once.
            outlets[index].candidate = nil
        }
        if isSuspectSilent || destinations.isStopped || now.instant < lastConfirm + Destinations.silence {
            for pending in silent { slow(pending, open, at: now) }
        }
        let patience = Self.longestSilence * (1 << min(outlets[index].replacements, Self.maximumDoublings))
        if now.instant >= max(lastConfirm, open[0].writtenAt) + patience {
            replace(role, silent, open, at: now)
        }
        for pending in open where pending.isDispensable {
            let since = pending.isHeld ? pending.since : pending.writtenAt
            if since + Destinations.timeLimit <= now.instant { giveUp(pending, at: now) }
        }
    }

    /// The oldest publish of each destination that has confirmed nothing for too long.
    private static func silent(_ open: [PendingPublication], at now: Instant) -> [PendingPublication] {
        var seen: Set<ObjectIdentifier> = []
        return open.filter { pending in
            seen.insert(ObjectIdentifier(pending.destination)).inserted
                && max(pending.writtenAt, pending.destination.lastConfirm) + Destinations.silence <= now
        }
    }

    /// A destination confirms nothing: its open results wait like those that are not published yet.
    private mutating func slow(_ pending: PendingPublication, _ open: [PendingPublication], at now: Moment) {
        if pending.destination.state != .slow { failed(pending, .slow, at: now) }
        for result in open
        where result.destination === pending.destination && result.isDispensable && !result.isAbandoned {
            hold(result, at: now)
        }
    }

    /// Replaces a connection that confirms nothing, if others wait for the destinations to blame. RabbitMQ stops a
    /// channel over a quorum queue without a majority in two ways: with 32 unconfirmed publishes, which others have
    /// overtaken until then, or with the first publish of the channel to that queue, which waits for a leader.
    /// Source: rabbitmq-server, `rabbit_fifo_client` (SOFT_LIMIT, register_enqueuer).
    private mutating func replace(
        _ role: PublisherRole, _ silent: [PendingPublication], _ open: [PendingPublication], at now: Moment
    ) {
        let outlet = (losses: outlets[role.rawValue].losses, lastConfirm: outlets[role.rawValue].lastConfirm)
        let first = open.first { $0.destination.confirmedAfter != outlet.losses } ?? open[0]
        let causes = silent.filter {
            $0.destination === first.destination || $0.writtenAt + Self.overtaking < outlet.lastConfirm
        }
        let areOthersWaiting = outlets[role.rawValue].elements.contains { other in
            max(other.since, other.writtenAt) + Destinations.silence <= now.instant
                && !causes.contains { $0.destination === other.destination }
        }
        guard !causes.isEmpty, areOthersWaiting else { return }
        for pending in causes { slow(pending, open, at: now) }
        log.warning(
            "the broker confirms nothing because of one destination: the connection is replaced",
            metadata: causes[0].target())
        outlets[role.rawValue].replacements += 1
        append(.replacePublisher(role))
    }

    // MARK: Direct replies

    /// In a drain, enough for one connection attempt.
    private static let replyTimeoutInDrain = Duration.seconds(5)

    /// When the next direct reply has waited too long for its connection.
    @inline(__always)
    var nextOverdueReply: Instant {
        let timeout = destinations.isStopped ? Self.replyTimeoutInDrain : Destinations.timeLimit
        return outlets[PublisherRole.directReplies.rawValue].oldest.map { $0.since + timeout } ?? .distantFuture
    }

    /// Gives up the direct reply that has waited longest.
    mutating func giveUpReply(at now: Moment) {
        let index = PublisherRole.directReplies.rawValue
        guard let reply = outlets[index].oldest else { return }
        if outlets[index].unpublished.first === reply {
            outlets[index].unpublished.removeFirst()
        } else {
            outlets[index].suspects.removeFirst()
        }
        if reply.destination.attempt === reply { reply.destination.attempt = nil }
        if !reply.isAbandoned { giveUp(reply, at: now) }
    }

    /// Whether the limit of waiting direct replies is reached. A working connection publishes them immediately.
    func isFull(_ outlet: borrowing PublishOutlet) -> Bool {
        guard !outlet.isOpen || !outlet.suspects.isEmpty else { return false }
        return !outlet.isReliable && outlet.waiting >= destinations.limit
    }
}

extension PendingPublication {
    fileprivate var target: String { isReply ? "the reply queue" : "the queue" }

    /// Adds its destination to the metadata of a log line.
    func target(_ metadata: Logger.Metadata = [:]) -> Logger.Metadata {
        metadata.merging([
            "exchange": "\(String(decoding: publication.exchange, as: UTF8.self))",
            "messaging.rabbitmq.destination.routing_key": "\(String(decoding: publication.routingKey, as: UTF8.self))",
        ]) { $1 }
    }
}

import AMQP
import Core
import DequeModule

extension DeadLetterRun {
    // MARK: Deliveries

    func takeDeliveries() {
        let consumer = connections.consumer
        while let event = consumer.nextEvent(at: now) {
            shutdown.flush?.took(event, on: consumer, at: now)
            switch event {
            case .engine(.consuming): timeout.restart(at: now)
            case .engine(.cancelled(_, byBroker: false)): shutdown.consumerState = .stopped
            case .engine(.delivery(let delivery)): received(delivery, isWhole: true)
            case .engine(.oversize(let delivery, _)): received(delivery, isWhole: false)
            case .engine(.cancelled(_, byBroker: true)): finish(.failed("queue \"\(settings.queue)\" is gone"))
            case .disconnected(_, let error, _): lost(error, isFatal: tally.seen > 0)
            default: break
            }
        }
    }

    /// A message that is neither chosen nor retained stays unacknowledged.
    func received(_ delivery: Delivery, isWhole: Bool) {
        inspection.lastDelivery = now
        guard end == nil, tally.seen < tally.atStart, tally.chosen < settings.limit else { return }
        timeout.restart(at: now)
        tally.seen += 1
        defer { if tally.seen == tally.atStart || tally.chosen >= settings.limit { stopConsuming() } }
        let item = Item(delivery: delivery, letter: DeadLetter(delivery, in: settings.queue), isWhole: isWhole)
        guard item.letter.replayID != id, isChosen(item) else { return retain(item) }
        tally.chosen += 1
        if case .replay(let target) = action, target.queue(from: item.letter.queue) == nil {
            refuseTarget(item)
        } else if !isWhole, !mayDropBody {
            refuse(item, "its body is larger than broker.maximum_message_bytes")
        } else {
            backlog.chosen.append(item)
        }
    }

    func isChosen(_ item: Item) -> Bool {
        if case .renew = action { return false }
        return settings.filter.matches(item.letter, item.delivery, reader)
    }

    var mayDropBody: Bool {
        if case .discard = action { true } else { false }
    }

    func refuse(_ item: Item, _ complaint: String, named name: String? = nil) {
        tally.complain(complaint, about: name)
        retain(item)
    }

    private func refuseTarget(_ item: Item) {
        guard let queue = item.letter.queue else {
            return refuse(item, "its original queue is unknown; name a target queue")
        }
        refuse(
            item,
            "queue \"\(queue)\" is not a request queue of the configuration; "
                + "'harebell dead-letters replay --to QUEUE' sends dead letters to any other queue",
            named: item.letter.name)
    }

    func retain(_ item: Item) {
        // A message without its body, or one that cannot be copied, stays unacknowledged.
        guard item.isWhole, !item.isRenewal, end == nil else { return }
        backlog.retain(item, settings, at: now)
    }

    // MARK: Work

    var mayPublish: Bool {
        connections.publisher.canPublish && publishes.inFlight.count < settings.window
    }

    var isIdle: Bool {
        backlog.isIdle && publishes.isIdle
    }

    func work() {
        if let since = backlog.retained.first?.since, now >= since + settings.longestHold { backlog.renewRetained() }
        guard publishes.suspects.isEmpty else { return publishSuspect() }
        while mayPublish, let item = backlog.renewals.popFirst() { renew(item) }
        switch action {
        case .replay:
            while mayPublish, !backlog.chosen.isEmpty, limiter?.take(at: now) ?? true,
                let item = backlog.chosen.popFirst()
            {
                replay(item)
            }
        case .discard:
            while !backlog.chosen.isEmpty, limiter?.take(at: now) ?? true, let item = backlog.chosen.popFirst() {
                acknowledge(item)
            }
        case .export(let write): export(write)
        case .renew: break
        }
    }

    /// Waits until no other publish is outstanding.
    private func publishSuspect() {
        guard mayPublish, publishes.inFlight.isEmpty, limiter?.take(at: now) ?? true else { return }
        let item = publishes.suspects.removeFirst()
        if item.isRenewal { renew(item) } else { replay(item) }
    }

    func replay(_ item: Item) {
        let queue = target(of: item)
        do throws(AMQPError) {
            let copy = ReplayEncoder.replay(item.delivery, item.letter, to: queue, id: id)
            let sequence = try connections.publisher.publish(copy)
            publishes.inFlight[sequence] = item
            timeout.restart(at: now)
        } catch {
            refuse(item, error.message)
        }
    }

    func renew(_ item: Item) {
        do throws(AMQPError) {
            let copy = try ReplayEncoder.renewal(item.delivery, item.letter, in: settings.queue)
            let sequence = try connections.publisher.publish(copy)
            publishes.inFlight[sequence] = item
            timeout.restart(at: now)
        } catch {
            // A copy would lose headers, so the original stays in the queue.
            retain(item)
        }
    }

    func export(_ write: ([[UInt8]]) throws -> Void) {
        var items: [Item] = []
        var lines: [[UInt8]] = []
        while let item = backlog.chosen.popFirst() {
            do throws(AMQPError) {
                lines.append(try ArchiveWriter.line(item.delivery, from: settings.queue))
                items.append(item)
            } catch {
                refuse(item, error.message)
            }
        }
        guard !items.isEmpty else { return }
        do {
            try write(lines)
            for item in items { acknowledge(item) }
        } catch {
            finish(.unwritable("\(error)"))
        }
    }

    func acknowledge(_ item: Item) {
        let isAcknowledged = connections.consumer.ack(epoch: item.delivery.epoch, tag: item.delivery.tag, at: now)
        if item.isRepeated || !isAcknowledged { tally.uncertain += 1 }
        guard isAcknowledged else { return }
        if item.isRenewal { tally.renewed += 1 } else { tally.done += 1 }
    }

    // MARK: Confirms

    func takeConfirms() {
        while let event = connections.publisher.nextEvent(at: now) {
            switch event {
            case .engine(.confirmed(let sequence, let confirmation)): confirmed(sequence, confirmation)
            case .disconnected(_, let error, _): publisherLost(error)
            case .closed: giveUp(&publishes.unconfirmed)
            default: break
            }
        }
    }

    func confirmed(_ sequence: UInt64, _ confirmation: Confirmation) {
        guard let item = publishes.inFlight.removeValue(forKey: sequence) else {
            preconditionFailure("each publish ends once")
        }
        timeout.restart(at: now)
        if confirmation != .lost { publishes.closes = 0 }
        switch confirmation {
        case .acked: acknowledge(item)
        case .lost: publishes.unconfirmed.append(item)
        case .nacked where item.isRenewal, .returned where item.isRenewal: retain(item)
        case .nacked: refuse(item, "the broker refused it; the queue may be full")
        case .returned(_, let text): refuse(item, "queue \"\(target(of: item))\" does not receive messages (\(text))")
        }
    }

    /// A close does not name the publish that caused it. Each outstanding publish is therefore repeated alone on the
    /// next connection. A publish is skipped after ``closesUntilRefusal`` closes alone. A pipeline finds the cause in
    /// the same way, see ``SuspectPublishes``.
    func publisherLost(_ error: AMQPError) {
        let items = publishes.takeUnconfirmed()
        guard end == nil, error.isAboutPublish, !items.isEmpty, publishes.closes < settings.closesInARow else {
            tally.uncertain += items.count
            return lost(error, isFatal: tally.seen > 0)
        }
        timeout.connectionLost(error)
        timeout.restart(at: now)
        if let culprit = publishes.suspect(items) { closedConnection(culprit, error) }
    }

    /// The broker closes the connection over this message alone.
    private func closedConnection(_ item: Item, _ error: AMQPError) {
        guard !item.isRenewal else { return retain(item) }
        refuse(
            item,
            "the broker closes the connection because of \(item.letter.name ?? "a message without an id") "
                + "to queue \"\(target(of: item))\": \(error.message)")
    }

    /// Counts published messages without a confirm.
    func giveUp(_ items: inout [Item]) {
        tally.uncertain += items.count
        items = []
    }

    func target(of item: Item) -> String {
        guard case .replay(let target) = action else { return "" }
        return target.queue(from: item.letter.queue) ?? ""
    }
}

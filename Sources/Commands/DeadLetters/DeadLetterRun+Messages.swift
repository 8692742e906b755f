import AMQP
import Core
import DequeModule

extension DeadLetterRun {
    // MARK: Deliveries

    func openConsumer() {
        let rest = UInt16(clamping: tally.atStart - tally.seen)
        let prefetch = isReadOnly ? min(settings.readingPrefetch, rest) : settings.prefetch
        do {
            let queue = ConsumerQueue(name: settings.queue, prefetch: prefetch)
            let connection = try connections.connect(.consumer([queue]))
            connections.consumers.append(Consumer(connection, prefetch: prefetch))
            connection.start(at: now)
        } catch {
            finish(.failed("\(error)"))
        }
    }

    func takeDeliveries(of index: Int) {
        let consumer = connections.consumers[index].connection
        while let event = consumer.nextEvent(at: now) {
            connections.consumers[index].took(event, at: now)
            switch event {
            case .engine(.consuming): timeout.restart(at: now)
            case .engine(.delivery(let delivery)): received(delivery, from: index, isWhole: true)
            case .engine(.oversize(let delivery, _)): received(delivery, from: index, isWhole: false)
            case .engine(.channelClosed(_, let error)) where error.code == .consumerCancelled:
                finish(.failed("queue \"\(settings.queue)\" is gone"))
            case .disconnected(_, let error, _): lost(error, isFatal: tally.seen > 0)
            default: break
            }
        }
    }

    /// A message that is neither chosen nor retained stays unacknowledged.
    private func received(_ delivery: Delivery, from consumer: Int, isWhole: Bool) {
        inspection.lastDelivery = now
        guard end == nil, !isOver else { return }
        timeout.restart(at: now)
        tally.seen += 1
        defer { if isOver { stopConsuming() } }
        let letter = DeadLetter(delivery, in: settings.queue)
        let item = Item(delivery: delivery, letter: letter, consumer: consumer, isWhole: isWhole)
        guard item.letter.replayID != id, settings.filter.matches(letter, delivery, reader) else { return retain(item) }
        if settings.filter.leaves(letter) {
            tally.accepted += 1
            return retain(item)
        }
        tally.chosen += 1
        switch action {
        case .read(let visit):
            visit(delivery, letter)
            tally.done += 1
            retain(item)
        case .replay(let target) where target.queue(from: letter.queue) == nil: refuseTarget(item)
        case .replay, .export, .publish:
            guard isWhole else { return refuse(item, "its body is larger than broker.maximum_message_bytes") }
            backlog.chosen.append(item)
        case .discard: backlog.chosen.append(item)
        }
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
        guard item.isWhole, !item.isRenewal, item.consumer != nil, end == nil else { return }
        backlog.retain(item, settings, isReadOnly: isReadOnly, at: now)
    }

    // MARK: Work

    var mayPublish: Bool {
        connections.publisher.canPublish && publishes.inFlight.count < settings.window
    }

    var isIdle: Bool {
        backlog.isIdle && publishes.isIdle
    }

    private var publishesChosen: Bool {
        switch action {
        case .replay, .publish: true
        case .read, .discard, .export: false
        }
    }

    /// Whether there are chosen messages that wait for a permit.
    var hasWork: Bool {
        if case .publish = action { isStarted && !isOver } else { !backlog.chosen.isEmpty }
    }

    func work() {
        if let since = backlog.retained.first?.since, now >= since + settings.longestHold { backlog.renewRetained() }
        if hasWork && publishesChosen || !backlog.renewals.isEmpty { connections.publisher.start(at: now) }
        guard publishes.suspects.isEmpty else { return publishSuspect() }
        while mayPublish, let item = backlog.renewals.popFirst() { publish(item) }
        switch action {
        case .replay: while mayPublish, hasWork, takePermit(), let item = backlog.chosen.popFirst() { publish(item) }
        case .publish(_, let next): while end == nil, mayPublish, hasWork, takePermit() { publishNext(next) }
        case .discard: while hasWork, takePermit(), let item = backlog.chosen.popFirst() { acknowledge(item) }
        case .export(let discards, let write): export(discards: discards, write)
        case .read: break
        }
    }

    private func takePermit() -> Bool {
        limiter?.take(at: now) ?? true
    }

    /// Waits until no other publish is outstanding.
    private func publishSuspect() {
        guard mayPublish, publishes.inFlight.isEmpty, takePermit() else { return }
        publish(publishes.suspects.removeFirst())
    }

    private func publish(_ item: Item) {
        do throws(AMQPError) {
            let copy =
                if case .replay = action, !item.isRenewal {
                    ReplayEncoder.replay(item.delivery, item.letter, to: target(of: item), id: id)
                } else {
                    try ReplayEncoder.renewal(item.delivery, item.letter, in: settings.queue)
                }
            publishes.inFlight[try connections.publisher.publish(copy)] = item
            timeout.restart(at: now)
        } catch {
            // A copy would lose headers, so the original stays in the queue.
            if item.isRenewal { retain(item) } else { refuse(item, error.message) }
        }
    }

    private func publishNext(_ next: () throws -> ArchivedMessage?) {
        do {
            guard let delivery = try next()?.delivery else { return finish(.failed("the archive has become shorter")) }
            tally.seen += 1
            tally.chosen += 1
            publish(Item(delivery: delivery, letter: DeadLetter(delivery, in: settings.queue)))
        } catch {
            finish(.failed("\(error)"))
        }
    }

    private func export(discards: Bool, _ write: ([[UInt8]]) throws -> Void) {
        var items: [Item] = []
        var lines: [[UInt8]] = []
        while let item = backlog.chosen.popFirst() {
            do {
                lines.append(try ArchivedMessage(item.delivery, from: settings.queue).line)
                items.append(item)
            } catch {
                refuse(item, (error as? AMQPError)?.message ?? "\(error)")
            }
        }
        guard !items.isEmpty else { return }
        do {
            try write(lines)
        } catch {
            return finish(.unwritable("\(error)"))
        }
        for item in items {
            if discards {
                acknowledge(item)
            } else {
                tally.done += 1
                retain(item)
            }
        }
    }

    /// The message is safe: it leaves the queue.
    private func acknowledge(_ item: Item) {
        let isAcknowledged = item.consumer.map { connections.consumers[$0].ack(item.delivery, at: now) } ?? true
        if item.isRepeated || !isAcknowledged { tally.uncertain += 1 }
        guard isAcknowledged else { return }
        if item.isRenewal {
            tally.renewed += 1
        } else {
            tally.done += 1
            tally.removed += 1
        }
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
    /// the same way, see ``Outbox``.
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
        guard case .replay(let target) = action else { return settings.queue }
        return target.queue(from: item.letter.queue) ?? ""
    }
}

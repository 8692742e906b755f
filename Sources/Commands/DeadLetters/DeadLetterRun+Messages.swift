import AMQP
import Core
import DequeModule

extension DeadLetterRun {
    struct Item {
        let delivery: Delivery
        let letter: DeadLetter
        /// The index of the consumer that received it; `nil` for a message of an archive.
        var consumer: Int?
        /// Whether it was published before on a connection that the broker closed: there may be two copies.
        var isRepeated = false
        /// How often the broker closed the connection while only this message was outstanding.
        var closes = 0
    }

    /// Published messages without a confirm.
    struct Publishes {
        /// By the sequence number of the confirm.
        var inFlight: [UInt64: Item] = [:]
        /// Unconfirmed when the publishing connection ended. The close reason is reported after them.
        var unconfirmed: [Item] = []
        /// The broker closed the connection over one of these. Each is published again alone, in order.
        var suspects: [Item] = []
        /// Closes over a publish since the last confirm.
        var closes = 0

        var isIdle: Bool { suspects.isEmpty && inFlight.isEmpty }

        mutating func takeUnconfirmed() -> [Item] {
            defer { unconfirmed = [] }
            return unconfirmed
        }

        /// The broker closed the connection over one of these messages: each is published again alone.
        ///
        /// - Returns: The message to skip, because the broker closed the connection over it alone
        ///   ``DeadLetterRun/closesUntilRefusal`` times.
        mutating func suspect(_ items: [Item]) -> Item? {
            closes += 1
            let repeated = items.map { item in
                var item = item
                item.isRepeated = true
                if items.count == 1 { item.closes += 1 }
                return item
            }
            guard repeated.count == 1, repeated[0].closes >= closesUntilRefusal else {
                suspects = repeated + suspects
                return nil
            }
            return repeated[0]
        }
    }

    // MARK: Deliveries

    func takeDeliveries(of index: Int) {
        let consumer = consumers[index].connection
        while let event = consumer.nextEvent(at: now) {
            broker.took(event, at: now)
            consumers[index].took(event, at: now)
            switch event {
            case .engine(.consuming): broker.restart(at: now)
            case .engine(.delivery(let delivery)): received(delivery, from: index, isWhole: true)
            case .engine(.oversize(let delivery, _)): received(delivery, from: index, isWhole: false)
            case .engine(.channelClosed(_, let error)) where error.code == .consumerCancelled:
                finish(.failed("queue \"\(settings.queue)\" is gone"))
            case .disconnected(_, let error, _): lost(error, isFatal: tally.seen + tally.done > 0)
            default: break
            }
        }
    }

    /// A message that is not chosen stays unacknowledged.
    private func received(_ delivery: Delivery, from consumer: Int, isWhole: Bool) {
        guard end == nil, !isOver else { return }
        noteDelivery()
        defer { if isOver { stopConsuming() } }
        let letter = DeadLetter(delivery, in: settings.queue)
        let isOwn = letter.replayID == id
        tally.seen += 1
        guard !isOwn, settings.filter.matches(letter, delivery, reader) else { return }
        guard !settings.filter.leaves(letter) else { return tally.accepted += 1 }
        tally.chosen += 1
        let item = Item(delivery: delivery, letter: letter, consumer: consumer)
        switch action {
        case .read(let visit):
            visit(delivery, letter)
            tally.done += 1
        case .replay(let target) where target(letter.queue) == nil: refuseTarget(letter)
        case .replay, .export, .publish:
            guard isWhole else { return tally.complain("its body is larger than broker.max_message_bytes") }
            backlog.append(item)
        case .discard: backlog.append(item)
        }
    }

    private func refuseTarget(_ letter: DeadLetter) {
        guard let queue = letter.queue else {
            return tally.complain("its original queue is unknown; name a target queue")
        }
        tally.complain(
            "queue \"\(queue)\" is not a request queue of the configuration; "
                + "'harebell dead-letters replay --to QUEUE' sends dead letters to any other queue",
            about: letter.name)
    }

    // MARK: Work

    var mayPublish: Bool {
        publisher.canPublish && publishes.inFlight.count < settings.window
    }

    var isIdle: Bool {
        backlog.isEmpty && publishes.isIdle
    }

    /// Whether there are chosen messages that wait for a permit.
    var hasWork: Bool {
        if case .publish = action { round != nil && !isOver } else { !backlog.isEmpty }
    }

    func work() {
        switch action {
        case .replay, .publish:
            if hasWork { publisher.start(at: now) }
            guard publishes.suspects.isEmpty else { return publishSuspect() }
            while end == nil, mayPublish, hasWork, takePermit() { publishNext() }
        case .discard: while let item = backlog.popFirst() { acknowledge(item) }
        case .export(let discards, let write): export(discards: discards, write)
        case .read: break
        }
    }

    /// Waits until no other publish is outstanding.
    private func publishSuspect() {
        guard mayPublish, publishes.inFlight.isEmpty, takePermit() else { return }
        publish(publishes.suspects.removeFirst())
    }

    private func publishNext() {
        guard case .publish(_, let next) = action else {
            if let item = backlog.popFirst() { publish(item) }
            return
        }
        do {
            guard let delivery = try next()?.delivery else { return finish(.failed("the archive has become shorter")) }
            noteDelivery()
            tally.seen += 1
            tally.chosen += 1
            publish(Item(delivery: delivery, letter: DeadLetter(delivery, in: settings.queue)))
        } catch {
            finish(.failed("\(error)"))
        }
    }

    private func publish(_ item: Item) {
        do throws(AMQPError) {
            let copy =
                if case .replay = action {
                    ReplayEncoder.replay(item.delivery, item.letter, to: target(of: item), id: id)
                } else {
                    try ReplayEncoder.copy(item.delivery, item.letter, to: settings.queue)
                }
            publishes.inFlight[try publisher.publish(copy)] = item
            broker.restart(at: now)
        } catch {
            tally.complain(error.message)
        }
    }

    private func export(discards: Bool, _ write: ([[UInt8]]) throws -> Void) {
        var items: [Item] = []
        var lines: [[UInt8]] = []
        while let item = backlog.popFirst() {
            do {
                lines.append(try ArchivedMessage.line(item.delivery, from: settings.queue))
                items.append(item)
            } catch {
                tally.complain(error.message)
            }
        }
        guard !items.isEmpty else { return }
        do {
            try write(lines)
        } catch {
            return finish(.unwritable("\(error)"))
        }
        if discards {
            for item in items { acknowledge(item) }
        } else {
            tally.done += items.count
        }
    }

    /// The message is safe: it leaves the queue.
    private func acknowledge(_ item: Item) {
        let isAcknowledged = item.consumer.map { consumers[$0].ack(item.delivery, at: now) } ?? true
        if item.isRepeated || !isAcknowledged { tally.uncertain += 1 }
        guard isAcknowledged else { return }
        tally.done += 1
        tally.removed += 1
    }

    // MARK: Confirms

    func takeConfirms() {
        while let event = publisher.nextEvent(at: now) {
            broker.took(event, at: now)
            switch event {
            case .engine(.confirmed(let sequence, let confirmation)): confirmed(sequence, confirmation)
            case .disconnected(_, let error, _): publisherLost(error)
            case .closed: giveUp(&publishes.unconfirmed)
            default: break
            }
        }
    }

    private func confirmed(_ sequence: UInt64, _ confirmation: Confirmation) {
        guard let item = publishes.inFlight.removeValue(forKey: sequence) else {
            preconditionFailure("each publish ends once")
        }
        broker.restart(at: now)
        if confirmation != .lost { publishes.closes = 0 }
        switch confirmation {
        case .acked: acknowledge(item)
        case .lost: publishes.unconfirmed.append(item)
        case .nacked: tally.complain("the broker refused it; the queue may be full")
        case .returned(_, let text):
            tally.complain("queue \"\(target(of: item))\" does not receive messages (\(text))")
        }
    }

    /// A close does not name the publish that caused it. Each outstanding publish is therefore repeated alone on the
    /// next connection. A publish is skipped after ``closesUntilRefusal`` closes alone. A pipeline finds the cause in
    /// the same way, see ``RequestPipeline``.
    private func publisherLost(_ error: AMQPError) {
        let items = publishes.takeUnconfirmed()
        guard end == nil, error.isAboutPublish, !items.isEmpty, publishes.closes < settings.closesInARow else {
            tally.uncertain += items.count
            return lost(error, isFatal: tally.seen > 0)
        }
        broker.restart(at: now)
        // The broker closes the connection over this message alone.
        guard let culprit = publishes.suspect(items) else { return }
        tally.complain(
            "the broker closes the connection because of \(culprit.letter.name ?? "a message without an id") "
                + "to queue \"\(target(of: culprit))\": \(error.message)")
    }

    /// Counts published messages without a confirm.
    func giveUp(_ items: inout [Item]) {
        tally.uncertain += items.count
        items = []
    }

    private func target(of item: Item) -> String {
        guard case .replay(let target) = action else { return settings.queue }
        return target(item.letter.queue) ?? ""
    }
}

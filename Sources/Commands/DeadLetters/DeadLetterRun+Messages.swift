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

    // MARK: Deliveries

    func takeDeliveries(of index: Int) {
        let consumer = consumers[index].connection
        while let event = consumer.nextEvent(at: now) {
            broker.took(event, at: now)
            consumers[index].took(event, at: now)
            switch event {
            case .engine(.consuming): broker.restart(at: now)
            case .engine(.delivery(let delivery)): received(delivery, from: index)
            case .engine(.channelClosed(_, let error)) where error.code == .consumerCancelled:
                finish(.failed("queue \"\(settings.queue)\" is gone"))
            // What it holds is in the queue again.
            case .engine(.channelClosed(_, let error)): lost(error, isFatal: tally.seen > 0)
            // The next broker may be tried at once.
            case .disconnected(_, let error, let retryAt): lost(error, isFatal: tally.seen > 0 && retryAt > now)
            default: break
            }
        }
    }

    /// A message that is not chosen stays unacknowledged.
    private func received(_ delivery: Delivery, from consumer: Int) {
        guard end == nil, !isOver else { return }
        noteDelivery()
        defer { if isOver { stopConsuming() } }
        let letter = DeadLetter(delivery, in: settings.queue)
        let isOwn = letter.replayID == id
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
            guard delivery.oversizeBody == nil else {
                return tally.complain("its body is larger than broker.max_message_bytes", about: letter.name)
            }
            backlog.append(item)
        case .discard: backlog.append(item)
        }
    }

    private func refuseTarget(_ letter: DeadLetter) {
        guard let queue = letter.queue else {
            return tally.complain("its original queue is unknown; name one with --to QUEUE", about: letter.name)
        }
        tally.complain(
            "queue \"\(queue)\" is not a request queue of the configuration; "
                + "'harebell dead-letters replay --to QUEUE' sends dead letters to any other queue",
            about: letter.name)
    }

    // MARK: Work

    /// What the broker may have closed the connection over is published while no other publish is outstanding.
    var mayPublish: Bool {
        guard publisher.canPublish, let item = backlog.first else { return false }
        return inFlight.count < (item.isRepeated ? 1 : settings.window)
    }

    var isIdle: Bool {
        backlog.isEmpty && inFlight.isEmpty
    }

    func work() {
        switch action {
        case .replay, .publish:
            takeFromArchive()
            if !backlog.isEmpty { publisher.start(at: now) }
            while end == nil, mayPublish, limiter?.take(at: now) ?? true {
                publish(backlog.removeFirst())
                takeFromArchive()
            }
        case .discard: while let item = backlog.popFirst() { acknowledge(item) }
        case .export(let discards, let write): export(discards: discards, write)
        case .read: break
        }
    }

    private func takeFromArchive() {
        guard case .publish(_, let next) = action, end == nil, backlog.isEmpty, scope != nil, !isOver else { return }
        do {
            guard let delivery = try next()?.delivery else { return finish(.failed("the archive has become shorter")) }
            noteDelivery()
            tally.chosen += 1
            backlog.append(Item(delivery: delivery, letter: DeadLetter(delivery, in: settings.queue)))
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
            inFlight[try publisher.publish(copy)] = item
            broker.restart(at: now)
        } catch {
            tally.complain(error.message, about: item.letter.name)
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
                tally.complain(error.message, about: item.letter.name)
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
            case .disconnected(_, let error, let retryAt): publisherLost(error, isFatal: retryAt > now)
            default: break
            }
        }
    }

    private func confirmed(_ sequence: UInt64, _ confirmation: Confirmation) {
        guard let item = inFlight.removeValue(forKey: sequence) else {
            preconditionFailure("each publish ends once")
        }
        broker.restart(at: now)
        if confirmation != .lost { closes = 0 }
        switch confirmation {
        case .acked: acknowledge(item)
        // The reason is reported after all of them.
        case .lost: inFlight[sequence] = item
        case .nacked: tally.complain("the broker refused it; the queue may be full", about: item.letter.name)
        case .returned(_, let text):
            let complaint = "queue \"\(target(of: item))\" does not receive messages (\(text))"
            tally.complain(complaint, about: item.letter.name)
        }
    }

    /// A close does not name the publish that caused it. Each outstanding publish is therefore repeated alone on the
    /// next connection. A publish is skipped after ``closesUntilRefusal`` closes alone. A pipeline finds the cause in
    /// the same way, see ``RequestPipeline``.
    ///
    /// - Parameter isFatal: `false` if the next broker is tried at once.
    private func publisherLost(_ error: AMQPError, isFatal: Bool) {
        var items = inFlight.sorted { $0.key < $1.key }.map(\.value)
        inFlight = [:]
        guard end == nil, error.isAboutPublish, !items.isEmpty, closes < settings.closesInARow else {
            tally.uncertain += items.count
            return lost(error, isFatal: isFatal)
        }
        closes += 1
        if items.count == 1 { items[0].closes += 1 }
        guard items[0].closes < Self.closesUntilRefusal else {
            return tally.complain(
                "the broker closes the connection because of \(items[0].letter.name ?? "a message without an id") "
                    + "to queue \"\(target(of: items[0]))\": \(error.message)")
        }
        for index in items.indices { items[index].isRepeated = true }
        backlog.prepend(contentsOf: items)
    }

    private func target(of item: Item) -> String {
        guard case .replay(let target) = action else { return settings.queue }
        return target(item.letter.queue) ?? ""
    }
}

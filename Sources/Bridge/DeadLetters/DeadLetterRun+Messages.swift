import AMQP
import Core

extension DeadLetterRun {
    // MARK: Deliveries

    func takeDeliveries() {
        while let event = consumer.nextEvent(at: now) {
            flush?.took(event, on: consumer, at: now)
            switch event {
            case .engine(.consuming): lastProgress = now
            case .engine(.cancelled(_, byBroker: false)): departure = .stopped
            case .engine(.delivery(let delivery)): received(delivery, isWhole: true)
            case .engine(.oversize(let delivery, _)): received(delivery, isWhole: false)
            case .engine(.cancelled(_, byBroker: true)): finish(.failed("queue \"\(settings.queue)\" is gone"))
            case .disconnected(_, let error, _): lost(error, isFatal: tally.seen > 0)
            default: break
            }
        }
    }

    /// What is neither chosen nor retained is simply not acknowledged.
    func received(_ delivery: Delivery, isWhole: Bool) {
        lastDelivery = now
        guard end == nil, tally.seen < tally.atStart, tally.chosen < settings.limit else { return }
        lastProgress = now
        tally.seen += 1
        defer { if tally.seen == tally.atStart || tally.chosen >= settings.limit { stopTaking() } }
        let item = Item(delivery: delivery, letter: DeadLetter(delivery, in: settings.queue), isWhole: isWhole)
        guard item.letter.replayID != id, isChosen(item) else { return retain(item) }
        tally.chosen += 1
        if case .replay(to: nil) = action, item.letter.queue == nil {
            refuse(item, "it does not say where it was before; name a queue to send it to")
        } else if !isWhole, !mayDropBody {
            refuse(item, "its body is larger than broker.maximum_message_bytes")
        } else {
            waiting.append(item)
        }
    }

    func isChosen(_ item: Item) -> Bool {
        if case .renew = action { return false }
        return settings.filter.matches(item.letter, item.delivery, reader)
    }

    var mayDropBody: Bool {
        if case .discard = action { true } else { false }
    }

    func refuse(_ item: Item, _ complaint: String) {
        tally.complain(complaint)
        retain(item)
    }

    func retain(_ item: Item) {
        // Of what has no body here, or could not be copied, nothing is to be done: it stays unacknowledged.
        guard item.isWhole, !item.isRenewal, end == nil else { return }
        var item = item
        item.since = now
        let isWorn = item.letter.deliveries >= settings.mostDeliveries
        item.isRenewal = isWorn || retained.count >= settings.held
        if item.isRenewal { renewals.append(item) } else { retained.append(item) }
    }

    // MARK: Work

    var mayPublish: Bool {
        publisher.canPublish && inFlight.count < settings.window
    }

    var isIdle: Bool {
        waiting.isEmpty && renewals.isEmpty && inFlight.count == 0
    }

    func work() {
        if let since = retained.first?.since, now >= since + settings.longestHold { renewRetained() }
        while mayPublish, let item = renewals.popFirst() { renew(item) }
        switch action {
        case .replay(let target):
            while mayPublish, !waiting.isEmpty, limiter?.take(at: now) ?? true, let item = waiting.popFirst() {
                replay(item, to: target ?? item.letter.queue ?? "")
            }
        case .discard:
            while !waiting.isEmpty, limiter?.take(at: now) ?? true, let item = waiting.popFirst() { acknowledge(item) }
        case .export(let write): export(write)
        case .renew: break
        }
    }

    func renewRetained() {
        for item in retained {
            var item = item
            item.isRenewal = true
            renewals.append(item)
        }
        retained = []
    }

    func replay(_ item: Item, to queue: String) {
        do throws(AMQPError) {
            inFlight.insert(
                item, at: try publisher.publish(ReplayEncoder.replay(item.delivery, item.letter, to: queue, id: id)))
            lastProgress = now
        } catch {
            refuse(item, error.message)
        }
    }

    func renew(_ item: Item) {
        do throws(AMQPError) {
            let copy = try ReplayEncoder.renewal(item.delivery, item.letter, in: settings.queue)
            inFlight.insert(item, at: try publisher.publish(copy))
            lastProgress = now
        } catch {
            // A copy would lose something: it stays where it is.
            retain(item)
        }
    }

    func export(_ write: ([[UInt8]]) throws -> Void) {
        var items: [Item] = []
        var lines: [[UInt8]] = []
        while let item = waiting.popFirst() {
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
        guard consumer.ack(epoch: item.delivery.epoch, tag: item.delivery.tag, at: now) else {
            tally.uncertain += 1
            return
        }
        if item.isRenewal { tally.renewed += 1 } else { tally.done += 1 }
    }

    // MARK: Confirms

    func takeConfirms() {
        while let event = publisher.nextEvent(at: now) {
            switch event {
            case .engine(.confirmed(let sequence, let confirmation)): confirmed(inFlight.remove(sequence), confirmation)
            case .disconnected(_, let error, _): lost(error, isFatal: tally.seen > 0)
            default: break
            }
        }
    }

    func confirmed(_ item: Item, _ confirmation: Confirmation) {
        lastProgress = now
        switch confirmation {
        case .acked: acknowledge(item)
        case .lost: tally.uncertain += 1
        case .nacked where item.isRenewal, .returned where item.isRenewal: retain(item)
        case .nacked: refuse(item, "the broker refused it; the queue may be full")
        case .returned(_, let text): refuse(item, "queue \"\(target(of: item))\" takes no messages (\(text))")
        }
    }

    func target(of item: Item) -> String {
        if case .replay(let queue?) = action { queue } else { item.letter.queue ?? "" }
    }
}

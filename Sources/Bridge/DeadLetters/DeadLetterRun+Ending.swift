import AMQP
import Core

extension DeadLetterRun {
    func judge() {
        let isOver = tally.seen == tally.atStart || tally.chosen >= settings.limit
        if isReading, isOver, isIdle { return finish(.complete) }
        if now >= lastProgress + settings.patience {
            return finish(.failed(lastLoss?.description ?? "the broker does not answer"))
        }
        if now >= nextWatch, question == nil, control.isOpen {
            nextWatch = .distantFuture
            ask(.watch)
        }
    }

    func lost(_ error: AMQPError, isFatal: Bool) {
        lastLoss = error
        if isFatal || !error.isTransient { finish(.failed(error.description)) }
    }

    func finish(_ end: End) {
        guard self.end == nil else { return }
        self.end = end
        closesAt = now + Self.lastWait
        stopTaking()
        waiting = EventQueue()
        renewals = EventQueue()
        retained = []
    }

    /// Waits for what is under way, makes sure of the acknowledgements, then gives the rest back.
    func close() {
        guard !isClosing else { return }
        let isOverdue = now >= closesAt || !consumer.isOpen
        if departure == .stopped, inFlight.count == 0 || !publisher.isOpen { leave(.subscribing) }
        guard departure == .ready || isOverdue else { return }
        isClosing = true
        for connection in connections { connection.close(at: now) }
    }

    /// Takes no more: what comes after the last one that is looked at, copies of this run among it, is to stay where it is.
    func stopTaking() {
        if departure == .taking { leave(.stopping) }
    }

    func cancelled() {
        if departure == .stopping { departure = .stopped }
        if departure == .cancelling { departure = .ready }
    }

    /// RabbitMQ's channels put acks to a busy quorum queue aside until it has taken earlier ones, and forget them when the
    /// channel ends. What the queue answers after them says that they are through: two commands, because those put aside leave
    /// only when the first one is answered.
    func leave(_ next: Departure) {
        departure = next
        switch next {
        case .subscribing:
            consumer.flushAcknowledgements(at: now)
            // As little as possible comes along.
            consumer.setPrefetch(1, queue: 0, at: now)
            consumer.resumeConsumers(at: now)
        case .stopping, .cancelling: consumer.cancelConsumers(at: now)
        case .taking, .stopped, .ready: break
        }
    }
}

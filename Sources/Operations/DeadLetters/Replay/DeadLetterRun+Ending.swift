import AMQP
import Core
import DequeModule

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
        giveUp(&suspects)
        waiting = Deque()
        renewals = Deque()
        retained = []
    }

    /// Waits for what is under way, makes sure of the acknowledgements, then gives the rest back.
    func close() {
        guard !isClosing else { return }
        let isOverdue = now >= closesAt || !consumer.isOpen
        if departure == .stopped, flush == nil, inFlight.isEmpty || !publisher.isOpen {
            flush = AcknowledgementFlush([QueueID(0)], on: consumer, at: now)
        }
        guard flush?.isOver ?? false || isOverdue else { return }
        isClosing = true
        for connection in connections { connection.close(at: now) }
    }

    /// Takes no more: what comes after the last one that is looked at, copies of this run among it, is to stay where it
    /// is.
    func stopTaking() {
        guard departure == .taking else { return }
        departure = .stopping
        consumer.cancelConsumers(at: now)
    }
}

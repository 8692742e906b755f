import AMQP
import Core

extension DeadLetterRun {
    func judge() {
        let isOver = tally.seen == tally.atStart || tally.chosen >= settings.limit
        if isReading, isOver, isIdle { return finish(.complete) }
        if let failure = timeout.failure(at: now) { return finish(.failed(failure)) }
        if now >= inspection.nextWatch, inspection.question == nil, connections.control.isOpen {
            inspection.nextWatch = .distantFuture
            ask(.watch)
        }
    }

    func lost(_ error: AMQPError, isFatal: Bool) {
        timeout.connectionLost(error)
        if isFatal || !error.isTransient { finish(.failed(error.description)) }
    }

    func finish(_ end: End) {
        guard self.end == nil else { return }
        self.end = end
        shutdown.deadline = now + Self.lastWait
        stopTaking()
        giveUp(&publishes.suspects)
        backlog = Backlog()
    }

    /// Waits for what is under way, makes sure of the acknowledgements, then gives the rest back.
    func close() {
        guard !shutdown.isClosing else { return }
        let consumer = connections.consumer
        let isOverdue = now >= shutdown.deadline || !consumer.isOpen
        let isPublished = publishes.inFlight.isEmpty || !connections.publisher.isOpen
        if shutdown.departure == .stopped, shutdown.flush == nil, isPublished {
            shutdown.flush = AcknowledgementFlush([QueueID(0)], on: consumer, at: now)
        }
        guard shutdown.flush?.isOver ?? false || isOverdue else { return }
        shutdown.isClosing = true
        for connection in connections.all { connection.close(at: now) }
    }

    /// Takes no more: what comes after the last one that is looked at, copies of this run among it, is to stay where it
    /// is.
    func stopTaking() {
        guard shutdown.departure == .taking else { return }
        shutdown.departure = .stopping
        connections.consumer.cancelConsumers(at: now)
    }
}

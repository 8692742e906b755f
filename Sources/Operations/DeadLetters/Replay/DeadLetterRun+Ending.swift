import AMQP
import Core

extension DeadLetterRun {
    func checkEnd() {
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
        stopConsuming()
        giveUp(&publishes.suspects)
        backlog = Backlog()
    }

    /// Waits for pending publishes, flushes the acknowledgements, then closes the connections; the broker requeues the
    /// rest.
    func close() {
        guard !shutdown.isClosing else { return }
        let consumer = connections.consumer
        let isOverdue = now >= shutdown.deadline || !consumer.isOpen
        let isPublished = publishes.inFlight.isEmpty || !connections.publisher.isOpen
        if shutdown.consumerState == .stopped, shutdown.flush == nil, isPublished {
            shutdown.flush = AcknowledgementFlush([QueueID(0)], on: consumer, at: now)
        }
        guard shutdown.flush?.isOver ?? false || isOverdue else { return }
        shutdown.isClosing = true
        for connection in connections.all { connection.close(at: now) }
    }

    /// Stops consuming: later messages, including copies by this run, stay in the queue.
    func stopConsuming() {
        guard shutdown.consumerState == .consuming else { return }
        shutdown.consumerState = .stopping
        connections.consumer.cancelConsumers(at: now)
    }
}

import AMQP
import Core

extension DeadLetterRun {
    /// Whether no further message is taken.
    var isOver: Bool {
        tally.seen == tally.atStart || tally.chosen >= settings.limit
    }

    func checkEnd() {
        if isStarted, isOver, isIdle { return finish(.complete) }
        if let failure = timeout.failure(at: now) { return finish(.failed(failure)) }
        if isReadOnly, isStarted, !isOver, connections.isNewestConsumerFull { openConsumer() }
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

    /// Stops consuming: later messages, including copies by this run and what it returns, stay in the queue.
    func stopConsuming() {
        for index in connections.consumers.indices { connections.consumers[index].stop(at: now) }
    }

    /// Waits for pending publishes, flushes the acknowledgements, then closes one connection after another.
    ///
    /// The consumer with the oldest messages is the first: a quorum queue keeps the order in which messages return. The
    /// lock is released last.
    func close() {
        let isOverdue = now >= shutdown.deadline
        if !shutdown.isClosing {
            guard isOverdue || publishes.inFlight.isEmpty || !connections.publisher.isOpen else { return }
            for index in connections.consumers.indices { connections.consumers[index].flush(at: now) }
            guard isOverdue || connections.consumers.allSatisfy(\.isFlushed) else { return }
            shutdown.isClosing = true
        }
        while let next = connections.all.first(where: { !$0.isClosed }) {
            next.close(at: now)
            // A connection that was not open closes immediately, and no other event would trigger a step.
            takeEvents()
            guard next.isClosed else { return }
        }
    }
}

package import AMQP
package import Core

/// Reads dead letters without changing anything: the messages stay unacknowledged and are requeued in their order.
///
/// Sans-IO like a worker. It reads as many messages as the queue contained at the start and keeps none. If there are
/// more than ``window``, further connections hold the rest. On a quorum queue each scan counts as a delivery.
package final class DeadLetterScan: Run {
    package enum End: Equatable, Sendable {
        case complete
        /// ``stop(at:)`` was called.
        case stopped
        case failed(String)
    }

    /// `emptiness` verifies a length of 0, as in a ``DeadLetterRun``.
    private enum Question { case length, emptiness }

    /// The consuming connections. Each holds up to ``limit`` messages, and only the newest one receives more.
    private struct Windows {
        let limit: Int
        private(set) var connections: [AMQPConnection] = []
        /// Messages that the newest connection has received.
        private var received = 0
        /// Whether the newest connection may still receive messages that another one returns: its consumer has not
        /// ended yet.
        private(set) var isCancelling = false

        init(limit: Int) {
            self.limit = limit
        }

        /// Whether the newest connection has reached its limit.
        var isFull: Bool { received == limit }

        mutating func open(_ connection: AMQPConnection, at now: Instant) {
            received = 0
            connections.append(connection)
            connection.start(at: now)
        }

        mutating func messageReceived() {
            received += 1
        }

        /// Ends the consumer of the newest connection if another one could return messages to it.
        mutating func cancel(at now: Instant) {
            guard connections.count > 1, let newest = connections.last else { return }
            isCancelling = newest.isOpen
            newest.cancelConsumers(at: now)
        }

        /// The consumer of the newest connection has ended.
        mutating func consumerEnded() {
            isCancelling = false
        }
    }

    /// The maximum number of messages per connection.
    package static let window = 50_000
    /// The timeout for a response of the broker.
    package static let timeLimit = Duration.seconds(30)
    private static let quiet = Duration.seconds(2)

    package let queue: String
    package private(set) var atStart = 0
    package private(set) var seen = 0
    /// Messages close to the delivery limit, which a broker would drop after some more scans.
    package private(set) var worn = 0
    package private(set) var end: End?

    private let mostDeliveries: Int
    private let connect: (AMQPRole) throws -> AMQPConnection
    private let visit: (Delivery, DeadLetter) -> Bool
    private let control: AMQPConnection
    private var windows: Windows
    private var question: Question?
    private var isCounted = false
    private var now: Instant
    private var timeout: ProgressTimeout
    private var nextCheck = Instant.distantFuture

    /// - Parameters:
    ///   - connect: makes the connection for a role.
    ///   - visit: called with each message; false ends the scan. The body is empty if it is too large.
    package init(
        _ queue: String, window: Int = DeadLetterScan.window,
        mostDeliveries: Int = DeadLetterRun.Settings(queue: "").mostDeliveries, at now: Instant,
        connect: @escaping (AMQPRole) throws -> AMQPConnection, visit: @escaping (Delivery, DeadLetter) -> Bool
    ) rethrows {
        self.queue = queue
        self.mostDeliveries = mostDeliveries
        self.connect = connect
        self.visit = visit
        self.now = now
        windows = Windows(limit: window)
        timeout = ProgressTimeout(limit: Self.timeLimit, at: now)
        control = try connect(.control)
        control.start(at: now)
    }

    private var connections: [AMQPConnection] { [control] + windows.connections }

    package var nextDeadline: Instant? {
        let retries = connections.compactMap(\.nextDeadline).min()
        guard end == nil else { return retries }
        return min(timeout.deadline, nextCheck, retries ?? .distantFuture)
    }

    package var progress: (done: Int, of: Int) { (seen, atStart) }

    package func step(at moment: Moment) {
        now = moment.instant
        for connection in connections { connection.expire(at: now) }
        takeEvents()
        if end == nil { checkEnd() }
        guard end != nil else { return }
        requeue()
        // A connection that was not open closes immediately, and no other event would trigger a step.
        takeEvents()
    }

    private func takeEvents() {
        takeControlEvents()
        for connection in windows.connections { takeDeliveries(of: connection) }
    }

    package func stop(at moment: Moment) {
        now = moment.instant
        finish(.stopped)
    }

    package var isFinished: Bool {
        end != nil && connections.allSatisfy(\.isClosed)
    }

    // MARK: Length

    private func takeControlEvents() {
        while let event = control.nextEvent(at: now) {
            switch event {
            case .engine(.opened) where !isCounted && end == nil: ask(.length)
            case .engine(.responded(let response)): responded(response)
            case .disconnected(_, let error, _): lost(error)
            default: break
            }
        }
    }

    private func ask(_ question: Question) {
        // The connection was lost, and the event is not processed yet.
        guard control.isOpen else { return }
        self.question = question
        switch question {
        case .length: control.request(.inspectQueue(queue), at: now)
        case .emptiness: control.request(.get(queue: queue), at: now)
        }
    }

    private func responded(_ response: ControlResponse) {
        guard let asked = question, end == nil else { return }
        question = nil
        switch (asked, response) {
        case (.length, .declared(_, 0, _)):
            if !isCounted || timeout.isQuiet(for: Self.quiet, at: now) { ask(.emptiness) }
        case (.length, .declared(_, let messages, _)): counted(Int(messages))
        // The queue is empty, or other consumers hold its messages.
        case (.emptiness, .empty): finish(.complete)
        case (.emptiness, .got(let delivery, let remaining, _)):
            control.nack(epoch: delivery.epoch, tag: delivery.tag, requeue: true, at: now)
            counted(Int(remaining) + 1)
        case (.emptiness, .refused(let error)) where error.code == .resourceLocked: finish(.complete)
        case (_, .refused(let error)): finish(.failed(error.message))
        default: finish(.failed("unexpected response from the broker"))
        }
    }

    private func counted(_ messages: Int) {
        guard !isCounted else { return }
        isCounted = true
        timeout.restart(at: now)
        atStart = messages
        openWindow()
    }

    private func openWindow() {
        nextCheck = now + Self.quiet
        let prefetch = UInt16(min(windows.limit, max(1, atStart - seen)))
        do {
            let connection = try connect(.consumer([ConsumerQueue(name: queue, prefetch: prefetch)]))
            windows.open(connection, at: now)
        } catch {
            finish(.failed("\(error)"))
        }
    }

    // MARK: Messages

    private func takeDeliveries(of connection: AMQPConnection) {
        while let event = connection.nextEvent(at: now) {
            switch event {
            case .engine(.delivery(let delivery)), .engine(.oversize(let delivery, _)): take(delivery)
            case .engine(.cancelled(_, let byBroker)):
                windows.consumerEnded()
                if byBroker { finish(.failed("queue \"\(queue)\" is gone")) }
            case .disconnected(_, let error, _):
                windows.consumerEnded()
                lost(error)
            default: break
            }
        }
    }

    private func take(_ delivery: Delivery) {
        windows.messageReceived()
        guard end == nil, seen < atStart else { return }
        seen += 1
        timeout.restart(at: now)
        let letter = DeadLetter(delivery, in: queue)
        if letter.deliveries >= mostDeliveries { worn += 1 }
        if !visit(delivery, letter) { finish(.complete) }
    }

    // MARK: End

    private func checkEnd() {
        if isCounted, seen == atStart { return finish(.complete) }
        if let failure = timeout.failure(at: now) { return finish(.failed(failure)) }
        if isCounted, windows.isFull { openWindow() }
        if now >= nextCheck, question == nil, control.isOpen {
            nextCheck = now + Self.quiet
            ask(.length)
        }
    }

    private func lost(_ error: AMQPError) {
        timeout.connectionLost(error)
        question = nil
        if seen > 0 || !error.isTransient { finish(.failed(error.description)) }
    }

    private func finish(_ end: End) {
        guard self.end == nil else { return }
        self.end = end
        windows.cancel(at: now)
    }

    /// Closes one window after another, the one with the oldest messages first: a quorum queue keeps the order in which
    /// messages return.
    private func requeue() {
        guard !windows.isCancelling else { return }
        (windows.connections + [control]).first { !$0.isClosed }?.close(at: now)
    }
}

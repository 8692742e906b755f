import AMQP
import Core
import System
import TestSupport

/// A broker client that waits for each reply, for a test's own declarations, publishes and consumption.
///
/// It runs a private loop on the calling thread, and only while it waits.
final class BrokerClient: LoopOwner {
    private let address: BrokerAddress
    private let loop: EventLoop
    private let network: SocketNetwork
    private var control: AMQPConnection?
    private var connections: [AMQPConnection] = []
    private var step: () throws -> Bool = { true }
    private var deadline = Instant.distantFuture
    private var failure: (any Error)?

    init(_ url: String) throws {
        address = try BrokerAddress(url)
        loop = try EventLoop()
        network = try SocketNetwork(loop: loop, resolver: Resolver())
    }

    /// Sends a request on the control connection; once more if that was lost meanwhile.
    @discardableResult
    func ask(_ request: ControlRequest) throws -> ControlResponse {
        let control = self.control ?? open(.control)
        self.control = control
        var reply: ControlResponse?
        var isAsked = false
        try wait(for: "the broker's answer to \(request)") {
            if control.isOpen, !isAsked {
                isAsked = true
                control.request(request, at: self.now)
            }
            while let event = control.nextEvent(at: self.now) {
                switch event {
                case .engine(.responded(let response)): reply = response
                case .disconnected(_, let error, _):
                    guard error.isTransient else { throw error }
                    isAsked = false
                default: break
                }
            }
            return reply != nil
        }
        guard let reply else { throw TestSupportError("no answer to \(request)") }
        if case .refused(let error) = reply { throw error }
        return reply
    }

    /// Waits until a queue delivers a message, which is requeued, or reports that it is empty: the broker accepts
    /// connections before that.
    func waitUntilUsable(_ queue: String) throws {
        try eventually("an answer of \(queue)", within: .seconds(60)) { try? reject(queue, requeue: true) }
    }

    /// The queues of ``declare(_:_:)``.
    private(set) var declared: Set<String> = []

    func declare(_ queue: String, _ arguments: FieldTable = FieldTable()) throws {
        declared.insert(queue)
        try ask(.declareQueue(QueueDeclaration(name: queue, arguments: arguments)))
    }

    /// Ready messages in a queue, without unsettled ones.
    func count(_ queue: String) throws -> Int {
        guard case .declared(_, let messages, _) = try ask(.inspectQueue(queue)) else {
            throw TestSupportError("no count of \(queue)")
        }
        return Int(messages)
    }

    /// Waits until a queue has no consumers: the unsettled messages are back in it.
    ///
    /// A quorum queue releases a consumer, and requeues its messages, some time after its connection has ended.
    /// RabbitMQ reports 0 for both counts of a queue that does not reply within 250 ms. Source:
    /// rabbit_quorum_queue.erl, `stat`.
    ///
    /// - Parameters:
    ///   - process: the former consumer, for the report.
    ///   - messages: the number of ready messages then, if known.
    func waitUntilLeft(_ queue: String, by process: ChildProcess? = nil, messages: Int? = nil) throws {
        try eventually("\(queue) without a consumer; \(process?.report ?? "")", within: .seconds(30)) {
            guard case .declared(_, let waiting, 0) = try ask(.inspectQueue(queue)) else { return nil as Bool? }
            return messages == nil || messages == Int(waiting) ? true : nil
        }
    }

    /// Publishes messages and waits until the broker has confirmed each; a connection may be lost before the first.
    func publish(_ messages: [Publication]) throws {
        let publisher = open(.publisher)
        defer { close(publisher) }
        var next = 0
        var confirmed = 0
        try wait(for: "the confirms of \(messages.count) messages") {
            while let event = publisher.nextEvent(at: self.now) {
                switch event {
                case .engine(.confirmed(_, .acked)): confirmed += 1
                case .engine(.confirmed(_, let confirmation)): throw TestSupportError("publish: \(confirmation)")
                case .disconnected(_, let error, _) where next > 0 || !error.isTransient: throw error
                default: break
                }
            }
            while publisher.canPublish, next < messages.count {
                _ = try publisher.publish(messages[next])
                next += 1
            }
            return confirmed == messages.count
        }
    }

    /// Takes messages from queues, acknowledging each, until `take` says that it was the last one.
    ///
    /// Further messages from the broker are requeued. Not for use while the broker is to fail; a restarted broker may
    /// refuse at first.
    func consume(_ queues: [String], within limit: Duration = .seconds(60), take: (Delivery) throws -> Bool) throws {
        let consumer = open(.consumer(queues.map { ConsumerQueue(name: $0, prefetch: 500) }))
        defer { close(consumer) }
        var hasDelivered = false
        try withoutActuallyEscaping(take) { take in
            try wait(for: "the messages of \(queues.joined(separator: ", "))", within: limit) {
                while let event = consumer.nextEvent(at: self.now) {
                    switch event {
                    case .engine(.delivery(let delivery)):
                        hasDelivered = true
                        consumer.ack(epoch: delivery.epoch, queue: delivery.queue, tag: delivery.tag, at: self.now)
                        if try take(delivery) { return true }
                    case .engine(.channelClosed(_, let error)), .disconnected(_, let error, _):
                        guard error.isTransient, !hasDelivered else { throw error }
                    default: break
                    }
                }
                return false
            }
        }
        // The broker may hold acks back for a busy quorum queue, and would drop them with the connection.
        consumer.cancelConsumers(at: now)
        var flush = AcknowledgementFlush(queues.indices.map { QueueID($0) }, on: consumer, at: now)
        try wait(for: "the queues' answers after the acks") {
            while let event = consumer.nextEvent(at: self.now) { flush.took(event, on: consumer, at: self.now) }
            return flush.isOver
        }
    }

    /// Takes all messages of a queue.
    func takeAll(_ queue: String) throws -> [Delivery] {
        var all: [Delivery] = []
        while true {
            let waiting = try count(queue)
            if waiting > 0 {
                var taken = 0
                try consume([queue]) { delivery in
                    all.append(delivery)
                    taken += 1
                    return taken == waiting
                }
            }
            // The count may not yet include messages requeued by a connection that just ended; this does.
            guard case .got(let delivery, _) = try ask(.get(queue: queue)) else { return all }
            control?.ack(epoch: delivery.epoch, tag: delivery.tag, at: now)
            all.append(delivery)
        }
    }

    /// Rejects the first message of a queue: the broker dead-letters it, or requeues it and counts that.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func reject(_ queue: String, requeue: Bool = false) throws -> Bool {
        guard case .got(let delivery, _) = try ask(.get(queue: queue)), let control else { return false }
        control.nack(epoch: delivery.epoch, tag: delivery.tag, requeue: requeue, at: now)
        // The reply follows the handling of the nack.
        try ask(.inspectQueue(queue))
        return true
    }

    /// Gets the first message of a queue and closes the connection that holds it: every release counts that as a failed
    /// delivery. RabbitMQ 4.3 does not count a nack.
    func abandon(_ queue: String) throws {
        try ask(.get(queue: queue))
        guard let control else { return }
        close(control)
        self.control = nil
    }

    // MARK: Event loop

    private var now: Instant { loop.now.instant }

    private func open(_ role: AMQPRole) -> AMQPConnection {
        var configuration = AMQPConfiguration(address: address, role: role)
        configuration.connectionName = "test"
        let connection = AMQPConnection(
            configuration: configuration, addresses: [address], network: network,
            backoff: Backoff(limit: AMQPConnection.longestPause))
        connection.start(at: now)
        connections.append(connection)
        return connection
    }

    /// Closes a connection in order, with the acknowledgements that are due.
    private func close(_ connection: AMQPConnection) {
        connection.close(at: now)
        do {
            try wait(for: "the end of a connection") {
                while connection.nextEvent(at: self.now) != nil {}
                return connection.isClosed
            }
        } catch {
            // A lost connection has ended, too.
        }
        connections.removeAll { $0 === connection }
    }

    private func wait(
        for what: String, within limit: Duration = .seconds(60), _ step: @escaping () throws -> Bool
    ) throws {
        self.step = step
        deadline = SystemClock.now().instant + limit
        failure = nil
        defer { self.step = { true } }
        try loop.run(owner: self)
        if let failure { throw failure }
        if loop.now.instant >= deadline { throw TestSupportError("not within \(limit): \(what)") }
    }

    // MARK: LoopOwner

    var nextDeadline: Instant? {
        connections.compactMap(\.nextDeadline).reduce(deadline, min)
    }

    func expire(at now: Moment) {
        for connection in connections { connection.expire(at: now.instant) }
    }

    func endTurn(at now: Moment) {
        do {
            if try step() || now.instant >= deadline { loop.stop() }
        } catch {
            failure = error
            loop.stop()
        }
    }
}

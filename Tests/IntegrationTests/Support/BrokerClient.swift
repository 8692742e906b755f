import AMQP
import Core
import System
import TestSupport

/// A client of the broker that waits for each answer: what a test declares, publishes and collects by itself.
///
/// It turns a loop of its own on the calling thread, and only while it waits.
final class BrokerClient: LoopOwner {
    private let address: BrokerAddress
    private let loop: EventLoop
    private let network: SocketNetwork
    private let backoff: Backoff
    private var control: AMQPConnection?
    private var connections: [AMQPConnection] = []
    private var step: () throws -> Bool = { true }
    private var deadline = Instant.distantFuture
    private var failure: (any Error)?

    init(_ url: String, backoff: Backoff = Backoff(limit: AMQPConnection.longestPause)) throws {
        address = try BrokerAddress(url)
        self.backoff = backoff
        loop = try EventLoop()
        network = try SocketNetwork(loop: loop, resolver: try Resolver())
    }

    /// Asks the broker something on the connection that is kept for that; once more if that was lost meanwhile.
    @discardableResult
    func ask(_ request: ControlRequest) throws -> ControlReply {
        let control = self.control ?? open(.control)
        self.control = control
        var reply: ControlReply?
        var isAsked = false
        try wait(for: "the broker's answer to \(request)") {
            if control.isOpen, !isAsked {
                isAsked = true
                control.request(request, at: self.now)
            }
            while let event = control.nextEvent(at: self.now) {
                switch event {
                case .engine(.replied(let answer)): reply = answer
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

    /// Waits until a queue gives a message, which goes back, or says that it has none: the broker takes connections
    /// before that.
    ///
    /// - Returns: when it did.
    func waitUntilUsable(_ queue: String) throws -> Instant {
        try eventually("an answer of \(queue)", within: .seconds(60)) { try? reject(queue, requeue: true) }
        return now
    }

    func declare(_ queue: String, _ arguments: FieldTable = FieldTable()) throws {
        try ask(.declareQueue(QueueDeclaration(name: queue, arguments: arguments)))
    }

    /// Messages that wait in a queue; not those that somebody holds.
    func count(_ queue: String) throws -> Int {
        guard case .declared(_, let messages, _) = try ask(.inspectQueue(queue)) else {
            throw TestSupportError("no count of \(queue)")
        }
        return Int(messages)
    }

    /// Waits until nobody consumes from a queue: what was held is in it again.
    ///
    /// A quorum queue lets a consumer go, and takes back what it held, some time after its connection has ended. Of one
    /// that does not answer within 250 ms RabbitMQ says that it has 0 of both. Source: rabbit_quorum_queue.erl, `stat`.
    ///
    /// - Parameters:
    ///   - process: who consumed, for the report.
    ///   - messages: how many wait in the queue then, where that is known.
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
    /// Whatever the broker has sent beyond that goes back. Not for a time when the broker is to fail; one that has just
    /// come back may refuse at first.
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
                        consumer.ack(
                            epoch: delivery.epoch, queue: delivery.queue, tag: delivery.tag, at: self.now)
                        if try take(delivery) { return true }
                    case .engine(.channelClosed(_, let error)), .disconnected(_, let error, _):
                        guard error.isTransient, !hasDelivered else { throw error }
                    default: break
                    }
                }
                return false
            }
        }
    }

    /// Takes everything that lies in a queue.
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
            // The count may lag behind what a connection that just ended gives back; this does not.
            guard case .got(let delivery, _, _) = try ask(.get(queue: queue)) else { return all }
            control?.ack(epoch: delivery.epoch, tag: delivery.tag, at: now)
            all.append(delivery)
        }
    }

    /// Refuses the first message of a queue: the broker dead-letters it, or puts it back and counts that.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func reject(_ queue: String, requeue: Bool = false) throws -> Bool {
        guard case .got(let delivery, _, _) = try ask(.get(queue: queue)), let control else { return false }
        control.nack(epoch: delivery.epoch, tag: delivery.tag, requeue: requeue, at: now)
        // Its answer comes after the nack was dealt with.
        try ask(.inspectQueue(queue))
        return true
    }

    // MARK: Turning

    private var now: Instant { loop.now.instant }

    private func open(_ role: AMQPRole) -> AMQPConnection {
        var configuration = AMQPConfiguration(address: address, role: role)
        configuration.connectionName = "test"
        let connection = AMQPConnection(
            configuration: configuration, addresses: [address], network: network, backoff: backoff)
        connection.start(at: now)
        connections.append(connection)
        return connection
    }

    /// Ends a connection in order, with the acknowledgements that are due.
    private func close(_ connection: AMQPConnection) {
        connection.close(at: now)
        do {
            try wait(for: "the end of a connection") {
                while connection.nextEvent(at: self.now) != nil {}
                return connection.isClosed
            }
        } catch {
            // It was lost: it has ended, too.
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

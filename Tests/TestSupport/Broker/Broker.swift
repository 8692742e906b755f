package import AMQP
import Core

/// The state of an in-memory broker, shared by the ``BrokerEngine``s of its connections: queues, bindings, users.
///
/// It follows AMQP 0-9-1 and RabbitMQ's documents, not our engine: a test of one against the other compares two
/// independent readings.
package final class Broker {
    package struct Message {
        package var exchange: [UInt8]
        package var routingKey: [UInt8]
        /// Property flags and values, as received.
        package var properties: [UInt8]
        package var body: [UInt8]
        package var redelivered = false
        var expires = Instant.distantFuture
        /// The number of times it was requeued.
        var returns = 0

        mutating func countReturns() {
            var properties = decodedProperties ?? MessageProperties()
            var headers = properties.headers ?? FieldTable()
            headers["x-delivery-count"] = .int64(Int64(returns))
            properties.headers = headers
            guard let encoded = try? properties.encoded() else { preconditionFailure("a number fits into headers") }
            self.properties = encoded
        }

        /// Records in `x-death` why it leaves a queue; newest first, one entry for each queue and reason.
        /// Source: rabbitmq.com/docs/dlx (effects on messages).
        mutating func countDeath(in queue: String, _ reason: String, at now: Instant) {
            var properties = decodedProperties ?? MessageProperties()
            var headers = properties.headers ?? FieldTable()
            var deaths: [FieldValue] = []
            if case .array(let known)? = headers["x-death"] { deaths = known }
            var death: FieldTable = [
                "count": .int64(1), "reason": .string(reason), "queue": .string(queue),
                "time": .timestamp(UInt64(clamping: now.nanoseconds / 1_000_000_000)), "exchange": .text(exchange),
                "routing-keys": .array([.text(routingKey)]),
            ]
            let place = deaths.firstIndex { known in
                guard case .table(let known) = known else { return false }
                return known["queue"] == .string(queue) && known["reason"] == .string(reason)
            }
            if let place, case .table(let known) = deaths.remove(at: place) {
                death = known
                if case .int64(let count)? = known["count"] { death["count"] = .int64(count + 1) }
            }
            headers["x-death"] = .array([.table(death)] + deaths)
            properties.headers = headers
            guard let encoded = try? properties.encoded() else { preconditionFailure("a death fits into headers") }
            self.properties = encoded
        }

        /// The properties as our own parser decodes them.
        package var decodedProperties: MessageProperties? { try? MessageProperties(decoding: properties[...]) }
    }

    /// A connection owns its engine and the engine the broker, which has weak references only.
    private struct Connection {
        weak var engine: BrokerEngine?
    }

    fileprivate struct Consumer {
        weak var engine: BrokerEngine?
        let tag: String
    }

    package final class Queue {
        package let name: String
        package let arguments: FieldTable
        /// The connection that declared it exclusive.
        weak var owner: BrokerEngine?
        package fileprivate(set) var messages: [Message] = []
        /// Publishes to it are nacked, as with a full queue and `reject-publish`.
        package var rejectsPublishes = false
        /// A quorum queue without a majority: it neither stores publishes nor confirms them. See
        /// ``Broker/restoreMajority(of:)``.
        package var hasNoMajority = false
        /// Whether it has no leader either: the first publish of a channel waits for one, and all later ones of the
        /// channel wait with it. Source: `rabbit_fifo_client:enqueue`, register_enqueuer.
        package var hasNoLeader = false
        /// Whether its consumers get nothing.
        package var isStalled = false
        /// Rejected or expired messages without a dead-letter target.
        package fileprivate(set) var discarded = 0
        /// Of the newest consumer.
        package internal(set) var consumeArguments = FieldTable()
        fileprivate var consumers: [Consumer] = []
        fileprivate var turn = 0

        init(name: String, arguments: FieldTable) {
            self.name = name
            self.arguments = arguments
        }

        package var consumerCount: Int { consumers.count }
    }

    /// Observable events, in order.
    package enum Observation {
        case delivered(Message, queue: String)
        case acknowledged(Message, queue: String)
        /// A message was requeued, by the client or because its channel closed.
        case returned(Message, queue: String)
        /// A client's publish was enqueued.
        case enqueued(Message, queue: String)
        /// The broker confirmed a client's publish.
        case confirmed(Message)
    }

    /// How a refused login ends.
    package enum LoginRefusal {
        /// By `connection.close` 403, as RabbitMQ does for clients that know `authentication_failure_close`.
        case closeFrame
        case hangUp
    }

    /// Whether redeliveries have their count in `x-delivery-count`, as from quorum queues.
    package var countsDeliveries = false
    package var users = ["guest": "guest"]
    /// The reaction to a refused publish: the broker closes the channel, or the connection.
    package enum Refusal {
        case connection(UInt16, String)
        case channel(UInt16, String)
    }

    /// Selects the publishes that it refuses.
    package var refuses: (Message) -> Refusal? = { _ in nil }
    package var loginRefusal = LoginRefusal.closeFrame
    package var frameMax: UInt32 = 131_072
    package var channelMax: UInt16 = 2047
    /// The heartbeat proposed to clients, in seconds.
    package var heartbeat: UInt16 = 60
    /// A busy quorum queue: its channels defer acks until it has answered two commands, and lose them when they end.
    package var putsAcksAside = false
    /// Whether a passive declaration needs the configure permission, and the user lacks it (RabbitMQ 4.2.6).
    package var refusesCounts = false
    /// Whether `channel.open` is answered.
    package var opensChannels: (UInt16) -> Bool = { _ in true }
    /// A quorum queue that does not reply in time: the reported message count is 0.
    package var countsNothing = false
    /// Whether it refuses the delivery timeout of a consumer, as RabbitMQ 4.3 does for a classic queue.
    package var refusesTimeouts = false
    /// While true, confirms wait for ``BrokerEngine/releaseConfirms(_:multiple:acked:)``.
    package var holdsConfirms = false
    package var observe: ((Observation) -> Void)?
    /// Violations for which a broker would close the channel or the connection.
    package internal(set) var violations: [String] = []
    package private(set) var queues: [String: Queue] = [:]
    private var exchanges: Set<String> = [""]
    private var bindings: [(exchange: String, routingKey: [UInt8], queue: String)] = []
    private var connections: [Connection] = []
    package private(set) var isAlarmed = false

    package init() {}

    package var engines: [BrokerEngine] { connections.compactMap(\.engine) }

    // MARK: - For tests

    @discardableResult
    package func declare(_ name: String, arguments: FieldTable = FieldTable()) -> Queue {
        if let queue = queues[name] { return queue }
        let queue = Queue(name: name, arguments: arguments)
        queues[name] = queue
        return queue
    }

    /// Puts a message into a queue, as if it had been published to it.
    package func put(
        _ body: [UInt8], properties: MessageProperties = MessageProperties(), exchange: String = "", into queue: String
    ) throws {
        let message = Message(
            exchange: Array(exchange.utf8), routingKey: Array(queue.utf8), properties: try properties.encoded(),
            body: body)
        enqueue(message, into: declare(queue), at: Instant(nanoseconds: 0))
    }

    package func messages(in queue: String) -> [Message] {
        queues[queue]?.messages ?? []
    }

    /// Removes a queue: its consumers get a `basic.cancel`.
    package func delete(_ name: String) {
        guard let queue = queues.removeValue(forKey: name) else { return }
        bindings.removeAll { $0.queue == name }
        for consumer in queue.consumers { consumer.engine?.consumerLost(consumer.tag) }
        // Its deliveries are gone with it.
        for engine in engines { _ = engine.timeOut(name) { _ in true } }
    }

    /// Cancels the consumers of a remaining queue, as when its leader moves: each gets a `basic.cancel`.
    package func cancelConsumers(of name: String) {
        guard let queue = queues[name] else { return }
        let consumers = queue.consumers
        queue.consumers.removeAll()
        for consumer in consumers { consumer.engine?.consumerLost(consumer.tag) }
    }

    /// Returns deliveries that were held for the delivery timeout, as RabbitMQ 4.3 does: without counting, and with a
    /// `basic.cancel` for their consumers.
    package func timeOut(_ queue: String, where isOverdue: (Message) -> Bool = { _ in true }) {
        requeue(engines.flatMap { $0.timeOut(queue, isOverdue) }, counts: false)
    }

    /// Delivered on any connection, and not settled.
    package var unsettledCount: Int { engines.reduce(0) { $0 + $1.unsettledCount } }

    /// A queue stores and confirms what waited for its majority, and its channels go on.
    package func restoreMajority(of name: String) {
        queues[name]?.hasNoMajority = false
        queues[name]?.hasNoLeader = false
        for engine in engines { engine.majorityRestored(of: name) }
    }

    /// Turns the memory alarm on or off.
    package func setAlarm(_ isOn: Bool) {
        isAlarmed = isOn
        guard !isOn else { return }
        for engine in engines { engine.alarmCleared() }
    }

    /// Closes every connection in order, like a stopping broker.
    package func closeAll(code: UInt16 = 320, text: String = "CONNECTION_FORCED - broker forced connection closure") {
        for engine in engines { engine.closeConnection(code: code, text: text) }
    }

    // MARK: - For engines

    func attach(_ engine: BrokerEngine) {
        connections.append(Connection(engine: engine))
    }

    func detach(_ engine: BrokerEngine) {
        connections.removeAll { $0.engine === engine }
        for queue in queues.values where queue.owner === engine { delete(queue.name) }
        for queue in queues.values { queue.consumers.removeAll { $0.engine === engine } }
        dispatchAll()
    }

    package func declareExchange(_ name: String) { exchanges.insert(name) }
    func deleteExchange(_ name: String) { exchanges.remove(name) }
    func hasExchange(_ name: String) -> Bool { exchanges.contains(name) }

    package func bind(_ queue: String, exchange: String, routingKey: [UInt8]) {
        bindings.append((exchange, routingKey, queue))
    }

    func unbind(_ queue: String, exchange: String, routingKey: [UInt8]) {
        bindings.removeAll { $0.queue == queue && $0.exchange == exchange && $0.routingKey == routingKey }
    }

    func route(exchange: String, routingKey: [UInt8]) -> [Queue] {
        if exchange.isEmpty { return queues[String(decoding: routingKey, as: UTF8.self)].map { [$0] } ?? [] }
        return bindings.filter { $0.exchange == exchange && $0.routingKey == routingKey }.compactMap {
            queues[$0.queue]
        }
    }

    func enqueue(_ message: Message, into queue: Queue, at now: Instant) {
        var message = message
        if case .int32(let milliseconds)? = queue.arguments["x-message-ttl"] {
            message.expires = now + .milliseconds(milliseconds)
        } else if case .int64(let milliseconds)? = queue.arguments["x-message-ttl"] {
            message.expires = now + .milliseconds(milliseconds)
        }
        queue.messages.append(message)
        dispatch(queue)
    }

    /// Requeues messages at the front of their queue, the oldest first in the list.
    func requeue(_ messages: [(queue: String, message: Message)], counts: Bool = true) {
        for (name, message) in messages.reversed() {
            var message = message
            message.redelivered = true
            if counts { message.returns += 1 }
            if countsDeliveries { message.countReturns() }
            observe?(.returned(message, queue: name))
            queues[name]?.messages.insert(message, at: 0)
        }
        dispatchAll()
    }

    /// Routes a rejected or expired message to the dead-letter exchange, or drops it.
    func deadLetter(_ message: Message, from name: String, _ reason: String, at now: Instant) {
        guard let queue = queues[name] else { return }
        guard case .text(let exchange)? = queue.arguments["x-dead-letter-exchange"] else {
            queue.discarded += 1
            return
        }
        var message = message
        message.countDeath(in: name, reason, at: now)
        if case .text(let key)? = queue.arguments["x-dead-letter-routing-key"] { message.routingKey = key }
        message.exchange = exchange
        message.redelivered = false
        message.expires = .distantFuture
        let targets = route(exchange: String(decoding: exchange, as: UTF8.self), routingKey: message.routingKey)
        if targets.isEmpty { queue.discarded += 1 }
        for target in targets { enqueue(message, into: target, at: now) }
    }

    func take(from queue: Queue) -> Message? {
        queue.messages.isEmpty ? nil : queue.messages.removeFirst()
    }

    func purge(_ queue: Queue) -> Int {
        defer { queue.messages.removeAll() }
        return queue.messages.count
    }

    func addConsumer(_ consumer: String, of engine: BrokerEngine, to queue: Queue) {
        queue.consumers.append(Consumer(engine: engine, tag: consumer))
        dispatch(queue)
    }

    func removeConsumer(_ consumer: String, of engine: BrokerEngine) {
        for queue in queues.values {
            queue.consumers.removeAll { $0.engine === engine && $0.tag == consumer }
        }
    }

    func dispatchAll() {
        for name in queues.keys.sorted() { dispatch(queues[name]!) }
    }

    /// Delivers ready messages to consumers with free prefetch, one message to each in turn.
    private func dispatch(_ queue: Queue) {
        while !queue.messages.isEmpty, !queue.isStalled {
            let count = queue.consumers.count
            let order = (0..<count).map { (queue.turn + $0) % count }
            let free = order.first { index in
                let consumer = queue.consumers[index]
                return consumer.engine?.mayDeliver(consumer.tag) ?? false
            }
            guard let next = free, let engine = queue.consumers[next].engine else { return }
            queue.turn = (next + 1) % count
            engine.deliver(queue.messages.removeFirst(), from: queue.name, to: queue.consumers[next].tag)
        }
    }

    /// When the next message in a queue with a time-to-live expires.
    var nextExpiry: Instant? {
        queues.values.compactMap { $0.messages.first?.expires }.filter { $0 < .distantFuture }.min()
    }

    func expire(at now: Instant) {
        for name in queues.keys.sorted() {
            guard let queue = queues[name] else { continue }
            while let first = queue.messages.first, first.expires <= now {
                queue.messages.removeFirst()
                deadLetter(first, from: name, "expired", at: now)
            }
        }
    }
}

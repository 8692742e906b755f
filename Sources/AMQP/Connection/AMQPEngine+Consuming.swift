import CRabbitMQ
package import Core
import DequeModule

struct Consumer {
    var queue: ConsumerQueue
    /// Unique per registration. RabbitMQ 3.10 closes the channel (541) when a quorum queue delivers to a reused tag
    /// whose deliveries are unsettled.
    private(set) var tag: String
    private var tagBytes: [UInt8]
    private let name: String
    private var registrations = 0
    var machine = ConsumerMachine()
    /// Consecutive channel closes since it last consumed.
    var failures = 0
    /// Whether it sets the delivery timeout. RabbitMQ 4.3 refuses that for classic queues, which have none.
    var setsTimeout = true
    var watch: StallWatch?
    /// When the broker's response to opening the channel, subscribing or cancelling is due.
    var responseDue: Instant?
    /// The queue's last known message count; `nil` before the first count and while its channel is closed.
    var messages: UInt32?
    /// Whether the broker has refused to count the messages on this connection.
    var isUncountable = false

    init(queue: ConsumerQueue, tag: String) {
        precondition(queue.prefetch > 0, "a consumer requires a prefetch limit")
        self.queue = queue
        self.tag = tag
        name = tag
        tagBytes = Array(tag.utf8)
    }

    var arguments: FieldTable {
        var arguments = FieldTable()
        if let priority = queue.priority { arguments["x-priority"] = .int32(Int32(clamping: priority)) }
        if setsTimeout { arguments[Self.timeoutArgument] = .int64(Self.timeout.components.seconds * 1000) }
        return arguments
    }

    static let timeoutArgument = "x-consumer-timeout"
    /// Longer than an owner holds a delivery. RabbitMQ before 4.3 ignores it. Without it, RabbitMQ 4.3 returns the
    /// deliveries of a cancelled consumer to their queue without notice.
    private static let timeout = Duration.seconds(7200)

    var deadline: Instant? {
        responseDue ?? (machine.state == .consuming ? watch?.deadline : machine.deadline)
    }

    func hasTag(_ bytes: Span<UInt8>) -> Bool { tagBytes.span.equals(bytes) }

    mutating func register() {
        registrations += 1
        if registrations > 1 { tag = "\(name)-\(registrations)" }
        tagBytes = Array(tag.utf8)
    }
}

/// Counts the messages of consumed queues, and asks whether another one exists, on a separate channel, because the
/// broker closes it for a missing queue, and RabbitMQ 4.2.6 and 4.3.0 if the user lacks the configure permission.
struct QueueInspection {
    enum State { case closed, opening, open }

    var state = State.closed
    /// The consumers whose queues were inspected, oldest first: a broker answers in order. The number after the last
    /// one means ``other``.
    var pending: [Int] = []
    /// The name of a queue that is not consumed.
    var other = ""
    /// Why the broker refused to inspect ``other``; `nil` if it did not.
    var refusal: AMQPError.Code?
}

extension AMQPEngine {
    /// Settles a delivery. The ledger decides when the ack is sent, joined with its neighbours' acks.
    ///
    /// Returns false when no ack will be sent: the delivery is no longer held, for example after a second settlement,
    /// or the connection is closing.
    @discardableResult
    package mutating func ack(queue: QueueID = QueueID(0), tag: UInt64, at now: Instant) -> Bool {
        calledByOwner(at: now)
        return machine.isOpen && channels[queue.index].deliveries.settle(tag, epoch: epoch, at: now)
    }

    package mutating func flushAcknowledgements(at now: Instant) {
        calledByOwner(at: now)
        for index in channels.indices { channels[index].deliveries.flush() }
        writeAcknowledgements()
    }

    /// Requeues a delivery, or lets the broker drop or dead-letter it. Returns false as ``ack(queue:tag:at:)`` does.
    @discardableResult
    package mutating func nack(queue: QueueID = QueueID(0), tag: UInt64, requeue: Bool, at now: Instant) -> Bool {
        calledByOwner(at: now)
        guard machine.isOpen, channels[queue.index].deliveries.reject(tag, epoch: epoch, at: now) else { return false }
        writeSettlement(AMQP_BASIC_NACK_METHOD, tag, on: queue.index, flags: requeue ? 2 : 0)
        return true
    }

    /// Cancels all consumers; each reports ``Event/cancelled(queue:)``. Delivered messages can still be
    /// settled.
    package mutating func cancelConsumers(at now: Instant) {
        calledByOwner(at: now)
        consumesWhenOpen = false
        guard machine.isOpen else { return }
        for index in consumers.indices { perform(consumers[index].machine.stop(), onConsumer: index) }
    }

    /// Registers consumers again that are stopped or stopping.
    package mutating func resumeConsumers(of queues: Set<QueueID>? = nil, at now: Instant) {
        calledByOwner(at: now)
        if queues == nil { consumesWhenOpen = true }
        guard machine.isOpen else { return }
        for index in consumers.indices where queues?.contains(QueueID(index)) ?? true {
            perform(consumers[index].machine.resume(), onConsumer: index)
        }
    }

    /// Changes a queue's prefetch. Its consumer is registered again, because the broker reads the prefetch only then.
    /// Source: rabbitmq.com/docs/consumer-prefetch.
    package mutating func setPrefetch(_ prefetch: UInt16, queue: QueueID, at now: Instant) {
        precondition(prefetch > 0, "a consumer requires a prefetch limit")
        calledByOwner(at: now)
        let index = queue.index
        guard consumers[index].queue.prefetch != prefetch else { return }
        consumers[index].queue.prefetch = prefetch
        guard machine.isOpen else { return }
        perform(consumers[index].machine.renew(), onConsumer: index)
    }

    mutating func perform(_ action: ConsumerMachine.Action, onConsumer index: Int) {
        if [.openChannel, .subscribe, .cancel].contains(action) {
            consumers[index].responseDue = now + stallTimeout
        }
        switch action {
        case .none: break
        case .openChannel: openChannel(UInt16(index + 1))
        case .subscribe: subscribe(index)
        case .cancel: writeCancel(index)
        case .announceConsuming:
            consumers[index].failures = 0
            if !consumers[index].queue.isSingleActive, !consumers[index].isUncountable {
                consumers[index].watch = StallWatch(timeLimit: stallTimeout / 2, at: now)
            }
            events.append(.consuming(queue: QueueID(index)))
        case .closeChannel:
            unsafe write(AMQP_CHANNEL_CLOSE_METHOD, channel: UInt16(index + 1)) { _ in
                unsafe amqp_channel_close_t(reply_code: 200, reply_text: amqp_bytes_t(), class_id: 0, method_id: 0)
            }
            channelEnded(index, .consumerCancelled)
            consumers[index].responseDue = now + stallTimeout
        case .announceCancelled: events.append(.cancelled(queue: QueueID(index)))
        }
    }

    mutating func writeAcknowledgements() {
        guard machine.isOpen else { return }
        for index in channels.indices {
            while let acknowledgement = channels[index].deliveries.nextAcknowledgement(at: now) {
                switch acknowledgement {
                case .one(let tag): writeSettlement(AMQP_BASIC_ACK_METHOD, tag, on: index, flags: 0)
                case .upTo(let tag): writeSettlement(AMQP_BASIC_ACK_METHOD, tag, on: index, flags: 1)
                }
            }
        }
    }

    mutating func consumerChannelOpened(_ index: Int) {
        guard machine.isOpen else { return }
        guard index < consumers.count else { return inspectionChannelOpened() }
        consumers[index].responseDue = nil
        perform(consumers[index].machine.channelOpened(isWanted: consumesWhenOpen), onConsumer: index)
    }

    mutating func consumerChannelClosed(_ index: Int, _ error: AMQPError) {
        guard index < consumers.count else { return inspectionChannelClosed(error) }
        consumers[index].responseDue = nil
        if consumers[index].setsTimeout, error.message.contains("invalid arg '\(Consumer.timeoutArgument)'") {
            consumers[index].setsTimeout = false
            channels[index].close()
            return consumers[index].machine.channelClosed(retryAt: now)
        }
        channelEnded(index, error)
        consumers[index].machine.channelClosed(retryAt: nextRetry(index))
    }

    mutating func consumerChannelCloseOk(_ index: Int) {
        guard index < consumers.count, consumers[index].machine.state == .closing else { return }
        consumers[index].responseDue = nil
        consumers[index].machine.channelClosed(retryAt: nextRetry(index))
    }

    /// The broker returns all unsettled deliveries of the channel to their queue.
    private mutating func channelEnded(_ index: Int, _ error: AMQPError) {
        channels[index].close()
        consumers[index].watch = nil
        consumers[index].messages = nil
        // It may be declared again as another type.
        consumers[index].setsTimeout = true
        events.append(.channelClosed(queue: QueueID(index), error))
    }

    private mutating func nextRetry(_ index: Int) -> Instant {
        defer { consumers[index].failures += 1 }
        return now
            + configuration.consumerRetry.doubled(
                consumers[index].failures, atMost: configuration.longestConsumerRetry)
    }

    private mutating func subscribe(_ index: Int) {
        consumers[index].register()
        let consumer = consumers[index]
        channels[index].deliveries.prefetch = consumer.queue.prefetch
        write(AMQP_BASIC_QOS_METHOD, channel: UInt16(index + 1)) { _ in
            amqp_basic_qos_t(prefetch_size: 0, prefetch_count: consumer.queue.prefetch, global: 0)
        }
        unsafe write(AMQP_BASIC_CONSUME_METHOD, channel: UInt16(index + 1)) { writer throws(AMQPError) in
            unsafe amqp_basic_consume_t(
                ticket: 0, queue: try writer.short(consumer.queue.name, "queue name"),
                consumer_tag: try writer.short(consumer.tag, "consumer tag"), no_local: 0, no_ack: 0, exclusive: 0,
                nowait: 0, arguments: try writer.table(consumer.arguments))
        }
    }

    /// Registers consumers whose delay is over, reopens their channels, and counts messages of idle queues.
    mutating func expireConsumers() {
        for index in consumers.indices where machine.isOpen {
            guard let deadline = consumers[index].deadline, now >= deadline else { continue }
            if consumers[index].responseDue != nil {
                finish(stalled("the broker has not responded to the consumer of queue", index))
            } else if consumers[index].machine.state == .consuming {
                askForMessages(index)
            } else {
                perform(consumers[index].machine.deadlinePassed(at: now), onConsumer: index)
            }
        }
    }

    /// Requests a queue's message count if its consumer has free prefetch.
    private mutating func askForMessages(_ index: Int) {
        guard channels[index].deliveries.held < Int(consumers[index].queue.prefetch) else {
            consumers[index].watch?.delivered(at: now)
            return
        }
        switch consumers[index].watch?.expire(at: now) {
        case .ask?: break
        case .giveUp?: return finish(stalled("no delivery and no number of messages from queue", index))
        case .wait?, nil: return
        }
        inspectQueue(of: index)
    }

    /// Requests a queue's message count, unless a count is already requested, perhaps by the queue's watch. The result
    /// is ``messages(queue:)``.
    package mutating func countMessages(queue: QueueID, at now: Instant) {
        calledByOwner(at: now)
        let index = queue.index
        guard machine.isOpen, consumers[index].machine.isSettled, !consumers[index].isUncountable else { return }
        inspectQueue(of: index)
    }

    /// The message count of the last response; `nil` if the queue has not been counted on this channel.
    package func messages(queue: QueueID) -> UInt32? {
        consumers[queue.index].messages
    }

    /// Asks whether a queue that is not consumed exists, one queue at a time. The result is ``isMissing(_:)``.
    package mutating func inspect(_ queue: String, at now: Instant) {
        calledByOwner(at: now)
        guard machine.isOpen, handshake.channelMax >= inspectionChannel, !inspection.pending.contains(consumers.count)
        else { return }
        if queue != inspection.other { (inspection.other, inspection.refusal) = (queue, nil) }
        guard inspection.refusal == nil || inspection.refusal == .notFound else { return }
        inspectQueue(of: consumers.count)
    }

    /// Whether a queue did not exist when it was inspected last.
    package func isMissing(_ queue: String) -> Bool { inspection.other == queue && inspection.refusal == .notFound }

    private mutating func inspectQueue(of index: Int) {
        guard !inspection.pending.contains(index) else { return }
        inspection.pending.append(index)
        switch inspection.state {
        case .closed:
            inspection.state = .opening
            openChannel(inspectionChannel)
        case .opening: break
        case .open: writeInspection(of: index)
        }
    }

    private mutating func writeInspection(of index: Int) {
        let name = index < consumers.count ? consumers[index].queue.name : inspection.other
        unsafe write(AMQP_QUEUE_DECLARE_METHOD, channel: inspectionChannel) { writer throws(AMQPError) in
            unsafe amqp_queue_declare_t(
                ticket: 0, queue: try writer.short(name, "queue name"), passive: 1, durable: 0, exclusive: 0,
                auto_delete: 0, nowait: 0, arguments: amqp_table_t())
        }
    }

    /// The channel after those of the consumers.
    private var inspectionChannel: UInt16 { UInt16(consumers.count + 1) }

    private mutating func inspectionChannelOpened() {
        inspection.state = .open
        for index in inspection.pending { writeInspection(of: index) }
    }

    /// Handles the broker's refusal of the oldest count. The channel is opened again for the others.
    private mutating func inspectionChannelClosed(_ error: AMQPError) {
        inspection.state = .closed
        guard !inspection.pending.isEmpty else { return }
        let index = inspection.pending.removeFirst()
        if index == consumers.count {
            inspection.refusal = error.code
        } else {
            consumers[index].messages = nil
            if error.code == .accessRefused {
                consumers[index].isUncountable = true
                consumers[index].watch = nil
            }
        }
        guard !inspection.pending.isEmpty else { return }
        inspection.state = .opening
        openChannel(inspectionChannel)
    }

    mutating func messagesCounted(_ messages: UInt32) {
        guard !inspection.pending.isEmpty else { return unexpected("a declare-ok") }
        let index = inspection.pending.removeFirst()
        guard index < consumers.count else {
            inspection.refusal = nil
            return
        }
        consumers[index].messages = messages
        let isStalled = consumers[index].watch?.responded(messages: messages, at: now) ?? false
        guard isStalled, consumers[index].machine.state == .consuming else { return }
        finish(stalled("no delivery of the \(messages) messages of queue", index))
    }

    /// Another limit for the consumers, also for those that are already being watched.
    mutating func setStallTimeout(_ timeout: Duration, at now: Instant) {
        calledByOwner(at: now)
        stallTimeout = timeout
        for index in consumers.indices {
            if consumers[index].watch != nil {
                consumers[index].watch = StallWatch(timeLimit: timeout / 2, at: now)
            }
            if let due = consumers[index].responseDue { consumers[index].responseDue = min(due, now + timeout) }
        }
    }

    private mutating func stalled(_ what: String, _ index: Int) -> AMQPError {
        stalledQueue = QueueID(index)
        let seconds = stallTimeout.components.seconds
        return AMQPError(.stalled, "\(what) \(consumers[index].queue.name) for \(seconds) s: reconnecting")
    }

    mutating func consumeOkReceived(_ tag: String) {
        guard let index = consumers.firstIndex(where: { $0.tag == tag }) else { return unexpected("a consume-ok") }
        consumers[index].responseDue = nil
        perform(consumers[index].machine.consumeOkReceived(), onConsumer: index)
    }

    mutating func cancelReceived(_ tag: String) {
        guard machine.isOpen, let index = consumers.firstIndex(where: { $0.tag == tag }) else { return }
        perform(consumers[index].machine.cancelReceived(), onConsumer: index)
    }

    mutating func cancelOkReceived(_ tag: String) {
        guard let index = consumers.firstIndex(where: { $0.tag == tag }) else { return unexpected("a cancel-ok") }
        guard machine.isOpen else { return }
        consumers[index].responseDue = nil
        perform(consumers[index].machine.cancelOkReceived(), onConsumer: index)
    }

    @inline(__always)
    func isConsumer(_ index: Int, of tag: amqp_bytes_t) -> Bool {
        guard index < consumers.count else { return false }
        return unsafe consumers[index].hasTag(Span(_unsafeElements: tag.buffer))
    }

    private mutating func writeCancel(_ index: Int) {
        let tag = consumers[index].tag
        unsafe write(AMQP_BASIC_CANCEL_METHOD, channel: UInt16(index + 1)) { writer throws(AMQPError) in
            unsafe amqp_basic_cancel_t(consumer_tag: try writer.short(tag, "consumer tag"), nowait: 0)
        }
    }

    /// `basic.ack` and `basic.nack` differ only in their number and their flags.
    private mutating func writeSettlement(_ method: amqp_method_number_t, _ number: UInt64, on index: Int, flags: UInt8)
    {
        let tag = channels[index].tag(of: number)
        output.beginFrame(.method, channel: UInt16(index + 1), size: 13)
        output.append(bigEndian: method)
        output.append(bigEndian: tag)
        output.append(flags)
        output.endFrame()
    }
}

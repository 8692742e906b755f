import CRabbitMQ
package import Core

/// The consumer of one queue.
struct Consumer {
    enum State {
        case stopped
        case subscribing
        case consuming
        case cancelling(then: Next)
        case waiting(until: Instant)
    }

    enum Next {
        case stop
        case subscribe
        case wait
    }

    var queue: ConsumerQueue
    let tag: String
    let tagBytes: [UInt8]
    var state = State.stopped

    init(queue: ConsumerQueue, tag: String) {
        precondition(queue.prefetch > 0, "a consumer without a limit would be flooded")
        self.queue = queue
        self.tag = tag
        tagBytes = Array(tag.utf8)
    }
}

extension AMQPEngine {
    /// Settles a delivery; the ack leaves when the ledger says so, joined with its neighbours'.
    ///
    /// False when nothing is or will be sent: the delivery is not held any more, as after a second settlement, or the
    /// connection is closing.
    @discardableResult
    package func ack(tag: UInt64, at now: Instant) -> Bool {
        self.now = now
        return machine.isOpen && deliveries.settle(tag, epoch: epoch, at: now)
    }

    /// Gives a delivery back to its queue, or lets the broker drop or dead-letter it. False as with ``ack(tag:at:)``.
    @discardableResult
    package func nack(tag: UInt64, requeue: Bool, at now: Instant) -> Bool {
        self.now = now
        guard machine.isOpen, deliveries.reject(tag, epoch: epoch, at: now) else { return false }
        writeSettlement(AMQP_BASIC_NACK_METHOD, tag, flags: requeue ? 2 : 0)
        return true
    }

    /// Ends all consumers; what was delivered can still be settled. Each tells by ``Event/cancelled(queue:byBroker:)``.
    package func cancelConsumers(at now: Instant) {
        self.now = now
        consumesWhenOpen = false
        guard machine.isOpen else { return }
        for index in consumers.indices {
            switch consumers[index].state {
            case .subscribing, .consuming: cancel(index, then: .stop)
            case .cancelling: consumers[index].state = .cancelling(then: .stop)
            case .waiting: consumers[index].state = .stopped
            case .stopped: break
            }
        }
    }

    /// Registers all consumers again that are stopped or about to stop.
    package func resumeConsumers(at now: Instant) {
        self.now = now
        consumesWhenOpen = true
        guard machine.isOpen else { return }
        for index in consumers.indices {
            switch consumers[index].state {
            case .stopped, .waiting: subscribe(index)
            case .cancelling: consumers[index].state = .cancelling(then: .subscribe)
            case .subscribing, .consuming: break
            }
        }
    }

    /// Changes how much a queue may have in flight: its consumer is registered anew, because the broker looks at the
    /// prefetch only then. Source: rabbitmq.com/docs/consumer-prefetch.
    package func setPrefetch(_ prefetch: UInt16, queue index: Int, at now: Instant) {
        precondition(prefetch > 0, "a consumer without a limit would be flooded")
        self.now = now
        guard consumers[index].queue.prefetch != prefetch else { return }
        consumers[index].queue.prefetch = prefetch
        guard machine.isOpen else { return }
        switch consumers[index].state {
        case .subscribing, .consuming: cancel(index, then: .subscribe)
        case .cancelling, .waiting, .stopped: break
        }
    }

    /// Writes the acks that are due.
    func writeAcknowledgements() {
        guard machine.isOpen else { return }
        while let acknowledgement = deliveries.nextAcknowledgement(at: now) {
            switch acknowledgement {
            case .one(let tag): writeSettlement(AMQP_BASIC_ACK_METHOD, tag, flags: 0)
            case .upTo(let tag): writeSettlement(AMQP_BASIC_ACK_METHOD, tag, flags: 1)
            }
        }
    }

    func subscribe(_ index: Int) {
        let consumer = consumers[index]
        consumers[index].state = .subscribing
        write(AMQP_BASIC_QOS_METHOD) { _ in
            amqp_basic_qos_t(prefetch_size: 0, prefetch_count: consumer.queue.prefetch, global: 0)
        }
        unsafe writeOrFail(AMQP_BASIC_CONSUME_METHOD) { writer throws(AMQPError) in
            unsafe amqp_basic_consume_t(
                ticket: 0, queue: try writer.short(consumer.queue.name, "queue name"),
                consumer_tag: try writer.short(consumer.tag, "consumer tag"), no_local: 0, no_ack: 0, exclusive: 0,
                nowait: 0, arguments: amqp_table_t())
        }
    }

    /// Registers consumers whose wait is over.
    func subscribeAgain() {
        guard machine.isOpen else { return }
        for index in consumers.indices {
            if case .waiting(let until) = consumers[index].state, now >= until { subscribe(index) }
        }
    }

    func consumeOkReceived(_ tag: String) {
        guard let index = consumers.firstIndex(where: { $0.tag == tag }) else { return unexpected("a consume-ok") }
        guard case .subscribing = consumers[index].state else { return }
        consumers[index].state = .consuming
        events.append(.consuming(queue: index))
    }

    /// The broker ended a consumer, as when its queue is deleted or moves.
    ///
    /// It gets a client's `basic.cancel` and not a `cancel-ok`, which RabbitMQ before 4.3 takes for an error.
    func cancelReceived(_ tag: String) {
        guard let index = consumers.firstIndex(where: { $0.tag == tag }) else { return }
        switch consumers[index].state {
        case .subscribing, .consuming:
            guard machine.isOpen else { return }
            cancel(index, then: .wait)
            events.append(.cancelled(queue: index, byBroker: true))
        case .cancelling, .waiting, .stopped: break
        }
    }

    func cancelOkReceived(_ tag: String) {
        guard let index = consumers.firstIndex(where: { $0.tag == tag }) else { return unexpected("a cancel-ok") }
        guard case .cancelling(let next) = consumers[index].state, machine.isOpen else { return }
        switch next {
        case .stop:
            consumers[index].state = .stopped
            events.append(.cancelled(queue: index, byBroker: false))
        case .subscribe: subscribe(index)
        case .wait: consumers[index].state = .waiting(until: now + configuration.consumerRetry)
        }
    }

    /// Which queue a consumer tag stands for.
    @inline(__always)
    func queue(of tag: amqp_bytes_t) -> Int? {
        let bytes = unsafe tag.buffer
        for index in consumers.indices where unsafe consumers[index].tagBytes.elementsEqual(bytes) { return index }
        return nil
    }

    private func cancel(_ index: Int, then next: Consumer.Next) {
        let tag = consumers[index].tag
        consumers[index].state = .cancelling(then: next)
        unsafe writeOrFail(AMQP_BASIC_CANCEL_METHOD) { writer throws(AMQPError) in
            unsafe amqp_basic_cancel_t(consumer_tag: try writer.short(tag, "consumer tag"), nowait: 0)
        }
    }

    /// `basic.ack` and `basic.nack` look the same but for their number and their flags.
    private func writeSettlement(_ method: amqp_method_number_t, _ tag: UInt64, flags: UInt8) {
        unsafe output.append(upTo: 21) { buffer in
            var writer = unsafe PackedWriter(buffer)
            writer.beginFrame(.method, channel: AMQPEngine.channel, size: 13)
            writer.append(bigEndian: method)
            writer.append(bigEndian: tag)
            writer.append(flags)
            writer.endFrame()
            return writer.count
        }
    }
}

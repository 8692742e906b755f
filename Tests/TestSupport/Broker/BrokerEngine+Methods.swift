import AMQP
import Core

extension BrokerEngine {
    func methodReceived(_ classID: UInt16, _ methodID: UInt16, _ channel: UInt16, _ fields: inout FieldCursor) {
        if phase == .closing {
            if classID == 10, methodID == 51 || methodID == 50 { phase = .closed }
            return
        }
        // Methods that crossed our channel.close are ignored, as by RabbitMQ.
        if [40, 50, 60, 85].contains(classID), !channelState.isOpen { return }
        let understood: Bool? =
            switch classID {
            case 10: connectionMethod(methodID, &fields)
            case 20: channelMethod(methodID, channel)
            case 40: exchangeMethod(methodID, &fields)
            case 50: queueMethod(methodID, &fields)
            case 60: basicMethod(methodID, &fields)
            case 85: fields.number(UInt8.self) == 0 ? selectConfirms() : nil
            default: false
            }
        guard let understood else { return violation(code: 502, "a method \(classID).\(methodID) that ends early") }
        if !understood { violation(code: 503, "unexpected method \(classID).\(methodID)") }
    }

    /// Each of these returns whether the method was expected; nil if fields were missing.
    private func connectionMethod(_ method: UInt16, _ fields: inout FieldCursor) -> Bool? {
        switch (method, phase) {
        case (11, .awaitingStartOk):
            guard let properties = fields.long(), let mechanism = fields.name(), let response = fields.long() else {
                return nil
            }
            clientProperties = properties
            logIn(mechanism, response)
        case (31, .awaitingTuneOk):
            guard let channelMax = fields.number(UInt16.self), let frameMax = fields.number(UInt32.self),
                let heartbeat = fields.number(UInt16.self)
            else { return nil }
            guard broker.channelMax == 0 || channelMax != 0 && channelMax <= broker.channelMax else {
                closeConnection(
                    code: 530,
                    text:
                        "NOT_ALLOWED - negotiated channel_max = \(channelMax) is higher than the maximum allowed value "
                        + "(\(broker.channelMax))")
                return true
            }
            self.channelMax = channelMax == 0 ? .max : channelMax
            self.frameMax = Int(frameMax)
            startHeartbeats(heartbeat)
            phase = .awaitingOpen
        case (40, .awaitingOpen):
            guard let host = fields.name(), fields.name() == "", fields.number(UInt8.self) == 0 else { return nil }
            guard host == "/" else {
                closeConnection(code: 530, text: "NOT_ALLOWED - vhost \(host) not found")
                return true
            }
            writeMethod(channel: 0, 10, 41) { $0.append(short: "") }
            phase = .open
        case (70, .open):
            guard let secret = fields.long(), fields.name() != nil else { return nil }
            secrets.append(String(decoding: secret, as: UTF8.self))
            guard broker.users[user] == secrets.last else {
                closeConnection(code: 530, text: "NOT_ALLOWED - New secret was refused by one of the backends")
                return true
            }
            writeMethod(channel: 0, 10, 71) { _ in }
        case (50, _):
            writeMethod(channel: 0, 10, 51) { _ in }
            phase = .closed
            leave()
        default: return false
        }
        return true
    }

    private func logIn(_ mechanism: String, _ response: [UInt8]) {
        let parts = response.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard mechanism == "PLAIN", parts.count == 3, broker.users[parts[1]] == parts[2] else {
            switch broker.loginRefusal {
            case .closeFrame: closeConnection(code: 403, text: "ACCESS_REFUSED - Login was refused using PLAIN")
            case .hangUp:
                phase = .closed
                leave()
            }
            return
        }
        user = parts[1]
        writeMethod(channel: 0, 10, 30) { frame in
            frame.append(broker.channelMax)
            frame.append(broker.frameMax)
            frame.append(broker.heartbeat)
        }
        phase = .awaitingTuneOk
    }

    private func channelMethod(_ method: UInt16, _ channel: UInt16) -> Bool {
        switch method {
        case 10 where phase == .open && !channelState.isOpen && (1...channelMax).contains(channel):
            guard broker.opensChannels(channel) else { break }
            channelState.isOpen = true
            writeMethod(20, 11) { $0.append(long: []) }
        case 40 where channel > 0:
            writeMethod(20, 41) { _ in }
            closedChannel()
        case 21, 41: break
        default: return false
        }
        return true
    }

    private func selectConfirms() -> Bool {
        channelState.publishes = 0
        writeMethod(85, 11) { _ in }
        return true
    }

    private func exchangeMethod(_ method: UInt16, _ fields: inout FieldCursor) -> Bool? {
        guard fields.number(UInt16.self) == 0, let name = fields.name() else { return nil }
        switch method {
        case 10:
            guard fields.short() != nil, let flags = fields.number(UInt8.self), flags & ~1 == 2 else { return nil }
            if flags & 1 != 0, !broker.hasExchange(name) {
                closeChannel(code: 404, text: "NOT_FOUND - no exchange '\(name)' in vhost '/'")
                return true
            }
            broker.declareExchange(name)
            writeMethod(40, 11) { _ in }
        case 20:
            guard fields.number(UInt8.self) == 0 else { return nil }
            broker.deleteExchange(name)
            writeMethod(40, 21) { _ in }
        default: return false
        }
        return true
    }

    private func queueMethod(_ method: UInt16, _ fields: inout FieldCursor) -> Bool? {
        guard fields.number(UInt16.self) == 0, let name = fields.name() else { return nil }
        if method == 10 {
            guard let flags = fields.number(UInt8.self), [1, 2, 3, 4, 6].contains(flags), let content = fields.long(),
                let arguments = try? FieldTable(decoding: content[...])
            else { return nil }
            return declare(name, flags, arguments)
        }
        guard let queue = broker.queues[name] else { return missing(name) }
        switch method {
        case 20, 50:
            guard let exchange = fields.name(), let key = fields.short() else { return nil }
            if method == 20 {
                broker.bind(name, exchange: exchange, routingKey: key)
            } else {
                broker.unbind(name, exchange: exchange, routingKey: key)
            }
            writeMethod(50, method + 1) { _ in }
        case 30:
            guard fields.number(UInt8.self) == 0 else { return nil }
            let count = broker.purge(queue)
            writeMethod(50, 31) { $0.append(UInt32(count)) }
        case 40:
            guard fields.number(UInt8.self) == 0 else { return nil }
            let count = queue.messages.count
            broker.delete(name)
            writeMethod(50, 41) { $0.append(UInt32(count)) }
        default: return false
        }
        return true
    }

    private func declare(_ name: String, _ flags: UInt8, _ arguments: FieldTable) -> Bool {
        let passive = flags & 1 != 0
        if passive, broker.queues[name] == nil { return missing(name) }
        if passive, broker.refusesCounts {
            closeChannel(code: 403, text: "ACCESS_REFUSED - configure access to queue '\(name)' in vhost '/' refused")
            return true
        }
        if let owner = broker.queues[name]?.owner, owner !== self { return locked(name) }
        if !passive, let queue = broker.queues[name], queue.arguments != arguments {
            closeChannel(code: 406, text: "PRECONDITION_FAILED - inequivalent arg for queue '\(name)'")
            return true
        }
        let queue = broker.declare(name, arguments: arguments)
        if flags & 4 != 0 { queue.owner = self }
        writeMethod(50, 11) { frame in
            frame.append(short: name)
            frame.append(broker.countsNothing ? 0 : UInt32(queue.messages.count))
            frame.append(UInt32(queue.consumerCount))
        }
        return true
    }

    private func missing(_ name: String) -> Bool {
        closeChannel(code: 404, text: "NOT_FOUND - no queue '\(name)' in vhost '/'")
        return true
    }

    private func basicMethod(_ method: UInt16, _ fields: inout FieldCursor) -> Bool? {
        switch method {
        case 10:
            guard fields.number(UInt32.self) == 0, let count = fields.number(UInt16.self) else { return nil }
            channelState.prefetch = Int(count)
            writeMethod(60, 11) { _ in }
        case 20:
            guard fields.number(UInt16.self) == 0, let name = fields.name(), let tag = fields.name(),
                fields.number(UInt8.self) == 0, let content = fields.long(),
                let arguments = try? FieldTable(decoding: content[...])
            else { return nil }
            guard let queue = broker.queues[name] else { return missing(name) }
            if case .text? = arguments["x-priority"] {
                closeChannel(code: 406, text: "PRECONDITION_FAILED - invalid arg 'x-priority' for queue '\(name)'")
                return true
            }
            if broker.refusesTimeouts, arguments["x-consumer-timeout"] != nil {
                let text = "PRECONDITION_FAILED - invalid arg 'x-consumer-timeout' for queue '\(name)' in vhost '/'"
                closeChannel(code: 406, text: text)
                return true
            }
            queue.consumeArguments = arguments
            consumers[tag] = BrokerConsumer(queue: name, prefetch: channelState.prefetch, channel: current)
            writeMethod(60, 21) { $0.append(short: tag) }
            commandResponded()
            broker.addConsumer(tag, of: self, to: queue)
        case 30:
            guard let tag = fields.name(), fields.number(UInt8.self) == 0 else { return nil }
            broker.removeConsumer(tag, of: self)
            consumers[tag] = nil
            writeMethod(60, 31) { $0.append(short: tag) }
            commandResponded()
        case 40: return publish(&fields)
        case 70:
            guard fields.number(UInt16.self) == 0, let name = fields.name(), fields.number(UInt8.self) == 0
            else { return nil }
            return get(name)
        case 80, 120:
            guard let tag = fields.number(UInt64.self), let flags = fields.number(UInt8.self) else { return nil }
            settle(tag, multiple: flags & 1 != 0, acked: method == 80, requeue: flags & 2 != 0)
        default: return false
        }
        return true
    }

    // MARK: - Deliveries

    func mayDeliver(_ tag: String) -> Bool {
        guard phase == .open, !isStalled, let consumer = consumers[tag] else { return false }
        return consumer.prefetch == 0 || consumer.unsettled < consumer.prefetch
    }

    func deliver(_ message: Broker.Message, from queue: String, to tag: String) {
        consumers[tag]?.unsettled += 1
        let before = current
        defer { current = before }
        current = consumers[tag]?.channel ?? 1
        let number = remember(message, queue, consumer: tag)
        broker.observe?(.delivered(message, queue: queue))
        writeMethod(60, 60) { frame in
            frame.append(short: tag)
            frame.append(number)
            frame.append(message.redelivered ? 1 as UInt8 : 0)
            frame.append(short: message.exchange)
            frame.append(short: message.routingKey)
        }
        writeContent(message)
    }

    /// A consumer's queue was deleted.
    func consumerLost(_ tag: String) {
        let before = current
        defer { current = before }
        current = consumers[tag]?.channel ?? 1
        consumers[tag] = nil
        writeMethod(60, 30) { frame in
            frame.append(short: tag)
            frame.append(1 as UInt8)
        }
    }

    /// The queue has answered a command.
    private func commandResponded() {
        channelState.commands += 1
        guard channelState.commands == 2 else { return }
        for (_, entry) in channelState.putAside.sorted(by: { $0.key < $1.key }) {
            broker.observe?(.acknowledged(entry.message, queue: entry.queue))
        }
        channelState.putAside = [:]
    }

    private func get(_ name: String) -> Bool {
        guard let queue = broker.queues[name] else { return missing(name) }
        if case .boolean(true) = queue.arguments["x-single-active-consumer"] { return locked(name) }
        guard let message = broker.take(from: queue) else {
            writeMethod(60, 72) { $0.append(short: "") }
            return true
        }
        let number = remember(message, name, consumer: nil)
        writeMethod(60, 71) { frame in
            frame.append(number)
            frame.append(message.redelivered ? 1 as UInt8 : 0)
            frame.append(short: message.exchange)
            frame.append(short: message.routingKey)
            frame.append(UInt32(queue.messages.count))
        }
        writeContent(message)
        return true
    }

    private func remember(_ message: Broker.Message, _ queue: String, consumer: String?) -> UInt64 {
        defer { channelState.nextTag += 1 }
        channelState.unsettled[channelState.nextTag] = Unsettled(queue: queue, consumer: consumer, message: message)
        return channelState.nextTag
    }

    private func settle(_ tag: UInt64, multiple: Bool, acked: Bool, requeue: Bool) {
        guard channelState.unsettled[tag] != nil else {
            broker.violations.append("unknown delivery tag \(tag)")
            return closeChannel(code: 406, text: "PRECONDITION_FAILED - unknown delivery tag \(tag)")
        }
        let tags = multiple ? channelState.unsettled.keys.filter { $0 <= tag }.sorted() : [tag]
        var returned: [(String, Broker.Message)] = []
        for tag in tags {
            guard let entry = channelState.unsettled.removeValue(forKey: tag) else { continue }
            guard !entry.isReturned else { continue }
            if let consumer = entry.consumer { consumers[consumer]?.unsettled -= 1 }
            if acked {
                if broker.putsAcksAside {
                    channelState.putAside[tag] = entry
                    channelState.commands = 0
                } else {
                    broker.observe?(.acknowledged(entry.message, queue: entry.queue))
                }
                continue
            }
            if requeue {
                returned.append((entry.queue, entry.message))
            } else {
                broker.deadLetter(entry.message, from: entry.queue, "rejected", at: now)
            }
        }
        if returned.isEmpty { broker.dispatchAll() } else { broker.requeue(returned) }
    }
}

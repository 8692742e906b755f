/// Publishes and their confirms.
extension BrokerEngine {
    func publish(_ fields: inout FieldCursor) -> Bool? {
        guard fields.number(UInt16.self) == 0, let exchange = fields.short(), let key = fields.short(),
            let flags = fields.number(UInt8.self)
        else { return nil }
        let message = Broker.Message(exchange: exchange, routingKey: key, properties: [], body: [])
        channelState.incoming = Incoming(message: message, mandatory: flags & 1 != 0)
        return true
    }

    func headerReceived(_ payload: ArraySlice<UInt8>) {
        guard channelState.isOpen else { return }
        var fields = FieldCursor(payload)
        guard channelState.incoming != nil, channelState.incoming?.missing == nil, fields.number(UInt16.self) == 60,
            fields.number(UInt16.self) != nil, let size = fields.number(UInt64.self)
        else { return violation(code: 505, "a content header out of order") }
        channelState.incoming?.message.properties = fields.remaining()
        channelState.incoming?.missing = Int(size)
        if size == 0 { published() }
    }

    func bodyReceived(_ payload: ArraySlice<UInt8>) {
        guard channelState.isOpen else { return }
        guard let missing = channelState.incoming?.missing, payload.count <= missing, !payload.isEmpty else {
            return violation(code: 505, "a body frame out of order")
        }
        channelState.incoming?.message.body += payload
        channelState.incoming?.missing = missing - payload.count
        if missing == payload.count { published() }
    }

    private func published() {
        guard let publish = channelState.incoming else { return }
        channelState.incoming = nil
        guard channelState.awaited == nil else {
            channelState.behind.append(publish)
            channelState.credit -= 1
            if channelState.credit <= 0 { isStopped = true }
            return
        }
        route(publish)
    }

    private func route(_ publish: Incoming) {
        let exchange = String(decoding: publish.message.exchange, as: UTF8.self)
        switch broker.refuses(publish.message) {
        case .connection(let code, let text)?: return closeConnection(code: code, text: text)
        case .channel(let code, let text)?: return closeChannel(code: code, text: text)
        case nil: break
        }
        guard broker.hasExchange(exchange) else {
            return closeChannel(code: 404, text: "NOT_FOUND - no exchange '\(exchange)' in vhost '/'")
        }
        let queues = broker.route(exchange: exchange, routingKey: publish.message.routingKey)
        // A direct reply is not routed, whether its requester is there or not: rabbitmq.com/docs/direct-reply-to.
        let isDirectReply = exchange.isEmpty && publish.message.routingKey.starts(with: DirectReplies.prefix.utf8)
        if publish.mandatory, queues.isEmpty || isDirectReply { giveBack(publish.message) }
        if let queue = queues.first(where: \.hasNoMajority) {
            let tag = (channelState.publishes ?? 0) + 1
            channelState.publishes = tag
            channelState.undecided.append((tag, publish.message, queue))
            let isFirst = channelState.registered.insert(queue.name).inserted
            if queue.hasNoLeader, isFirst { channelState.awaited = queue.name }
            return stopWithoutMajority()
        }
        let isAccepted = !queues.contains { $0.rejectsPublishes }
        if isAccepted {
            for queue in queues {
                channelState.registered.insert(queue.name)
                broker.observe?(.enqueued(publish.message, queue: queue.name))
                broker.enqueue(publish.message, into: queue, at: now)
            }
        }
        if let count = channelState.publishes {
            channelState.publishes = count + 1
            if isAccepted, !queues.isEmpty { channelState.unconfirmed[count + 1] = publish.message }
            if broker.holdsConfirms, isAccepted {
                heldConfirms.append(count + 1)
            } else {
                writeConfirm(count + 1, multiple: false, acked: isAccepted)
            }
        }
        stopWithoutMajority()
        if broker.isAlarmed {
            isStopped = true
            writeMethod(channel: 0, 10, 60) { $0.append(short: "low on memory") }
        }
    }

    private func stopWithoutMajority() {
        guard channelState.undecided.count > Self.undecidedLimit else { return }
        channelState.credit -= 1
        if channelState.credit <= 0 { isStopped = true }
    }

    func majorityRestored(of name: String) {
        let decided = channelState.undecided.filter { $0.queue.name == name }
        channelState.undecided.removeAll { $0.queue.name == name }
        channelState.credit = Self.credit
        if !broker.isAlarmed { isStopped = false }
        for (tag, message, queue) in decided {
            broker.observe?(.enqueued(message, queue: name))
            channelState.unconfirmed[tag] = message
            broker.enqueue(message, into: queue, at: now)
            writeConfirm(tag, multiple: false, acked: true)
        }
        if channelState.awaited == name {
            channelState.awaited = nil
            let behind = channelState.behind
            channelState.behind = []
            for publish in behind { route(publish) }
        }
        readInput()
    }

    private func giveBack(_ message: Broker.Message) {
        writeMethod(60, 50) { frame in
            frame.append(312 as UInt16)
            frame.append(short: "NO_ROUTE")
            frame.append(short: message.exchange)
            frame.append(short: message.routingKey)
        }
        writeContent(message)
    }
}

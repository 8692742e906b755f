import CRabbitMQ
import Core
import DequeModule

extension AMQPEngine {
    /// Whether a publish may be written now: the channel is open and not blocked, and neither unconfirmed publishes
    /// nor unsent bytes exceed their limits.
    package var canPublish: Bool {
        machine.canPublish && confirms.unconfirmed < configuration.maximumUnconfirmed
            && output.count < configuration.maximumUnsent
    }

    /// Publishes a message. Call it only while ``canPublish``; ``Event/confirmed(sequence:_:)`` reports the result.
    ///
    /// Throws when a string is longer than 255 bytes or the properties exceed one frame. Then nothing was written, and
    /// the connection remains usable.
    package mutating func publish(_ publication: borrowing Publication) throws(AMQPError) -> UInt64 {
        precondition(canPublish, "a publish requires a connection that accepts it")
        announceChange()
        try publication.write(channel: AMQPEngine.channel, frameMax: Int(handshake.frameMax), to: &output)
        // The body of a returned message is kept only up to that size.
        let isKept = publication.body.count <= configuration.maximumBody
        let fingerprint =
            publication.mandatory
            ? fingerprint(
                publication.exchange, publication.routingKey, messageID: publication.encodedProperties.messageID,
                correlationID: publication.encodedProperties.correlationID, body: isKept ? publication.body : [])
            : 0
        return confirms.publishSent(fingerprint: fingerprint)
    }

    mutating func confirm(_ tag: UInt64, multiple: Bool, acked: Bool) {
        endPublishes { confirms, each in
            confirms.confirmReceived(tag: tag, multiple: multiple, acked: acked, each)
        }
    }

    /// Queues an event for each publish that ends in `body`.
    mutating func endPublishes(_ body: (inout ConfirmLedger, (UInt64, Confirmation) -> Void) -> Void) {
        // Two parts of this value change at a time.
        var events = UniqueDeque<Event>()
        swap(&events, &self.events)
        body(&confirms) { events.append(.confirmed(sequence: $0, $1)) }
        swap(&events, &self.events)
    }

    /// Handles a returned message, which no queue accepted; its confirm follows.
    mutating func publicationReturned(_ content: ContentAssembly.Content, code: UInt16, text: String) {
        let message = Delivery(
            epoch: epoch, tag: 0, redelivered: false, queue: QueueID(0), storage: content.storage,
            layout: content.layout)
        let fingerprint = fingerprint(
            message.exchange, message.routingKey, messageID: message.messageID, correlationID: message.correlationID,
            body: message.body)
        guard confirms.returnReceived(fingerprint: fingerprint, code: code, text: text) else {
            return unexpected("a message returned that was not published")
        }
    }

    /// Hashes what a publish and its return have in common: exchange, routing key and message id. Without a message id
    /// it uses correlation id and body. Publishes with equal hashes may be matched with each other's return.
    @inline(__always)
    private func fingerprint(
        _ exchange: ArraySlice<UInt8>, _ routingKey: ArraySlice<UInt8>, messageID: ArraySlice<UInt8>?,
        correlationID: @autoclosure () -> ArraySlice<UInt8>?, body: @autoclosure () -> ArraySlice<UInt8>
    ) -> UInt64 {
        var hash = ContentHash()
        hash.combine(exchange.span)
        hash.combine(routingKey.span)
        if let messageID {
            hash.combine(messageID.span)
        } else {
            if let correlationID = correlationID() { hash.combine(correlationID.span) }
            hash.combine(body().span)
        }
        return hash.value
    }
}

import CRabbitMQ
import Core

extension AMQPEngine {
    /// Whether a publish may be written now: the channel is open, the broker takes publishes, and neither too many
    /// confirms nor too many bytes are outstanding.
    package var canPublish: Bool {
        machine.canPublish && confirms.span < configuration.maximumUnconfirmed
            && output.count < configuration.maximumUnsent
    }

    /// Writes a message; ``Event/confirmed(sequence:_:)`` tells its end. Only while ``canPublish``.
    ///
    /// Throws when a string is longer than 255 bytes or the properties do not fit into one frame; then nothing is
    /// written, and the connection is as before.
    package func publish(_ publication: borrowing Publication) throws(AMQPError) -> UInt64 {
        precondition(canPublish, "a publish is written only where the broker takes it")
        let frames = try PublicationWriter(publication, frameMax: Int(frameMax))
        frames.write(publication, channel: AMQPEngine.channel, frameMax: Int(frameMax), to: &output)
        var fingerprint = Fingerprint()
        if publication.mandatory {
            let messageID = publication.encodedProperties.messageID
            fingerprint.combine(publication.exchange, publication.routingKey, messageID: messageID)
            if messageID == nil {
                let isKept = publication.body.count <= configuration.maximumBody
                fingerprint.combine(publication.encodedProperties.correlationID, body: isKept ? publication.body : [])
            }
        }
        return confirms.publishSent(fingerprint: fingerprint.value)
    }

    func confirm(_ tag: UInt64, multiple: Bool, acked: Bool) {
        confirms.confirmReceived(tag: tag, multiple: multiple, acked: acked) { sequence, confirmation in
            events.append(.confirmed(sequence: sequence, confirmation))
        }
    }

    /// A mandatory message that no queue took came back; its confirm follows.
    func publicationReturned(_ content: ContentAssembly.Content, code: UInt16, text: String) {
        let message = Delivery(
            epoch: epoch, tag: 0, redelivered: false, queue: 0, storage: content.storage, layout: content.layout)
        var fingerprint = Fingerprint()
        fingerprint.combine(message.exchange, message.routingKey, messageID: message.messageID)
        if message.messageID == nil { fingerprint.combine(message.correlationID, body: message.body) }
        guard confirms.returnReceived(fingerprint: fingerprint.value, code: code, text: text) else {
            return unexpected("a message returned that was not published")
        }
    }
}

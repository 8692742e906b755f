package import AMQP
package import Core
import Decoding

/// The properties of the original that a copy of a message keeps.
///
/// Some properties would make the broker refuse the copy, drop it, or route it to more queues. They are removed or
/// moved into `harebell-*` headers.
/// Sources: rabbitmq.com/docs/validated-user-id, /docs/ttl, /docs/sender-selected, /docs/dlx.
package enum Republishing {
    /// Headers that the broker or a plug-in writes; a copied value would be misleading.
    private static let brokerHeaders = [
        "x-death", "x-first-death-exchange", "x-first-death-queue", "x-first-death-reason", "x-last-death-exchange",
        "x-last-death-queue", "x-last-death-reason",
    ]
    /// Headers that change how the broker routes, delays or counts a message.
    private static let effectiveHeaders = ["CC", "BCC", "x-delivery-count", "x-acquired-count", "x-delay"]

    /// - Returns: the properties and headers of a copy. If the original's are malformed or nested too deeply, those
    ///   that the delivery itself contains.
    package static func properties(of delivery: Delivery) -> MessageProperties {
        var properties = (try? MessageProperties(decoding: delivery.rawProperties)) ?? located(in: delivery)
        makePublishable(&properties)
        var headers = properties.headers ?? FieldTable()
        for name in brokerHeaders { headers[name] = nil }
        // A traced request has another one than its producer wrote.
        if case .text(let trace)? = delivery.header("traceparent") { headers["traceparent"] = .text(Array(trace)) }
        properties.headers = headers
        return properties
    }

    /// Removes the properties that would make the broker refuse, drop or reroute a copy; `x-death` stays.
    package static func makePublishable(_ properties: inout MessageProperties) {
        var headers = properties.headers ?? FieldTable()
        if let expiration = properties.expiration { headers["harebell-orig-expiration"] = .text(expiration) }
        if let user = properties.userID { headers["harebell-orig-user-id"] = .text(user) }
        if let copies = headers["CC"] { headers["harebell-orig-cc"] = copies }
        for name in effectiveHeaders { headers[name] = nil }
        if properties.headers != nil || !headers.entries.isEmpty { properties.headers = headers }
        // RabbitMQ passes it on from AMQP 1.0, and closes the channel of a publish that has exactly this name:
        // `maybe_set_fast_reply_to` in rabbit_channel.erl. With a dot, it still names no requester.
        if let replyTo = properties.replyTo, replyTo.elementsEqual(DirectReplyName.prefix.utf8) {
            properties.replyTo = replyTo + [UInt8(ascii: ".")]
        }
        properties.expiration = nil
        properties.userID = nil
        properties.clusterID = nil
    }

    /// The headers of a copy with the origin of its request, unless an earlier copy has added it. The origin identifies
    /// the request and is the destination of a replay.
    static func headers(
        _ properties: MessageProperties, of delivery: Delivery, queue: String, firstSeen: WallTime
    ) -> FieldTable {
        var headers = properties.headers ?? FieldTable()
        for (name, value) in [
            ("harebell-queue", ArraySlice(queue.utf8)), ("harebell-exchange", delivery.exchange),
            ("harebell-routing-key", delivery.routingKey), ("harebell-first-seen", ArraySlice(firstSeen.inUTC.utf8)),
        ] {
            if case .text(let known) = headers[name], known.count <= 255 { continue }
            headers[name] = .text(Array(value))
        }
        return headers
    }

    /// The properties that the delivery itself contains.
    private static func located(in delivery: Delivery) -> MessageProperties {
        var properties = MessageProperties()
        properties.contentType = delivery.contentType.map(Array.init)
        properties.contentEncoding = delivery.contentEncoding.map(Array.init)
        properties.correlationID = delivery.correlationID.map(Array.init)
        properties.replyTo = delivery.replyTo.map(Array.init)
        properties.expiration = delivery.expiration.map(Array.init)
        properties.priority = delivery.priority == 0 ? nil : delivery.priority
        properties.messageID = delivery.messageID.map(Array.init)
        properties.timestamp = delivery.timestamp
        properties.type = delivery.type.map(Array.init)
        properties.appID = delivery.appID.map(Array.init)
        var headers = FieldTable()
        delivery.forEachHeader { name, value in
            let value: FieldValue? =
                switch value {
                case .text(let text): .text(Array(text))
                case .integer(let integer): .int64(integer)
                case .number(let number): .double(number)
                case .boolean(let boolean): .boolean(boolean)
                case .other: nil
                }
            if let value { headers.entries.append(FieldTable.Entry(name: Array(name), value: value)) }
        }
        if let tokens = APNsHeadersDecoder.tokenArray(of: delivery) {
            headers["device-tokens"] = .array(tokens.map { .text(Array($0)) })
        }
        properties.headers = headers
        return properties
    }
}

import CRabbitMQ
import Core

/// One message to publish. Exchange, routing key and body are views.
package struct Publication {
    /// Empty for the default exchange, which routes to the queue named by the routing key.
    package var exchange: ArraySlice<UInt8>
    package var routingKey: ArraySlice<UInt8>
    /// Whether the broker returns the message when it cannot be routed to a queue.
    package var mandatory: Bool
    package private(set) var encodedProperties: EncodedProperties
    package var body: ArraySlice<UInt8>

    /// The message is persistent, whatever the delivery mode in `properties` is.
    package init(
        exchange: ArraySlice<UInt8> = [], routingKey: ArraySlice<UInt8>, mandatory: Bool = true,
        properties: MessageProperties = MessageProperties(), body: ArraySlice<UInt8>
    ) {
        self.init(
            exchange: exchange, routingKey: routingKey, mandatory: mandatory,
            properties: Self.persistent(properties), body: body)
    }

    package init(
        exchange: ArraySlice<UInt8>, routingKey: ArraySlice<UInt8>, mandatory: Bool = true,
        properties: EncodedProperties, body: ArraySlice<UInt8>
    ) {
        self.exchange = exchange
        self.routingKey = routingKey
        self.mandatory = mandatory
        encodedProperties = properties
        self.body = body
    }

    package var propertiesSize: Int { encodedProperties.size }

    /// Decoded from the encoded properties; setting encodes them again. A property that was too long is missing.
    package var properties: MessageProperties {
        get {
            guard let properties = try? MessageProperties(decoding: encodedProperties.bytes) else {
                preconditionFailure("encoded properties must be well formed")
            }
            return properties
        }
        set { encodedProperties = Self.persistent(newValue) }
    }

    /// Writes the frames: `basic.publish`, the content header, and the body frames.
    ///
    /// All lengths are checked before the first byte is written: a method frame without its header would end the
    /// connection. Source: AMQP 0-9-1, sections 4.2.3 to 4.2.6.
    func write(channel: UInt16, frameMax: Int, to output: inout ByteQueue) throws(AMQPError) {
        try ShortString.check(exchange, "exchange")
        try ShortString.check(routingKey, "routing key")
        try encodedProperties.check()
        let largestPart = frameMax - FrameFormat.overhead
        let limit = largestPart - FrameFormat.contentHeaderSize
        guard propertiesSize <= limit else {
            throw AMQPError(
                .propertiesTooLarge, "the properties have \(propertiesSize) bytes; one frame holds \(limit)",
                isTransient: false)
        }
        output.beginFrame(.method, channel: channel, size: 9 + exchange.count + routingKey.count)
        output.append(bigEndian: AMQP_BASIC_PUBLISH_METHOD)
        output.append(bigEndian: 0 as UInt16)
        output.append(short: exchange)
        output.append(short: routingKey)
        output.append(mandatory ? 1 : 0)
        output.endFrame()

        output.beginFrame(.header, channel: channel, size: FrameFormat.contentHeaderSize + propertiesSize)
        output.append(bigEndian: UInt32(AMQP_BASIC_CLASS) << 16)
        output.append(bigEndian: UInt64(body.count))
        output.append(encodedProperties.bytes.span)
        output.endFrame()

        var rest = body.span
        while !rest.isEmpty {
            let part = rest.extracting(first: largestPart)
            output.beginFrame(.body, channel: channel, size: part.count)
            output.append(part)
            output.endFrame()
            rest = rest.extracting(droppingFirst: part.count)
        }
    }

    private static func persistent(_ properties: MessageProperties) -> EncodedProperties {
        var properties = properties
        properties.deliveryMode = 2
        return EncodedProperties(properties)
    }
}

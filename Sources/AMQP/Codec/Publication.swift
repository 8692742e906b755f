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

    private static func persistent(_ properties: MessageProperties) -> EncodedProperties {
        var properties = properties
        properties.deliveryMode = 2
        return EncodedProperties(properties)
    }
}

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

    package init(
        exchange: ArraySlice<UInt8> = [], routingKey: ArraySlice<UInt8>, mandatory: Bool = true,
        properties: PublicationProperties = PublicationProperties(), body: ArraySlice<UInt8>
    ) {
        self.init(
            exchange: exchange, routingKey: routingKey, mandatory: mandatory, properties: EncodedProperties(properties),
            body: body)
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

    /// Size of the encoded properties, in bytes.
    package var propertiesSize: Int { encodedProperties.size }

    /// Decoded from the encoded properties; setting encodes them again. A string that was too long is missing.
    package var properties: PublicationProperties {
        get { PublicationProperties(encodedProperties) }
        set { encodedProperties = EncodedProperties(newValue) }
    }
}

/// The properties of a publication. Publishing fails for strings longer than 255 bytes.
package struct PublicationProperties {
    package var contentType: ArraySlice<UInt8>?
    package var contentEncoding: ArraySlice<UInt8>?
    /// A field table's content without its length prefix, see ``FieldTable/encoded()``.
    package var headers: ArraySlice<UInt8>?
    package var persistent = true
    package var priority: UInt8?
    package var correlationID: ArraySlice<UInt8>?
    package var replyTo: ArraySlice<UInt8>?
    /// Milliseconds as decimal digits. For anything else the broker closes the channel.
    package var expiration: ArraySlice<UInt8>?
    package var messageID: ArraySlice<UInt8>?
    /// Seconds since 1970 UTC.
    package var timestamp: UInt64?
    package var type: ArraySlice<UInt8>?
    /// The connection's own user; for any other the broker closes the channel.
    package var userID: ArraySlice<UInt8>?
    package var appID: ArraySlice<UInt8>?

    package init() {}

    /// The properties of a received message, with any edits; always persistent.
    package init(_ properties: MessageProperties) throws(AMQPError) {
        contentType = properties.contentType?[...]
        contentEncoding = properties.contentEncoding?[...]
        headers = try properties.headers?.encoded()[...]
        priority = properties.priority
        correlationID = properties.correlationID?[...]
        replyTo = properties.replyTo?[...]
        expiration = properties.expiration?[...]
        messageID = properties.messageID?[...]
        timestamp = properties.timestamp
        type = properties.type?[...]
        userID = properties.userID?[...]
        appID = properties.appID?[...]
    }
}

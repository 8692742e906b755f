import Core

/// One message from us to the broker. Exchange, routing key and body are views.
package struct Publication {
    /// Empty for the default exchange, which routes to the queue of the routing key's name.
    package var exchange: ArraySlice<UInt8>
    package var routingKey: ArraySlice<UInt8>
    /// Whether the broker returns the message when no queue takes it.
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

    /// Bytes of the properties in their frame.
    package var propertiesSize: Int { encodedProperties.size }

    /// Read back from what goes into the frame, or written anew; a string that was too long is not among them.
    package var properties: PublicationProperties {
        get { PublicationProperties(encodedProperties) }
        set { encodedProperties = EncodedProperties(newValue) }
    }
}

/// The properties of a message that is published. Strings have at most 255 bytes: publishing longer ones fails.
package struct PublicationProperties {
    package var contentType: ArraySlice<UInt8>?
    package var contentEncoding: ArraySlice<UInt8>?
    /// A field table's content without its length, see ``FieldTable/encoded()``.
    package var headers: ArraySlice<UInt8>?
    package var persistent = true
    package var priority: UInt8?
    package var correlationID: ArraySlice<UInt8>?
    package var replyTo: ArraySlice<UInt8>?
    /// Milliseconds as decimal digits. The broker refuses anything else and closes the channel.
    package var expiration: ArraySlice<UInt8>?
    package var messageID: ArraySlice<UInt8>?
    /// Seconds since 1970 UTC.
    package var timestamp: UInt64?
    package var type: ArraySlice<UInt8>?
    /// The broker refuses any but the connection's own user, and closes the channel.
    package var userID: ArraySlice<UInt8>?
    package var appID: ArraySlice<UInt8>?

    package init() {}

    /// The properties of a message that was received, perhaps edited; always persistent.
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

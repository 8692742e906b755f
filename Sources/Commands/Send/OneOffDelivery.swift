package import Core

/// A message from an operator's input, in the form of a broker's delivery.
package struct OneOffDelivery {
    private var storage: [UInt8] = []
    private var layout = Delivery.Layout()
    private var headers: [Delivery.Header] = []
    private var timestamp: UInt64?

    package init(body: [UInt8]) {
        layout.body = place(body)
    }

    package enum HeaderValue: Sendable, Equatable {
        case text(String)
        case integer(Int64)
        case boolean(Bool)
    }

    package mutating func add(header name: String, _ value: HeaderValue) {
        let name = place(name.utf8)
        switch value {
        case .text(let text): headers.append(Delivery.Header(name, .text(place(text.utf8))))
        case .integer(let integer): headers.append(Delivery.Header(name, .integer(integer)))
        case .boolean(let boolean): headers.append(Delivery.Header(name, .boolean(boolean)))
        }
    }

    private typealias Field = any WritableKeyPath<Delivery.Layout, Delivery.Field> & Sendable

    private static let fields: KeyValuePairs<String, Field> = [
        "content-type": \.contentType, "content-encoding": \.contentEncoding, "correlation-id": \.correlationID,
        "reply-to": \.replyTo, "expiration": \.expiration, "message-id": \.messageID, "type": \.type,
        "app-id": \.appID, "exchange": \.exchange, "routing-key": \.routingKey,
    ]

    /// The properties that ``set(property:_:)`` accepts.
    package static let properties = fields.map(\.key) + ["timestamp"]

    /// - Parameter name: one of ``properties``; underscores are equivalent to hyphens.
    /// - Returns: whether the property exists and accepts the value.
    package mutating func set(property name: String, _ value: String) -> Bool {
        let name = name.replacing("_", with: "-")
        if name == "timestamp" {
            timestamp = UInt64(value)
            return timestamp != nil
        }
        guard let field = Self.fields.first(where: { $0.key == name })?.value else { return false }
        layout[keyPath: field] = place(value.utf8)
        return true
    }

    package var delivery: Delivery {
        Delivery(
            epoch: 0, tag: 1, redelivered: false, queue: QueueID(0), timestamp: timestamp, storage: storage,
            layout: layout, headers: headers)
    }

    private mutating func place(_ bytes: some Collection<UInt8>) -> Delivery.Field {
        let start = storage.count
        storage += bytes
        return Delivery.Field(start..<storage.count)
    }
}

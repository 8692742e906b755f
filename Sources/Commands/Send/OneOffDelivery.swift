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

    /// The possible values of a header.
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

    /// The properties that ``set(property:_:)`` accepts.
    package static let properties = [
        "content-type", "content-encoding", "correlation-id", "reply-to", "expiration", "message-id", "timestamp",
        "type", "app-id", "exchange", "routing-key",
    ]

    /// - Parameter name: one of ``properties``; underscores are equivalent to hyphens.
    /// - Returns: whether the property exists and accepts the value.
    package mutating func set(property name: String, _ value: String) -> Bool {
        switch name.replacing("_", with: "-") {
        case "content-type": layout.contentType = place(value.utf8)
        case "content-encoding": layout.contentEncoding = place(value.utf8)
        case "correlation-id": layout.correlationID = place(value.utf8)
        case "reply-to": layout.replyTo = place(value.utf8)
        case "expiration": layout.expiration = place(value.utf8)
        case "message-id": layout.messageID = place(value.utf8)
        case "type": layout.type = place(value.utf8)
        case "app-id": layout.appID = place(value.utf8)
        case "exchange": layout.exchange = place(value.utf8)
        case "routing-key": layout.routingKey = place(value.utf8)
        case "timestamp":
            guard let seconds = UInt64(value) else { return false }
            timestamp = seconds
        default: return false
        }
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

package import AMQP
package import Core

/// Messages of a dead-letter queue, as a broker delivers them.
package enum DeadLetterSamples {
    package static let queue = "push.dead"

    package static func delivery(
        _ headers: FieldTable, messageID: String? = "m-1", body: String = "{}",
        edit: (inout MessageProperties) -> Void = { _ in }
    ) throws -> Delivery {
        var properties = MessageProperties()
        properties.messageID = messageID.map { Array($0.utf8) }
        properties.headers = headers
        edit(&properties)
        return try delivery(properties, body: Array(body.utf8))
    }

    package static func delivery(
        _ properties: MessageProperties, raw: [UInt8]? = nil, body: [UInt8], exchange: String = "",
        routingKey: String = queue
    ) throws -> Delivery {
        var storage: [UInt8] = []
        var layout = Delivery.Layout()
        func place(_ bytes: some Collection<UInt8>) -> Delivery.Field {
            storage.append(contentsOf: bytes)
            return Delivery.Field(storage.count - bytes.count..<storage.count)
        }
        layout.exchange = place(exchange.utf8)
        layout.routingKey = place(routingKey.utf8)
        layout.rawProperties = place(try raw ?? properties.encoded())
        layout.body = place(body)
        if let text = properties.contentType { layout.contentType = place(text) }
        if let text = properties.contentEncoding { layout.contentEncoding = place(text) }
        if let text = properties.correlationID { layout.correlationID = place(text) }
        if let text = properties.messageID { layout.messageID = place(text) }
        if let text = properties.expiration { layout.expiration = place(text) }
        let headers = try (properties.headers?.entries ?? []).map { entry throws -> Delivery.Header in
            let name = place(entry.name)
            return switch entry.value {
            case .text(let text): Delivery.Header(name, .text(place(text)))
            case .int32(let value): Delivery.Header(name, .integer(Int64(value)))
            case .int64(let value): Delivery.Header(name, .integer(value))
            case .double(let value): Delivery.Header(name, .number(value))
            case .boolean(let value): Delivery.Header(name, .boolean(value))
            // Its elements, without the name, the type and the length before them.
            case .array: try .init(name, .array(place((["": entry.value] as FieldTable).encoded().dropFirst(6))))
            default: Delivery.Header(name, .other)
            }
        }
        return Delivery(
            epoch: 1, tag: 1, redelivered: false, queue: 0, timestamp: properties.timestamp, storage: storage,
            layout: layout, headers: headers)
    }

    /// As written by a worker. Built anew each time: the leak check does not follow the tagged pointers of a constant.
    package static var ours: FieldTable {
        [
            "traceparent": .string("00-1"), "harebell-queue": .string("push.requests"),
            "harebell-exchange": .string("work"), "harebell-routing-key": .string("push.a"),
            "harebell-first-seen": .string("2026-11-21T22:00:00Z"), "harebell-outcome": .string("rejected"),
            "harebell-status": .int32(400), "harebell-reason": .string("BadTopic"), "harebell-detail": .string("d"),
            "harebell-attempts": .int32(3), "harebell-apns-id": .string("123e4567-e89b-12d3-a456-426655440000"),
            "harebell-failed-at": .string("2026-11-21T22:27:40Z"), "harebell-worker": .string("w"),
            "harebell-decoder": .string("auto"), "harebell-done": .bytes([1, 2]), "harebell-replays": .int32(1),
        ]
    }

    package static func death(_ queue: String, _ reason: String, time: UInt64 = 1_795_300_000) -> FieldValue {
        .table([
            "count": .int64(1), "exchange": .string("work"), "queue": .string(queue), "reason": .string(reason),
            "routing-keys": .array([.string("push.a"), .string("copy")]), "time": .timestamp(time),
        ])
    }

    /// As written by a broker; the first-death headers differ on purpose.
    package static func deaths(_ deaths: FieldValue...) -> FieldTable {
        [
            "x-death": .array(deaths), "x-first-death-queue": .string("wrong"),
            "x-first-death-reason": .string("wrong"), "x-first-death-exchange": .string("wrong"),
        ]
    }
}

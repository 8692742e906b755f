import AMQP
import Core
import Pipeline

/// Writes copies of a dead letter: the request for a replay, or the same dead letter from an archive.
enum ReplayEncoder {
    /// Headers about the failure; a replay starts without them.
    private static let failureHeaders = [
        "harebell-outcome", "harebell-status", "harebell-reason", "harebell-detail", "harebell-result",
        "harebell-attempts", "harebell-failed-at", "harebell-worker", "harebell-decoder",
        // Left from a copy in a retry queue.
        "harebell-parked", "harebell-deferred", "harebell-processed", "harebell-expires-at",
    ]

    /// The original request with its origin, so that its `apns-id` stays the same.
    ///
    /// - Parameters:
    ///   - queue: the destination.
    ///   - id: the ID of the run.
    static func replay(
        _ delivery: Delivery, _ letter: DeadLetter, to queue: String, id: String
    ) -> Publication {
        var properties = Republishing.properties(of: delivery)
        var headers = properties.headers ?? FieldTable()
        for name in failureHeaders { headers[name] = nil }
        markOrigin(letter, in: &headers)
        headers["harebell-replays"] = .int32(Int32(clamping: letter.replays + 1))
        headers["harebell-replay-id"] = .string(id)
        properties.headers = headers
        return Publication(
            routingKey: ArraySlice(queue.utf8), properties: properties, body: delivery.body)
    }

    /// The dead letter itself.
    ///
    /// - Throws: if its headers cannot be decoded, so that a copy would lose some.
    static func copy(
        _ delivery: Delivery, _ letter: DeadLetter, to queue: String
    ) throws(AMQPError) -> Publication {
        var properties = try MessageProperties(decoding: delivery.rawProperties)
        Republishing.makePublishable(&properties)
        var headers = properties.headers ?? FieldTable()
        markOrigin(letter, in: &headers)
        if !headers.entries.isEmpty { properties.headers = headers }
        return Publication(
            routingKey: ArraySlice(queue.utf8), properties: properties, body: delivery.body)
    }

    /// Adds the origin if only `x-death` contains it, because brokers do not keep that header on a copy.
    private static func markOrigin(_ letter: DeadLetter, in headers: inout FieldTable) {
        for (name, value) in [
            ("harebell-queue", letter.queue.map { ArraySlice($0.utf8) }), ("harebell-exchange", letter.exchange),
            ("harebell-routing-key", letter.routingKey),
        ] {
            if let value, headers[name] == nil { headers[name] = .text(Array(value)) }
        }
    }
}

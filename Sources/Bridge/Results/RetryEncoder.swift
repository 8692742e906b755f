package import AMQP
package import Core

/// Writes the copy of a request that waits in a retry queue: the request itself, and how often it has been tried.
package enum RetryEncoder {
    /// The counted attempts that a copy carries, 0 in a request that has not been put aside yet.
    package static func attempts(of delivery: Delivery) -> Int {
        guard case .integer(let attempts) = delivery.header("harebell-attempts") else { return 0 }
        return Int(clamping: max(0, attempts))
    }

    /// - Parameters:
    ///   - queue: the name of the queue that the delivery came from.
    ///   - firstSeen: when it arrived here; an earlier one in its headers is kept.
    ///   - delay: the fixed delay of the retry queue, in whole seconds.
    /// - Returns: `nil` if our headers do not fit into a frame beside the request's own.
    package static func encode(
        _ delivery: Delivery, attempts: Int, queue: String, firstSeen: WallTime, delay: Duration
    ) -> Publication? {
        var properties = Republishing.properties(of: delivery)
        var headers = properties.headers ?? FieldTable()
        Republishing.markOrigin(of: delivery, queue: queue, firstSeen: firstSeen, in: &headers)
        headers["harebell-attempts"] = .int32(Int32(clamping: attempts))
        properties.headers = headers
        do {
            let encoded = try PublicationProperties(properties)
            guard encoded.headers?.count ?? 0 <= DeadLetterEncoder.maximumHeaders else { return nil }
            return Publication(
                routingKey: ArraySlice(self.queue(queue, delay: delay).utf8), mandatory: true, properties: encoded,
                body: delivery.body)
        } catch {
            preconditionFailure("strings that came in a frame are short enough for one: \(error)")
        }
    }

    /// The name of the retry queue that sends back to `queue` after `delay`.
    package static func queue(_ queue: String, delay: Duration) -> String {
        "\(queue).retry.\(delay.components.seconds)s"
    }
}

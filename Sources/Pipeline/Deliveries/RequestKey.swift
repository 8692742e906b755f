package import Core
import TLS

/// Identifies a request and each of its notifications through every attempt, redelivery, retry and replay.
package enum RequestKey {
    /// The namespace of Harebell's name-based UUIDs; chosen once, at random.
    private static let namespace = NotificationID(high: 0x1F0B_6A57_9C2D_4E83, low: 0xA4D1_5C7E_38B2_6F90)

    /// The `apns-id` of a notification: the one in the request, else a name-based UUID from the request's key.
    ///
    /// The key is the message id within its queue, else the id in the message's format. Without either, it is a digest
    /// of exchange, routing key, correlation id, timestamp and body. A copy of a dead letter carries its origin in
    /// headers, so its digest equals the original's.
    ///
    /// - Parameters:
    ///   - own: the id in the request, if it has one.
    ///   - position: the position in a fan-out; `nil` for a single notification.
    ///   - queue: the name of the queue that the delivery came from.
    ///   - key: ``Request/key``.
    package static func notificationID(
        own: NotificationID?, position: Int?, of delivery: Delivery, queue: String, key: ArraySlice<UInt8>? = nil
    ) -> NotificationID {
        if let own {
            guard let position else { return own }
            var name = start(in: own)
            name.append(decimal: position)
            return NotificationID(sha1: Digest.sha1(name).span)
        }
        if let position {
            var fanOut = FanOut(of: delivery, queue: queue, key: key)
            return fanOut.notificationID(at: position)
        }
        var name = start(in: namespace)
        appendName(of: delivery, queue: queue, key: key, to: &name)
        return NotificationID(sha1: Digest.sha1(name).span)
    }

    /// Derives the `apns-id`s of a fan-out whose request has none. The common part of their names is computed once.
    struct FanOut {
        /// Ends with a position.
        private var name: [UInt8]
        private let shared: Int
        private let sha1 = RepeatedSHA1()

        /// - Parameters: as of ``RequestKey/notificationID(own:position:of:queue:key:)``.
        init(of delivery: Delivery, queue: String, key: ArraySlice<UInt8>?) {
            name = start(in: namespace)
            appendName(of: delivery, queue: queue, key: key, to: &name)
            name.append(UInt8(ascii: "#"))
            shared = name.count
        }

        mutating func notificationID(at position: Int) -> NotificationID {
            name.removeLast(name.count - shared)
            name.append(decimal: position)
            return NotificationID(sha1: sha1.digest(name).span)
        }
    }

    private static func appendName(
        of delivery: Delivery, queue: String, key: ArraySlice<UInt8>?, to name: inout [UInt8]
    ) {
        if let messageID = delivery.messageID, !messageID.isEmpty {
            return append("message:", messageID, of: delivery, queue: queue, to: &name)
        }
        if let key { return append("format:", key, of: delivery, queue: queue, to: &name) }
        var content: [UInt8] = []
        content.reserveCapacity(delivery.body.count + 256)
        append(text(delivery, "harebell-exchange") ?? delivery.exchange, to: &content)
        append(text(delivery, "harebell-routing-key") ?? delivery.routingKey, to: &content)
        append(delivery.correlationID ?? [], to: &content)
        append(decimal: delivery.timestamp, to: &content)
        content.append(contentsOf: delivery.body)
        name.append("digest:")
        name += Digest.sha256(content)
    }

    private static func append(
        _ kind: StaticString, _ id: ArraySlice<UInt8>, of delivery: Delivery, queue: String, to name: inout [UInt8]
    ) {
        name.append(kind)
        if let queue = text(delivery, "harebell-queue") {
            append(queue, to: &name)
        } else {
            append(queue.utf8, to: &name)
        }
        append(id, to: &name)
    }

    private static func text(_ delivery: Delivery, _ header: StaticString) -> ArraySlice<UInt8>? {
        guard case .text(let text) = delivery.header(header) else { return nil }
        return text
    }

    /// Prefixed with its length, so that the boundary between two fields is unambiguous.
    private static func append(_ field: some Collection<UInt8>, to name: inout [UInt8]) {
        name.append(decimal: field.count)
        name.append(UInt8(ascii: ":"))
        name.append(contentsOf: field)
    }

    private static func append(decimal value: UInt64?, to name: inout [UInt8]) {
        if let value { name.append(decimal: value) }
        name.append(UInt8(ascii: ";"))
    }

    /// The namespace bytes, which precede the name. Source: RFC 9562, section 5.5.
    private static func start(in namespace: NotificationID) -> [UInt8] {
        var bytes: [UInt8] = []
        // Large enough for most names.
        bytes.reserveCapacity(128)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: namespace.high >> shift))
        }
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: namespace.low >> shift))
        }
        return bytes
    }
}

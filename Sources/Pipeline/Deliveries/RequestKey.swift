package import Core
import TLS

/// What identifies a request, and with it each of its notifications, through every attempt, redelivery, retry and
/// replay.
package enum RequestKey {
    /// The namespace of our name-based UUIDs; chosen once, at random.
    private static let namespace = NotificationID(high: 0x1F0B_6A57_9C2D_4E83, low: 0xA4D1_5C7E_38B2_6F90)

    /// The `apns-id` of a notification: its own, else a name-based UUID of the request's key.
    ///
    /// The key is the message id within its queue, else what the message's own format calls it, else a digest of where
    /// the message was published to, what it was published with, and its body. A copy that comes from a dead letter
    /// carries its origin in headers, so that its digest is the original's.
    ///
    /// - Parameters:
    ///   - own: the one that the request gives, if it does.
    ///   - position: among the notifications of a fan-out; `nil` if there is only one.
    ///   - queue: the name of the queue that the delivery came from.
    ///   - key: ``Request/key``.
    package static func notificationID(
        own: NotificationID?, position: Int?, of delivery: Delivery, queue: String, key: ArraySlice<UInt8>? = nil
    ) -> NotificationID {
        if let own {
            guard let position else { return own }
            var name = start(in: own)
            name.append(decimal: position)
            return NotificationID(sha1: Digest.sha1(name))
        }
        var name = start(in: namespace)
        appendName(of: delivery, queue: queue, key: key, to: &name)
        if let position {
            name.append(UInt8(ascii: "#"))
            name.append(decimal: position)
        }
        return NotificationID(sha1: Digest.sha1(name))
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

    /// With its length before it, so that two fields cannot be taken for one.
    private static func append(_ field: some Collection<UInt8>, to name: inout [UInt8]) {
        name.append(decimal: field.count)
        name.append(UInt8(ascii: ":"))
        name.append(contentsOf: field)
    }

    private static func append(decimal value: UInt64?, to name: inout [UInt8]) {
        if let value { name.append(decimal: value) }
        name.append(UInt8(ascii: ";"))
    }

    /// What the name of a name-based UUID is written behind. Source: RFC 9562, section 5.5.
    private static func start(in namespace: NotificationID) -> [UInt8] {
        var bytes: [UInt8] = []
        // Most names have room in it.
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

package import Core
import TLS

/// What identifies a request, and with it each of its notifications, through every attempt, redelivery, retry and
/// replay.
package enum RequestKey {
    /// The namespace of our name-based UUIDs; chosen once, at random.
    private static let namespace = NotificationID(high: 0x1F0B_6A57_9C2D_4E83, low: 0xA4D1_5C7E_38B2_6F90)

    /// The `apns-id` of a notification: its own, else a name-based UUID of the request's key.
    ///
    /// The key is the message id within its queue, else what the message's own format calls it, else a digest of where the message was published to, what it was
    /// published with, and its body. A copy that comes from a dead letter carries its origin in headers, so that its
    /// digest is the original's.
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
            return uuid(own, Array(String(position).utf8))
        }
        var name = name(of: delivery, queue: queue, key: key)
        if let position {
            name.append(UInt8(ascii: "#"))
            name.append(decimal: position)
        }
        return uuid(namespace, name)
    }

    private static func name(of delivery: Delivery, queue: String, key: ArraySlice<UInt8>?) -> [UInt8] {
        if let messageID = delivery.messageID, !messageID.isEmpty {
            return Self.name("message:", messageID, of: delivery, queue: queue)
        }
        if let key { return Self.name("format:", key, of: delivery, queue: queue) }
        var content: [UInt8] = []
        content.reserveCapacity(delivery.body.count + 256)
        append(text(delivery, "harebell-exchange") ?? delivery.exchange, to: &content)
        append(text(delivery, "harebell-routing-key") ?? delivery.routingKey, to: &content)
        append(delivery.correlationID ?? [], to: &content)
        append(decimal: delivery.timestamp, to: &content)
        content.append(contentsOf: delivery.body)
        return Array("digest:".utf8) + Digest.sha256(content)
    }

    private static func name(
        _ kind: StaticString, _ id: ArraySlice<UInt8>, of delivery: Delivery, queue: String
    ) -> [UInt8] {
        var name: [UInt8] = []
        name.append(kind)
        append(text(delivery, "harebell-queue") ?? ArraySlice(queue.utf8), to: &name)
        append(id, to: &name)
        return name
    }

    private static func text(_ delivery: Delivery, _ header: StaticString) -> ArraySlice<UInt8>? {
        guard case .text(let text) = delivery.header(header) else { return nil }
        return text
    }

    /// With its length before it, so that two fields cannot be taken for one.
    private static func append(_ field: ArraySlice<UInt8>, to name: inout [UInt8]) {
        name.append(decimal: field.count)
        name.append(UInt8(ascii: ":"))
        name.append(contentsOf: field)
    }

    private static func append(decimal value: UInt64?, to name: inout [UInt8]) {
        if let value { name.append(decimal: value) }
        name.append(UInt8(ascii: ";"))
    }

    private static func uuid(_ namespace: NotificationID, _ name: [UInt8]) -> NotificationID {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16 + name.count)
        for word in [namespace.high, namespace.low] {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return NotificationID(sha1: Digest.sha1(bytes + name))
    }
}

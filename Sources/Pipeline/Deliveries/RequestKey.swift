package import Core
import Decoding
import TLS

/// Identifies a request and each of its notifications through every attempt, redelivery, retry and replay.
///
/// A value that is kept from request to request allocates nothing.
package struct RequestKey {
    /// The namespace of Harebell's name-based UUIDs; chosen once, at random.
    private static let namespace = NotificationID(high: 0x1F0B_6A57_9C2D_4E83, low: 0xA4D1_5C7E_38B2_6F90)

    /// The name of the last UUID.
    private var name: [UInt8] = []
    /// The length of what the names of a fan-out have in common; 0 before the first one.
    private var shared = 0
    private let sha1 = RepeatedSHA1()

    package init() {
        // Large enough for most names.
        name.reserveCapacity(128)
    }

    /// Another request follows.
    mutating func begin() {
        shared = 0
    }

    /// The `apns-id` of a notification: the one in the request, else a name-based UUID from the request's key.
    ///
    /// The key is the message id within its queue, else the id in the message's format. Without either, it is a digest
    /// of exchange, routing key, correlation id, timestamp, body, and the topic and target in headers. A copy of a dead
    /// letter carries its origin in headers, so its digest equals the original's.
    ///
    /// - Parameters:
    ///   - own: the id in the request, if it has one.
    ///   - position: the position in a fan-out; `nil` for a single notification.
    ///   - queue: the name of the queue that the delivery came from.
    ///   - key: ``Request/key``.
    package mutating func notificationID(
        own: NotificationID?, position: Int?, of delivery: Delivery, queue: String, key: ArraySlice<UInt8>? = nil
    ) -> NotificationID {
        guard let position else {
            if let own { return own }
            begin(in: Self.namespace)
            Self.appendName(of: delivery, queue: queue, key: key, to: &name)
            return NotificationID(sha1: sha1.digest(name).span)
        }
        if let own {
            begin(in: own)
            shared = 0
        } else if shared == 0 {
            begin(in: Self.namespace)
            Self.appendName(of: delivery, queue: queue, key: key, to: &name)
            name.append(UInt8(ascii: "#"))
            shared = name.count
        } else {
            name.removeLast(name.count - shared)
        }
        name.append(decimal: position)
        return NotificationID(sha1: sha1.digest(name).span)
    }

    package static func notificationID(
        own: NotificationID?, position: Int?, of delivery: Delivery, queue: String, key: ArraySlice<UInt8>? = nil
    ) -> NotificationID {
        var request = RequestKey()
        return request.notificationID(own: own, position: position, of: delivery, queue: queue, key: key)
    }

    /// Begins a name with the bytes of its namespace. Source: RFC 9562, section 5.5.
    private mutating func begin(in namespace: NotificationID) {
        name.removeAll(keepingCapacity: true)
        unsafe withUnsafeBytes(of: (namespace.high.bigEndian, namespace.low.bigEndian)) {
            unsafe name.append(contentsOf: $0)
        }
    }

    private static func appendName(
        of delivery: Delivery, queue: String, key: ArraySlice<UInt8>?, to name: inout [UInt8]
    ) {
        if let messageID = delivery.messageID, !messageID.isEmpty {
            return append("message:", messageID, of: delivery, queue: queue, to: &name)
        }
        if let key, !key.isEmpty { return append("format:", key, of: delivery, queue: queue, to: &name) }
        var content: [UInt8] = []
        content.reserveCapacity(delivery.body.count + 256)
        append(text(delivery, "harebell-exchange") ?? delivery.exchange, to: &content)
        append(text(delivery, "harebell-routing-key") ?? delivery.routingKey, to: &content)
        append(delivery.correlationID ?? [], to: &content)
        if let timestamp = delivery.timestamp { content.append(decimal: timestamp) }
        // In header mode the body is only the payload; other formats may have these headers, too.
        APNsHeadersDecoder.forEachTarget(of: delivery) { append($0, to: &content) }
        content.append(UInt8(ascii: ";"))
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
}

package import Core
package import Decoding
import Pipeline

/// What a message would become, had a worker received it from a queue.
package struct DecodingPreview: Sendable {
    /// One notification with what a worker would add to it.
    package struct Entry: Sendable {
        package let notification: Notification
        package let id: NotificationID
        /// What is wrong with its payload by Apple's tables; `nil` if nothing is.
        package let finding: String?
    }

    package let decoder: String
    /// The semantic version of the decoder's format; `nil` of one that has none.
    package let version: String?
    package let answer: Decoded
    /// Of a request.
    package let entries: [Entry]

    /// - Parameters:
    ///   - name: of the decoder.
    ///   - queue: the name of the queue that it would come from, which the `apns-id` depends on.
    ///   - process: asks a decoder that cannot answer at once.
    /// - Throws: ``UnknownDecoder`` where no decoder has this name, and what `process` throws.
    package init(
        _ delivery: Delivery, decoder name: String, _ decoders: DecoderSet, queue: String, at now: WallTime,
        process: (ProcessDecoder) throws -> Decoded
    ) throws {
        guard let decoder = decoders[name] else {
            throw UnknownDecoder(description: decoders.complaint(about: name) ?? "")
        }
        self.decoder = name
        version = decoders.version(of: decoder)
        answer = try (decoder as? ProcessDecoder).map(process) ?? decoder.decode(delivery, at: now)
        guard case .request(let request) = answer else {
            entries = []
            return
        }
        let refused = Set(request.refusals.map(\.position))
        let places = (0..<request.count).filter { !refused.contains($0) }
        entries = zip(places, request.notifications).map { place, notification in
            let id = RequestKey.notificationID(
                own: notification.id, position: request.count == 1 ? nil : place, of: delivery, queue: queue,
                key: request.key)
            return Entry(notification: notification, id: id, finding: Self.finding(in: notification))
        }
    }

    private static func finding(in notification: Notification) -> String? {
        if case .management = notification.target { return nil }
        var isBroadcast = false
        if case .channel = notification.target { isBroadcast = true }
        let findings = PayloadCheck.findings(
            in: notification.payload, for: notification.pushType, isBroadcast: isBroadcast)
        return findings.isEmpty ? nil : findings.detail
    }
}

/// Why a name stands for no decoder.
package struct UnknownDecoder: Error, CustomStringConvertible {
    package let description: String
}

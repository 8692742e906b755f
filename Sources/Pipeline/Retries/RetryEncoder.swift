package import AMQP
package import Core

/// Writes the copy of a request for a retry queue, with its attempts and the notifications that have ended.
package enum RetryEncoder {
    /// The history that a copy carries.
    package struct Note {
        /// The attempts, including earlier rounds.
        package var attempts: Int
        package var processed = Processed.no
        package var expiresAt: WallTime?
        /// `nil` if all notifications are still to be sent.
        package var done: DoneBitmap?
        /// Whether it was deferred: no notification has ended since, and the retry level stays the same.
        package var isPostponed = false
    }

    /// - Parameters:
    ///   - queue: the name of the queue that the delivery came from.
    ///   - firstSeen: its arrival; an earlier time in its headers is kept.
    ///   - delay: the fixed delay of the retry queue, in whole seconds.
    /// - Returns: `nil` if the properties do not fit into a frame.
    package static func encode(
        _ delivery: Delivery, _ note: Note, queue: String, firstSeen: WallTime, delay: Duration
    ) -> Publication? {
        typealias Header = RequestHistory.Header
        let history = RequestHistory(delivery)
        var properties = Republishing.properties(of: delivery)
        var headers = Republishing.headers(properties, of: delivery, queue: queue, firstSeen: firstSeen)
        headers[Header.parkings] = .int32(Int32(clamping: history.parkings + 1))
        headers[Header.attempts] = .int32(Int32(clamping: note.attempts))
        headers[Header.processed] = note.processed == .no ? nil : .string(note.processed.name.description)
        headers[Header.expiresAt] = note.expiresAt.map { .int64($0.milliseconds) }
        if note.isPostponed {
            headers[Header.deferrals] = .int32(Int32(clamping: history.deferrals + 1))
        } else {
            headers[Header.done] = note.done.map { .text($0.text) }
        }
        properties.headers = headers
        let copy = Publication(
            routingKey: ArraySlice(self.queue(queue, delay: delay).utf8), properties: properties, body: delivery.body)
        return copy.propertiesSize <= DeadLetterEncoder.maximumHeaders ? copy : nil
    }

    /// The name of the retry queue that returns messages to `queue` after `delay`.
    package static func queue(_ queue: String, delay: Duration) -> String {
        "\(queue).retry.\(delay.components.seconds)s"
    }

    /// Whether a name is that of a retry queue for `queue`, with any delay: the configuration may have changed while a
    /// request waited.
    package static func isRetryQueue(_ name: some Collection<UInt8>, of queue: String) -> Bool {
        let prefix = "\(queue).retry.".utf8
        guard name.starts(with: prefix) else { return false }
        let rest = name.dropFirst(prefix.count)
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return !digits.isEmpty && rest.dropFirst(digits.count).elementsEqual("s".utf8)
    }
}

package import AMQP
import Configuration
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
        let name = RetryQueueName.make(for: queue, delay: delay)
        let copy = Publication(routingKey: ArraySlice(name.utf8), properties: properties, body: delivery.body)
        return copy.propertiesSize <= DeadLetterEncoder.maximumHeaders ? copy : nil
    }
}

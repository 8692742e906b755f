import AMQP
package import Core
import Logging

/// Messages that their decoder or their `not-before` defers. A copy waits in the retry queue with the longest delay
/// within the pause. The rest of the pause, shorter than any delay, passes in the worker.
extension Outbox {
    package mutating func postpone(_ request: InFlightRequest, for pause: Duration, at now: Moment) {
        guard let delay = settings.ladder.level(within: pause) else {
            actions.append(.decodeLater(request, pause))
            return
        }
        var note = RetryEncoder.Note(attempts: request.history.attempts)
        note.processed = request.history.processed
        note.expiresAt = request.expiresAt
        note.isPostponed = true
        let copy = RetryEncoder.encode(
            request.delivery, note, queue: settings.queues[request.delivery.queue.index].name,
            firstSeen: request.arrived.wall, delay: delay)
        guard let copy else {
            actions.append(.decodeLater(request, pause))
            return
        }
        publish(copy, for: request, .postpone(pause), at: now)
    }
}

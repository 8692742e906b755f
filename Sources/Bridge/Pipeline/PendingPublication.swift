import AMQP
import Core

/// A publish that has no confirm yet.
final class PendingPublication {
    enum Kind {
        case result(report: Report, id: NotificationID?)
        case routedResult(report: Report, id: NotificationID?)
        case feedback
        case deadLetter
        /// The copy that waits in a retry queue.
        case retry
        /// Likewise of a message that its decoder put off for so long.
        case putOff(Duration)
    }

    let request: InFlightRequest
    let publication: Publication
    let kind: Kind
    var refusals = 0
    /// How often the broker closed the connection while this was outstanding alone.
    var closes = 0

    init(request: InFlightRequest, publication: Publication, kind: Kind) {
        self.request = request
        self.publication = publication
        self.kind = kind
    }
}

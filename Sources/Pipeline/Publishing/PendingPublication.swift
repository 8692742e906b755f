package import AMQP
import Core

/// A publish that has no confirm yet.
package final class PendingPublication {
    enum Kind {
        case result(ResultNote)
        case routedResult(ResultNote)
        case feedback
        case deadLetter
        /// The copy that waits in a retry queue.
        case retry
        /// Likewise of a message that its decoder put off for so long.
        case putOff(Duration)
    }

    /// What a dead letter says if no queue takes a result.
    struct ResultNote {
        let report: Report
        let id: NotificationID?
        /// How many of the notifications call for no dead letter otherwise.
        let unfailed: Int
    }

    let request: InFlightRequest
    package private(set) var publication: Publication
    let kind: Kind
    /// Whether it was made smaller, which goes once.
    private var isFitted = false
    var lane: PublishLane
    /// When a direct reply began to wait for its connection, or for what the broker says of its requester.
    var waitingSince = Instant.distantPast
    var refusals = 0
    /// How often the broker closed the connection while this was outstanding alone.
    var closes = 0
    /// Since when its reply queue has refused it, and whether it waits to be published again.
    var refusedSince: Instant?
    var isWaiting = false

    init(request: InFlightRequest, publication: Publication, kind: Kind, lane: PublishLane) {
        self.request = request
        self.publication = publication
        self.kind = kind
        self.lane = lane
    }

    /// Leaves out headers that do not fit into a frame. A copy for a retry keeps all, because decoders read them.
    ///
    /// - Parameter limit: bytes that its properties may have.
    /// - Returns: `false` if it cannot be made smaller.
    func fit(_ limit: Int) -> Bool {
        switch kind {
        case .retry, .putOff: return false
        case .result, .routedResult, .feedback, .deadLetter:
            guard !isFitted, let smaller = publication.fitting(limit) else { return false }
            publication = smaller
            isFitted = true
            return true
        }
    }

    /// Whether it goes to the place that its request names.
    var isReply: Bool {
        if case .result = kind, request.delivery.replyTo?.isEmpty == false { true } else { false }
    }
}

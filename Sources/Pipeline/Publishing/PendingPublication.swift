package import AMQP
import Core

/// A publish without a confirm.
package final class PendingPublication {
    enum Kind {
        /// A result for the destination in its request, or for the configured one.
        case result(ResultNote, isReply: Bool)
        case feedback
        case deadLetter
        /// A copy for a retry queue.
        case retry
        /// A copy of a message that its decoder deferred for this long.
        case postpone(Duration)
    }

    let request: InFlightRequest
    package private(set) var publication: Publication
    let kind: Kind
    /// Whether it was already shrunk; this is possible once.
    private var isFitted = false
    let role: PublisherRole
    /// When a direct reply began to wait for its connection.
    var waitingSince = Instant.distantPast
    var refusals = 0
    /// How often the broker closed the connection while only this publish was outstanding.
    var closes = 0
    /// Since when its reply queue has refused it, and whether it waits to be repeated.
    var refusedSince: Instant?
    var isWaiting = false

    init(request: InFlightRequest, publication: Publication, kind: Kind, role: PublisherRole) {
        self.request = request
        self.publication = publication
        self.kind = kind
        self.role = role
    }

    /// Omits headers that do not fit into a frame. A copy for a retry keeps all, because decoders read them.
    ///
    /// - Parameter limit: the maximum size of its properties, in bytes.
    /// - Returns: `false` if it cannot be shrunk.
    package func fit(_ limit: Int) -> Bool {
        switch kind {
        case .retry, .postpone: return false
        case .result, .feedback, .deadLetter:
            guard !isFitted, let smaller = publication.fitting(limit) else { return false }
            publication = smaller
            isFitted = true
            return true
        }
    }

    /// Whether it goes to the destination in its request.
    var isReply: Bool {
        if case .result(_, isReply: true) = kind { true } else { false }
    }
}

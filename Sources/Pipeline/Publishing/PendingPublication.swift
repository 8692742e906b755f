package import AMQP
import Core

/// A publish without a confirm.
package final class PendingPublication {
    enum Kind {
        /// A result for the destination in its request, or for the configured one.
        case result(ResultNote, isReply: Bool)
        case feedback
        case deadLetter
        case retry
        /// A copy of a message that its decoder deferred for this long.
        case postpone(Duration)
    }

    let request: InFlightRequest
    package private(set) var publication: Publication
    let kind: Kind
    var role: PublisherRole
    let destination: Destination
    /// Since when it waits: for its connection, for its confirm, or for its destination to be open.
    var since = Instant.distantPast
    var writtenAt = Instant.distantPast
    /// How often the broker closed the connection while only this publish was outstanding.
    var closes = 0
    /// Whether it waits to be written, or for its confirm.
    var isUnderway = false
    /// Whether its destination has to be open before it is published, or published again.
    var isHeld = false
    /// Whether another publish replaces it, so that its confirm only shows how its destination fares.
    var isAbandoned = false

    init(
        request: InFlightRequest, publication: Publication, kind: Kind, role: PublisherRole, destination: Destination
    ) {
        self.request = request
        self.publication = publication
        self.kind = kind
        self.role = role
        self.destination = destination
        destination.publishes += 1
    }

    deinit { destination.publishes -= 1 }

    /// Omits headers that do not fit into a frame. A copy for a retry keeps all, because decoders read them.
    ///
    /// - Parameter limit: the maximum size of its properties, in bytes.
    /// - Returns: `false` if it cannot be shrunk.
    package func fit(_ limit: Int) -> Bool {
        switch kind {
        case .retry, .postpone: return false
        case .result, .feedback, .deadLetter:
            guard let fitting = publication.fitting(limit), fitting.propertiesSize < publication.propertiesSize else {
                return false
            }
            publication = fitting
            return true
        }
    }

    /// Whether it goes to the destination in its request.
    var isReply: Bool {
        if case .result(_, isReply: true) = kind { true } else { false }
    }

    /// Whether the request can end without it: results go elsewhere, feedback is dropped. Others wait for their queue.
    var isDispensable: Bool {
        switch kind {
        case .result, .feedback: true
        case .deadLetter, .retry, .postpone: false
        }
    }
}

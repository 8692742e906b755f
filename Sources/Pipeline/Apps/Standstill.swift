package import Core

/// Whether any app can send, and what follows if none can for long: then nothing more is taken from the broker.
///
/// It is looked at now and then, so what happened in between counts by its trace: an answer of APNs ends a standstill.
package struct Standstill {
    package enum Action: Equatable, Sendable {
        case nothing
        /// Stop consuming, and give back what waits.
        case suspend
        /// Consume again.
        case resume
    }

    /// Since when no app can send, as far as that is known.
    package private(set) var since: Instant?
    package private(set) var isSuspended = false

    package init() {}

    /// - Parameters:
    ///   - canSend: whether at least one app can, by what is known of it.
    ///   - lastAnswer: when APNs last answered a notification without refusing its app.
    ///   - limit: how long a standstill may last.
    package mutating func looked(canSend: Bool, lastAnswer: Instant?, at now: Instant, limit: Duration) -> Action {
        if canSend {
            since = nil
            guard isSuspended else { return .nothing }
            isSuspended = false
            return .resume
        }
        if let begun = since, let lastAnswer, lastAnswer > begun, !isSuspended { since = lastAnswer }
        let begun = since ?? now
        since = begun
        guard !isSuspended, now - begun >= limit else { return .nothing }
        isSuspended = true
        return .suspend
    }
}

package import Core

/// Detects that no app has been able to send for a while: the worker then consumes only probes.
///
/// Checked periodically. A response from APNs between two checks also ends a standstill.
package struct Standstill {
    package enum Action: Equatable, Sendable {
        case nothing
        /// Stop consuming, and return what waits.
        case suspend
        /// Consume again.
        case resume
    }

    /// Since when no app can send, as far as known.
    package private(set) var since: Instant?
    /// Since when only probes are consumed; `nil` while the worker consumes normally.
    package private(set) var suspendedSince: Instant?

    package var isSuspended: Bool { suspendedSince != nil }

    package init() {}

    /// - Parameters:
    ///   - canSend: whether at least one app can send, as far as known.
    ///   - lastResponse: when APNs last responded to a notification without refusing its app.
    ///   - limit: the longest standstill.
    package mutating func checked(canSend: Bool, lastResponse: Instant?, at now: Instant, limit: Duration) -> Action {
        if canSend {
            since = nil
            guard isSuspended else { return .nothing }
            suspendedSince = nil
            return .resume
        }
        if let begun = since, let lastResponse, lastResponse > begun, !isSuspended { since = lastResponse }
        let begun = since ?? now
        since = begun
        guard !isSuspended, now - begun >= limit else { return .nothing }
        suspendedSince = now
        return .suspend
    }
}

package import Core

/// Tracks whether a connection was worth dialling. The ``Dialer`` needs this, because APNs treats rapid connects and
/// disconnects as a denial-of-service attack.
///
/// *unproven* → *proven* by enough responses or a long enough life. *unproven* → *peerClosed* if the peer ends it
/// earlier; it can still become *proven* if enough responses follow.
package struct ConnectionTrial {
    /// A connection with this many responses was useful, however soon APNs ends it.
    package static let provingResponses = 100
    /// A connection that lived this long was useful, even without requests.
    package static let provingAge = Duration.seconds(60)

    package enum Progress: Equatable {
        case none
        case firstResponse
        case proven
    }

    private enum Stage: Equatable {
        case unproven
        /// - isCounted: whether the early end was counted as a failure.
        case peerClosed(isCounted: Bool)
        case proven
    }

    private var stage = Stage.unproven
    private var responses = 0
    package private(set) var readyAt: Instant?

    package init() {}

    package mutating func becameReady(at now: Instant) {
        readyAt = now
    }

    /// A response shows that the connection reaches a working APNs.
    package mutating func responded(at now: Instant) -> Progress {
        guard stage != .proven else { return .none }
        responses += 1
        guard responses >= Self.provingResponses || hasProvingAge(at: now) else {
            return responses == 1 ? .firstResponse : .none
        }
        stage = .proven
        return .proven
    }

    /// When the connection's age alone proves it; `nil` before it is ready and once it is proven.
    package var provenAt: Instant? {
        stage == .proven ? nil : readyAt.map { $0 + Self.provingAge }
    }

    package mutating func provenByAge() {
        stage = .proven
    }

    /// The peer ends the connection.
    ///
    /// - Returns: whether that is early, and the first time.
    package mutating func peerClosed(at now: Instant) -> Bool {
        guard stage == .unproven, !hasProvingAge(at: now) else { return false }
        stage = .peerClosed(isCounted: false)
        return true
    }

    /// Counts the early end as a connect failure.
    package mutating func countEnd() {
        if stage != .proven { stage = .peerClosed(isCounted: true) }
    }

    package var isEndCounted: Bool { stage == .peerClosed(isCounted: true) }

    package func isUseless(at now: Instant) -> Bool {
        responses == 0 && !hasProvingAge(at: now)
    }

    private func hasProvingAge(at now: Instant) -> Bool {
        readyAt.map { now - $0 >= Self.provingAge } ?? false
    }
}

/// Detects that APNs allows far fewer streams on a connection than before.
struct StreamCut {
    /// The highest stream limit so far.
    private(set) var peak = 0
    /// When the limit fell far below the peak.
    private(set) var since: Instant?

    /// - Parameters:
    ///   - streams: the current stream limit.
    ///   - divisor: the limit is cut if it is at most ``peak`` divided by this.
    /// - Returns: whether it has just been cut.
    mutating func observe(_ streams: Int, divisor: Int, at now: Instant) -> Bool {
        peak = max(peak, streams)
        guard streams * divisor <= peak else {
            since = nil
            return false
        }
        guard since == nil else { return false }
        since = now
        // One that started without streams was not cut.
        return peak > 0
    }
}

package import Core

/// Whether a connection turns out to be worth its dial: the ``Dialer`` has to know, because APNs takes rapid connects
/// and disconnects for an attack.
///
/// *unproven* → *proven* by enough answers or a long enough life; *unproven* → *left* where the peer ends it before,
/// and still *proven* if enough answers follow.
package struct ConnectionTrial {
    /// A connection that answered so much was of use, however soon APNs ends it.
    package static let provingAnswers = 100
    /// A connection that lived so long was of use, even if it carried nothing.
    package static let provingLife = Duration.seconds(60)

    package enum Progress: Equatable {
        case none
        case firstAnswer
        /// For the first time.
        case proven
    }

    private enum Stage: Equatable {
        case unproven
        /// - isCounted: whether the early end was counted as a failure.
        case left(isCounted: Bool)
        case proven
    }

    private var stage = Stage.unproven
    private var answers = 0
    package private(set) var readyAt: Instant?

    package init() {}

    package mutating func becameReady(at now: Instant) {
        readyAt = now
    }

    /// An answer came that shows that the connection leads to a working APNs.
    package mutating func answered(at now: Instant) -> Progress {
        guard stage != .proven else { return .none }
        answers += 1
        guard answers >= Self.provingAnswers || hasLived(at: now) else { return answers == 1 ? .firstAnswer : .none }
        stage = .proven
        return .proven
    }

    /// When the connection will have proven itself by its life alone; `nil` before it is ready, and once it is proven.
    package var provenAt: Instant? {
        stage == .proven ? nil : readyAt.map { $0 + Self.provingLife }
    }

    /// Its life alone has proven it.
    package mutating func outlived() {
        stage = .proven
    }

    /// The peer ends the connection.
    ///
    /// - Returns: whether that is early, and news.
    package mutating func left(at now: Instant) -> Bool {
        guard stage == .unproven, !hasLived(at: now) else { return false }
        stage = .left(isCounted: false)
        return true
    }

    /// The early end counts as a failure to connect.
    package mutating func countEnd() {
        stage = .left(isCounted: true)
    }

    package var isEndCounted: Bool { stage == .left(isCounted: true) }

    /// Whether the connection, if it ends now, has led to nothing.
    package func isVain(at now: Instant) -> Bool {
        answers == 0 && !hasLived(at: now)
    }

    private func hasLived(at now: Instant) -> Bool {
        readyAt.map { now - $0 >= Self.provingLife } ?? false
    }
}

/// Notices that APNs allows far fewer streams on a connection than it did.
struct StreamCut {
    /// The most streams that were ever allowed.
    private(set) var peak = 0
    /// Since when there are far fewer.
    private(set) var since: Instant?

    /// - Parameters:
    ///   - streams: as many as are allowed now.
    ///   - divisor: far fewer are ``peak`` divided by this, or less.
    /// - Returns: whether they have just been cut.
    mutating func observe(_ streams: Int, divisor: Int, at now: Instant) -> Bool {
        peak = max(peak, streams)
        guard streams * divisor <= peak else {
            since = nil
            return false
        }
        guard since == nil else { return false }
        since = now
        return true
    }
}

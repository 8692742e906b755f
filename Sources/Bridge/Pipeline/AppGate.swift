package import Core

/// Lets the notifications of one app through, or holds them while its credential, topic or environment is refused.
///
/// A refusal concerns every notification of the app, so sending them all would only burn the connection. The gate closes
/// for ``firstPause``, then lets one probe through; each probe that is refused doubles the pause up to ``longestPause``,
/// and the first answer of any other kind opens the gate again.
package struct AppGate {
    package static let firstPause = Duration.seconds(15)
    package static let longestPause = Duration.seconds(300)

    /// Why the gate is closed, and until when.
    package struct Pause: Equatable {
        package let cause: RejectionReason
        package var length: Duration
        package var until: Instant
        /// The notification that is trying whether the app is still refused.
        package var probe: UInt32?
    }

    /// What a refusal does to the gate.
    package enum Refusal {
        case closes
        /// A probe was refused: the pause begins anew, and is longer.
        case prolongs
        /// What was in flight when the gate closed comes back refused as well.
        case repeats
    }

    package private(set) var pause: Pause?

    package init() {}

    package var isOpen: Bool {
        pause == nil
    }

    /// When the next probe may go, if one may.
    package var nextProbe: Instant? {
        guard let pause, pause.probe == nil else { return nil }
        return pause.until
    }

    /// Whether a notification may go now. While the gate is closed it goes as a probe, when one is due.
    package mutating func admit(_ handle: UInt32, at now: Instant) -> Bool {
        guard let current = pause else { return true }
        guard current.probe == nil, now >= current.until else { return false }
        pause?.probe = handle
        return true
    }

    /// APNs refused the app in its answer to a notification.
    package mutating func refused(_ handle: UInt32, _ cause: RejectionReason, at now: Instant) -> Refusal {
        guard let current = pause else {
            pause = Pause(cause: cause, length: Self.firstPause, until: now + Self.firstPause)
            return .closes
        }
        guard current.probe == handle else { return .repeats }
        let length = min(current.length * 2, Self.longestPause)
        pause = Pause(cause: cause, length: length, until: now + length)
        return .prolongs
    }

    /// APNs answered a notification of the app in any other way. Returns true if that opened a closed gate.
    package mutating func answered() -> Bool {
        defer { pause = nil }
        return pause != nil
    }

    /// A notification ended without an answer. Returns true if it was the probe, so that another one may go.
    package mutating func lost(_ handle: UInt32) -> Bool {
        guard pause?.probe == handle else { return false }
        pause?.probe = nil
        return true
    }
}

package import Core

/// Lets the notifications of an app under one topic through, or holds them while credential, topic or environment are
/// refused.
///
/// Such a refusal concerns every notification of the topic, so sending them all would only burn the connection. The gate
/// closes for ``firstPause``, then lets one probe through; each probe that is refused doubles the pause up to
/// ``longestPause``, and one that ends without saying anything about the cause is followed by another after as long.
package struct AppGate {
    package static let firstPause = Duration.seconds(15)
    package static let longestPause = Duration.seconds(300)

    /// Why a gate is closed.
    package enum Cause: Equatable, Sendable {
        /// APNs' reason, or its status where it gave none.
        case refused(RejectionReason)
        /// So many of the newest answers refused their device tokens: the environment is wrong, rather than the devices
        /// dead.
        case deviceTokens(refused: Int, answers: Int)
    }

    /// Since when and why the gate is closed, and until when.
    package struct Pause: Equatable {
        package let cause: Cause
        package let since: Instant
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

    /// What the end of a notification that was not refused does to the gate.
    package enum Ending {
        case opens
        /// It was the probe and showed nothing: the pause begins anew, as long as it was.
        case repeatsPause
        case nothing
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

    /// Whether a notification is trying whether the app is still refused.
    package func isProbe(_ handle: UInt32) -> Bool {
        pause?.probe == handle
    }

    /// Whether a notification may go now. While the gate is closed it goes as a probe, when one is due.
    package mutating func admit(_ handle: UInt32, at now: Instant) -> Bool {
        guard let current = pause else { return true }
        guard current.probe == nil, now >= current.until else { return false }
        pause?.probe = handle
        return true
    }

    /// APNs refused the app in its answer to a notification.
    package mutating func refused(_ handle: UInt32, _ cause: Cause, at now: Instant) -> Refusal {
        guard let current = pause else {
            pause = Pause(cause: cause, since: now, length: Self.firstPause, until: now + Self.firstPause)
            return .closes
        }
        guard current.probe == handle else { return .repeats }
        let length = min(current.length * 2, Self.longestPause)
        pause = Pause(cause: cause, since: current.since, length: length, until: now + length)
        return .prolongs
    }

    /// A notification ended in any other way, with what that shows of the app.
    ///
    /// Any answer that shows the credential to be accepted opens a gate that was closed for it; but of many device tokens
    /// some are good in the wrong environment too, so only a probe speaks for all of them.
    package mutating func ended(_ handle: UInt32, showing proof: ReplyProof, at now: Instant) -> Ending {
        guard let current = pause else { return .nothing }
        let isDisproof =
            switch current.cause {
            case .refused: proof >= .credential
            case .deviceTokens: proof == .token && current.probe == handle
            }
        if isDisproof {
            pause = nil
            return .opens
        }
        guard current.probe == handle else { return .nothing }
        pause?.probe = nil
        pause?.until = now + current.length
        return .repeatsPause
    }

    /// A notification was not sent after all. Returns true if it was the probe, so that another one may go.
    package mutating func withdrawn(_ handle: UInt32) -> Bool {
        guard pause?.probe == handle else { return false }
        pause?.probe = nil
        return true
    }

    /// Something has changed that the refusal may be due to: the next probe may go now, and pauses begin anew.
    package mutating func probeSoon(at now: Instant) {
        guard pause != nil else { return }
        pause?.length = Self.firstPause
        pause?.until = now
    }
}

extension AppGate.Cause: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let reason): reason.rawValue
        case .deviceTokens(let refused, let answers): "\(refused) of the last \(answers) device tokens were refused"
        }
    }
}

package import Core

/// Lets notifications of an app through, or holds them while its credential, topic or environment are refused.
///
/// Such a refusal concerns every notification, so sending them all would only burn the connection. The gate closes for
/// ``firstPause``, then lets one probe through; each probe that is refused doubles the pause up to ``longestPause``,
/// and one that ends without saying anything about the cause is followed by another after as long. Only a probe opens
/// it: what was in flight when it closed may have gone over a connection, or been a device token, that is still taken.
package struct AppGate {
    package static let firstPause = Duration.seconds(15)
    package static let longestPause = Duration.seconds(300)

    /// Why a gate is closed.
    package enum Cause: Equatable, Sendable {
        /// The credential is refused, with APNs' reason.
        case credential(RejectionReason)
        /// The topic is, with APNs' reason, or its status where it gave none.
        case topic(RejectionReason)
        /// So many of the newest answers refused their device tokens: the environment is wrong, rather than the devices
        /// dead.
        case deviceTokens(refused: Int, answers: Int)

        /// The least that an answer must show to disprove it.
        var disproof: ReplyProof {
            switch self {
            case .credential: .credential
            case .topic: .topic
            case .deviceTokens: .token
            }
        }
    }

    /// Since when and why the gate is closed, and until when.
    package struct Pause: Equatable {
        package let cause: Cause
        package let since: Instant
        package var length: Duration
        package var until: Instant
        /// The notification that is trying whether the app is still refused.
        package var probe: Handle?
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
    package func isProbe(_ handle: Handle) -> Bool {
        pause?.probe == handle
    }

    /// Whether a notification may go now. While the gate is closed it goes as a probe, when one is due.
    package mutating func admit(_ handle: Handle, at now: Instant) -> Bool {
        guard admits(at: now) else { return false }
        pause?.probe = handle
        return true
    }

    /// Whether ``admit(_:at:)`` would let a notification through.
    package func admits(at now: Instant) -> Bool {
        guard let pause else { return true }
        return pause.probe == nil && now >= pause.until
    }

    /// APNs refused the app in its answer to a notification.
    package mutating func refused(_ handle: Handle, _ cause: Cause, at now: Instant) -> Refusal {
        guard let current = pause else {
            close(cause, at: now)
            return .closes
        }
        guard current.probe == handle else { return .repeats }
        let length = current.length.doubled(1, atMost: Self.longestPause)
        pause = Pause(cause: cause, since: current.since, length: length, until: now + length)
        return .prolongs
    }

    /// The app is refused, whatever the notification.
    package mutating func close(_ cause: Cause, at now: Instant) {
        precondition(isOpen, "a gate is closed once")
        pause = Pause(cause: cause, since: now, length: Self.firstPause, until: now + Self.firstPause)
    }

    /// A notification ended in any other way, with what that shows of the app.
    package mutating func ended(_ handle: Handle, showing proof: ReplyProof, at now: Instant) -> Ending {
        guard let current = pause, current.probe == handle else { return .nothing }
        guard proof < current.cause.disproof else {
            pause = nil
            return .opens
        }
        pause?.probe = nil
        pause?.until = now + current.length
        return .repeatsPause
    }

    /// What it was closed for is over.
    package mutating func open() {
        pause = nil
    }

    /// A notification was not sent after all. Returns true if it was the probe, so that another one may go.
    package mutating func withdrawn(_ handle: Handle) -> Bool {
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
        case .credential(let reason), .topic(let reason): reason.rawValue
        case .deviceTokens(let refused, let answers): "\(refused) of the last \(answers) device tokens were refused"
        }
    }
}

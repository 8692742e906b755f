package import Core

/// Passes notifications, or holds them while APNs refuses a credential, topic or environment, or cannot be reached.
///
/// A refusal concerns every notification; sending them all would only use up connections. The gate closes for
/// ``firstPause``, then admits one probe. Each refused probe doubles the pause, up to ``longestPause``; an inconclusive
/// one repeats it. Only a probe opens the gate: APNs may still accept notifications on older connections or certain
/// device tokens.
package struct LaneGate {
    package static let firstPause = Duration.seconds(15)
    package static let longestPause = Duration.seconds(300)

    package enum Cause: Equatable, Sendable {
        /// APNs refuses the credential, with this reason.
        case credential(RejectionReason)
        /// APNs refuses the topic, with this reason, or the status if it gave no reason.
        case topic(RejectionReason)
        /// APNs refused too many device tokens among the newest responses: the environment is probably wrong.
        case deviceTokens(refused: Int, responses: Int)
        /// A pool has no connection to APNs. Only a connection opens the gate.
        case unreachable

        /// The least that a response must prove to disprove the cause.
        var disproof: ResponseProof {
            switch self {
            case .credential: .credential
            case .topic: .topic
            case .deviceTokens: .token
            case .unreachable: .none
            }
        }
    }

    package struct Pause: Equatable {
        package let cause: Cause
        package let since: Instant
        package var length: Duration
        package var until: Instant
        /// The notification that tests whether APNs still refuses the app.
        package var probe: Handle?
    }

    package private(set) var pause: Pause?

    @inline(__always)
    package var isOpen: Bool {
        // Not `== nil`, which copies and compares the whole pause.
        if case nil = pause { true } else { false }
    }

    /// When the next probe is due; `nil` if the gate is open or a probe is in flight.
    package var nextProbe: Instant? {
        guard let pause, pause.probe == nil else { return nil }
        return pause.until
    }

    package func isProbe(_ handle: Handle) -> Bool {
        pause?.probe == handle
    }

    /// Whether a notification may be sent now. While the gate is closed, it becomes the probe if one is due.
    package mutating func admit(_ handle: Handle, at now: Instant) -> Bool {
        guard admits(at: now) else { return false }
        pause?.probe = handle
        return true
    }

    package func admits(at now: Instant) -> Bool {
        guard let pause else { return true }
        return pause.probe == nil && now >= pause.until
    }

    /// APNs refused the app in its response to a notification. If that was the probe, the pause restarts and is longer;
    /// others were in flight when the gate closed.
    package mutating func refused(_ handle: Handle, _ cause: Cause, at now: Instant) {
        guard let current = pause else { return close(cause, at: now) }
        guard current.probe == handle else { return }
        let length = current.length.doubled(1, atMost: Self.longestPause)
        pause = Pause(cause: cause, since: current.since, length: length, until: now + length)
    }

    /// APNs refuses the app, independent of a notification.
    package mutating func close(_ cause: Cause, at now: Instant) {
        precondition(isOpen, "a gate must not be closed twice")
        pause = Pause(cause: cause, since: now, length: Self.firstPause, until: now + Self.firstPause)
    }

    /// A notification ended without a refusal of the app. A probe opens the gate if `proof`, what its end proves about
    /// the app, is enough; otherwise the pause restarts with the same length.
    package mutating func ended(_ handle: Handle, showing proof: ResponseProof, at now: Instant) {
        guard let current = pause, current.probe == handle else { return }
        guard proof < current.cause.disproof else { return open() }
        pause?.probe = nil
        pause?.until = now + current.length
    }

    package mutating func open() {
        pause = nil
    }

    /// A notification was not sent after all. If it was the probe, another one may be sent.
    package mutating func withdrawn(_ handle: Handle) {
        if pause?.probe == handle { pause?.probe = nil }
    }

    /// The cause of the refusal may have changed: the next probe is due now, and pauses start from the shortest again.
    package mutating func probeSoon(at now: Instant) {
        pause?.length = Self.firstPause
        pause?.until = now
    }
}

extension LaneGate.Cause: CustomStringConvertible {
    package var description: String {
        switch self {
        case .credential(let reason), .topic(let reason): reason.rawValue
        case .deviceTokens(let refused, let responses): "\(refused) of the last \(responses) device tokens were refused"
        case .unreachable: "no connection to APNs"
        }
    }
}

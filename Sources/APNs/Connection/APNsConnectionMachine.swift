package import Core

/// The states of a connection: *connecting* (names and TCP) → *handshaking* (TLS and ALPN, then the first SETTINGS) →
/// *ready* → *draining* (open streams end, none begins) → *closed*.
///
/// It is ready only if ALPN agreed on `h2` and the peer's SETTINGS have arrived. It never returns to an earlier state.
package enum APNsConnectionMachine: ~Copyable {
    case connecting
    case handshaking(deadline: Instant, speaksHTTP2: Bool)
    case ready
    case draining(deadline: Instant)
    case closed

    package enum Phase: CaseIterable, Sendable {
        case connecting, handshaking, ready, draining, closed
    }

    /// The engine's action for an input.
    package enum Action: Equatable, Sendable {
        case none
        case startHandshake
        /// The peer does not speak HTTP/2.
        case refuseProtocol
        case announceReady
        /// No stream is open: send GOAWAY and close_notify, then close.
        case closeGracefully
        /// TLS or SETTINGS took too long.
        case giveUpHandshake
        /// Streams are still open at the drain deadline.
        case giveUpDraining
        /// All open streams are lost.
        case loseStreams
    }

    package var phase: Phase {
        switch self {
        case .connecting: .connecting
        case .handshaking: .handshaking
        case .ready: .ready
        case .draining: .draining
        case .closed: .closed
        }
    }

    /// When ``deadlinePassed(at:)`` is due.
    package var deadline: Instant? {
        switch self {
        case .handshaking(let deadline, _): deadline
        case .draining(let deadline): deadline
        case .connecting: nil
        case .ready: nil
        case .closed: nil
        }
    }

    /// Whether bytes from the peer are HTTP/2.
    package var speaksHTTP2: Bool {
        switch self {
        case .handshaking(_, let speaksHTTP2): speaksHTTP2
        case .ready: true
        case .draining: true
        case .connecting: false
        case .closed: false
        }
    }

    package mutating func transportOpened(handshakeDeadline: Instant) -> Action {
        guard case .connecting = phase else {
            precondition(phase == .closed, "a transport opens once")
            return .none
        }
        self = .handshaking(deadline: handshakeDeadline, speaksHTTP2: false)
        return .startHandshake
    }

    /// The TLS handshake is complete.
    package mutating func protocolNegotiated(isHTTP2: Bool) -> Action {
        switch consume self {
        case .handshaking(let deadline, let speaksHTTP2):
            precondition(!speaksHTTP2, "ALPN is reported once")
            self = .handshaking(deadline: deadline, speaksHTTP2: isHTTP2)
            return isHTTP2 ? .none : .refuseProtocol
        case .closed:
            self = .closed
            return .none
        case .connecting: preconditionFailure("there is no handshake without a transport")
        case .ready: preconditionFailure("ALPN is reported during the handshake")
        case .draining: preconditionFailure("ALPN is reported during the handshake")
        }
    }

    package mutating func settingsReceived() -> Action {
        switch consume self {
        case .handshaking(_, let speaksHTTP2):
            precondition(speaksHTTP2, "SETTINGS must follow ALPN")
            self = .ready
            return .announceReady
        case .ready: self = .ready
        case .draining(let deadline): self = .draining(deadline: deadline)
        case .closed: self = .closed
        case .connecting: preconditionFailure("nothing arrives before the transport is open")
        }
        return .none
    }

    /// The peer has sent GOAWAY.
    package mutating func goawayReceived(drainDeadline: Instant) -> Action {
        precondition(phase != .connecting, "nothing arrives before the transport is open")
        return drain(until: drainDeadline)
    }

    /// Ends this connection, because another one replaces it.
    package mutating func retire(drainDeadline: Instant) -> Action {
        drain(until: drainDeadline)
    }

    private mutating func drain(until deadline: Instant) -> Action {
        switch consume self {
        case .ready: self = .draining(deadline: deadline)
        case .handshaking(_, let speaksHTTP2):
            guard speaksHTTP2 else {
                self = .closed
                return .loseStreams
            }
            self = .draining(deadline: deadline)
        case .connecting:
            self = .closed
            return .loseStreams
        case .draining(let earlier): self = .draining(deadline: earlier)
        case .closed: self = .closed
        }
        return .none
    }

    /// No stream is open.
    package mutating func streamsEnded() -> Action {
        guard phase == .draining else { return .none }
        self = .closed
        return .closeGracefully
    }

    package mutating func deadlinePassed(at now: Instant) -> Action {
        guard let deadline, deadline <= now else { return .none }
        let action = phase == .draining ? Action.giveUpDraining : .giveUpHandshake
        self = .closed
        return action
    }

    /// TLS, HTTP/2 or the transport has failed, or the peer has closed.
    package mutating func failed() -> Action {
        guard phase != .closed else { return .none }
        self = .closed
        return .loseStreams
    }
}

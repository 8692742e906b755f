package import Core

/// The states of a connection: *connecting* (names and TCP) → *handshaking* (TLS and ALPN, then the first SETTINGS) →
/// *ready* → *draining* (open streams end, none begins) → *closed*.
///
/// It is ready only if ALPN agreed on `h2` and the peer's SETTINGS have arrived. It never returns to an earlier state.
package struct APNsConnectionMachine {
    package enum Phase: CaseIterable, Comparable, Sendable {
        case connecting, handshaking, ready, draining, closed
    }

    package enum Action: Equatable, Sendable {
        case none
        case startHandshake
        case announceReady
        /// No stream is open: send GOAWAY and close_notify, then close.
        case closeGracefully
        case giveUpHandshake
        case giveUpDraining
        case loseStreams
    }

    package private(set) var phase = Phase.connecting
    /// When ``deadlinePassed(at:)`` is due.
    package private(set) var deadline: Instant?
    /// Whether bytes from the peer are HTTP/2.
    package private(set) var speaksHTTP2 = false

    package init() {}

    package mutating func transportOpened(handshakeDeadline: Instant) -> Action {
        guard phase == .connecting else {
            precondition(phase == .closed, "a transport opens once")
            return .none
        }
        phase = .handshaking
        deadline = handshakeDeadline
        return .startHandshake
    }

    /// TLS has agreed on HTTP/2.
    package mutating func protocolNegotiated() {
        precondition(phase == .handshaking && !speaksHTTP2, "ALPN is reported once, during the handshake")
        speaksHTTP2 = true
    }

    package mutating func settingsReceived() -> Action {
        precondition(phase == .closed || speaksHTTP2, "SETTINGS must follow ALPN")
        guard phase == .handshaking else { return .none }
        phase = .ready
        deadline = nil
        return .announceReady
    }

    /// Ends this connection, because another one replaces it or APNs has sent GOAWAY.
    package mutating func retire(drainDeadline: Instant) -> Action {
        guard phase != .draining, phase != .closed else { return .none }
        guard speaksHTTP2 else { return close(.loseStreams) }
        phase = .draining
        deadline = drainDeadline
        return .none
    }

    package mutating func streamsEnded() -> Action {
        phase == .draining ? close(.closeGracefully) : .none
    }

    package mutating func deadlinePassed(at now: Instant) -> Action {
        guard let deadline, deadline <= now else { return .none }
        return close(phase == .draining ? .giveUpDraining : .giveUpHandshake)
    }

    /// TLS, HTTP/2 or the transport has failed, or the peer has closed.
    package mutating func failed() -> Action {
        phase == .closed ? .none : close(.loseStreams)
    }

    private mutating func close(_ action: Action) -> Action {
        phase = .closed
        deadline = nil
        speaksHTTP2 = false
        return action
    }
}

/// The state machine of one connection with one channel, from the protocol header to the close.
///
/// Invariant: ``canPublish`` is true only on an open channel that is not blocked.
struct AMQPConnectionMachine: Equatable {
    enum State: Equatable {
        case connecting
        case awaitingStart
        case awaitingTune
        case awaitingOpen
        case awaitingChannel
        case awaitingConfirms
        case open
        case closing
        case closed
    }

    enum Action: Equatable {
        case sendProtocolHeader
        case sendStartOk
        /// Both are sent together: the broker answers the second.
        case sendTuneOkAndOpen
        case openChannel
        case selectConfirms
        case announceOpen
        case sendClose
        case sendCloseOk
        case disconnect
        /// The peer's method is not valid in this state.
        case refuse
        case ignore
    }

    private(set) var state = State.connecting
    var isBlocked = false
    private let confirms: Bool

    init(confirms: Bool) {
        self.confirms = confirms
    }

    var isOpen: Bool { state == .open }
    var canPublish: Bool { state == .open && confirms && !isBlocked }

    mutating func transportOpened() -> Action {
        advance(from: .connecting, to: .awaitingStart, .sendProtocolHeader)
    }

    mutating func startReceived() -> Action {
        advance(from: .awaitingStart, to: .awaitingTune, .sendStartOk)
    }

    mutating func tuneReceived() -> Action {
        advance(from: .awaitingTune, to: .awaitingOpen, .sendTuneOkAndOpen)
    }

    mutating func openOkReceived() -> Action {
        advance(from: .awaitingOpen, to: .awaitingChannel, .openChannel)
    }

    mutating func channelOpenOkReceived() -> Action {
        confirms
            ? advance(from: .awaitingChannel, to: .awaitingConfirms, .selectConfirms)
            : advance(from: .awaitingChannel, to: .open, .announceOpen)
    }

    mutating func confirmSelectOkReceived() -> Action {
        advance(from: .awaitingConfirms, to: .open, .announceOpen)
    }

    /// The broker closed the channel, which must be reopened.
    mutating func channelLost() -> Action {
        advance(from: .open, to: .awaitingChannel, .openChannel)
    }

    mutating func close() -> Action {
        switch state {
        case .awaitingChannel, .awaitingConfirms, .open:
            state = .closing
            return .sendClose
        case .connecting, .awaitingStart, .awaitingTune, .awaitingOpen:
            state = .closed
            return .disconnect
        case .closing, .closed: return .ignore
        }
    }

    mutating func closeReceived() -> Action {
        guard state != .closed else { return .ignore }
        state = .closed
        return .sendCloseOk
    }

    mutating func closeOkReceived() -> Action {
        advance(from: .closing, to: .closed, .disconnect)
    }

    /// The transport was lost, or its bytes are invalid.
    mutating func failed() {
        state = .closed
    }

    private mutating func advance(from expected: State, to next: State, _ action: Action) -> Action {
        guard state == expected else {
            // Methods that the broker sent before it received our close are ignored.
            return state == .closing || state == .closed ? .ignore : .refuse
        }
        state = next
        return action
    }
}

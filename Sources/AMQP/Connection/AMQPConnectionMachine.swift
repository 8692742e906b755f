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

    /// An event that is valid in one state.
    enum Input {
        case transportOpened
        case start
        case tune
        case openOk
        case channelOpenOk
        case confirmSelectOk
        /// The broker closed the channel, which must be reopened.
        case channelLost
        case closeOk
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

    mutating func take(_ input: Input) -> Action {
        let transition: (from: State, to: State, action: Action) =
            switch input {
            case .transportOpened: (.connecting, .awaitingStart, .sendProtocolHeader)
            case .start: (.awaitingStart, .awaitingTune, .sendStartOk)
            case .tune: (.awaitingTune, .awaitingOpen, .sendTuneOkAndOpen)
            case .openOk: (.awaitingOpen, .awaitingChannel, .openChannel)
            case .channelOpenOk where confirms: (.awaitingChannel, .awaitingConfirms, .selectConfirms)
            case .channelOpenOk: (.awaitingChannel, .open, .announceOpen)
            case .confirmSelectOk: (.awaitingConfirms, .open, .announceOpen)
            case .channelLost: (.open, .awaitingChannel, .openChannel)
            case .closeOk: (.closing, .closed, .disconnect)
            }
        guard state == transition.from else {
            // Methods that the broker sent before it received our close are ignored.
            return state == .closing || state == .closed ? .ignore : .refuse
        }
        state = transition.to
        return transition.action
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

    /// The transport was lost, or its bytes are invalid.
    mutating func failed() {
        state = .closed
    }
}

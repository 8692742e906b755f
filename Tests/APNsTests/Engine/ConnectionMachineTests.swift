import APNs
import Core
import Testing

@Suite("APNsConnectionMachine")
struct ConnectionMachineTests {
    typealias Machine = APNsConnectionMachine

    enum State: CaseIterable, Sendable {
        case connecting, handshaking, speaking, ready, draining, closed

        func machine() -> Machine {
            var machine = Machine()
            if self == .connecting { return machine }
            _ = machine.transportOpened(handshakeDeadline: .seconds(10))
            if self == .handshaking { return machine }
            machine.protocolNegotiated()
            if self == .speaking { return machine }
            _ = machine.settingsReceived()
            if self == .ready { return machine }
            _ = self == .draining ? machine.retire(drainDeadline: .seconds(10)) : machine.failed()
            return machine
        }
    }

    static let inputs: [(name: String, apply: @Sendable (inout Machine) -> Machine.Action)] = [
        ("transport opened", { $0.transportOpened(handshakeDeadline: .seconds(20)) }),
        ("SETTINGS", { $0.settingsReceived() }),
        ("retire", { $0.retire(drainDeadline: .seconds(20)) }),
        ("streams ended", { $0.streamsEnded() }),
        ("before the deadline", { $0.deadlinePassed(at: .seconds(9.999)) }),
        ("at the deadline", { $0.deadlinePassed(at: .seconds(10)) }),
        ("failed", { $0.failed() }),
    ]

    /// Each input's action and next phase in each ``State``; `–` if nothing changes, `·` if it cannot come there.
    static let transitions = [
        "transport opened": "startHandshake handshaking, ·, ·, ·, ·, –",
        "SETTINGS": "·, ·, announceReady ready, –, –, –",
        "retire": "loseStreams closed, loseStreams closed, draining, draining, –, –",
        "streams ended": "–, –, –, –, closeGracefully closed, –",
        "before the deadline": "–, –, –, –, –, –",
        "at the deadline": "–, giveUpHandshake closed, giveUpHandshake closed, –, giveUpDraining closed, –",
        "failed":
            "loseStreams closed, loseStreams closed, loseStreams closed, loseStreams closed, loseStreams closed, –",
    ]

    @Test("Each input has its action and next phase in each state", arguments: inputs.indices)
    func transition(row: Int) throws {
        let input = Self.inputs[row]
        let expected = try #require(Self.transitions[input.name]).split(separator: ", ")
        try #require(expected.count == State.allCases.count)
        for (state, expected) in zip(State.allCases, expected) where expected != "·" {
            var machine = state.machine()
            let before = machine.phase
            let action = input.apply(&machine)
            var found = action == .none ? [] : ["\(action)"]
            if action != .none || machine.phase != before { found.append("\(machine.phase)") }
            #expect((found.isEmpty ? "–" : found.joined(separator: " ")) == expected, "\(input.name) in \(state)")
        }
    }

    @Test("A second GOAWAY does not extend the drain deadline")
    func drainDeadlineStays() {
        var machine = State.draining.machine()
        _ = machine.retire(drainDeadline: .seconds(99))
        #expect(machine.deadline == .seconds(10))
    }

    @Test("It speaks HTTP/2 from the ALPN agreement until it is closed")
    func speaksHTTP2() {
        let speaking = State.allCases.filter { $0.machine().speaksHTTP2 }
        #expect(speaking == [.speaking, .ready, .draining])
    }
}

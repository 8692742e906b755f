import APNs
import Core
import Testing

@Suite("APNsConnectionMachine")
struct ConnectionMachineTests {
    typealias Action = APNsConnectionMachine.Action
    typealias Phase = APNsConnectionMachine.Phase

    enum State: CaseIterable, Sendable {
        case connecting, handshaking, speaking, ready, draining, closed

        func machine() -> APNsConnectionMachine {
            var machine = APNsConnectionMachine()
            if self == .connecting { return machine }
            _ = machine.transportOpened(handshakeDeadline: .seconds(10))
            if self == .handshaking { return machine }
            _ = machine.protocolNegotiated(isHTTP2: true)
            if self == .speaking { return machine }
            _ = machine.settingsReceived()
            if self == .ready { return machine }
            _ = self == .draining ? machine.retire(drainDeadline: .seconds(10)) : machine.failed()
            return machine
        }
    }

    enum Input: Sendable, CaseIterable {
        case transportOpened, agreed, disagreed, settings, goaway, retire, streamsEnded, early, late, failed

        func apply(to machine: inout APNsConnectionMachine) -> Action {
            switch self {
            case .transportOpened: machine.transportOpened(handshakeDeadline: .seconds(20))
            case .agreed: machine.protocolNegotiated(isHTTP2: true)
            case .disagreed: machine.protocolNegotiated(isHTTP2: false)
            case .settings: machine.settingsReceived()
            case .goaway: machine.goawayReceived(drainDeadline: .seconds(20))
            case .retire: machine.retire(drainDeadline: .seconds(20))
            case .streamsEnded: machine.streamsEnded()
            case .early: machine.deadlinePassed(at: .seconds(9.999))
            case .late: machine.deadlinePassed(at: .seconds(10))
            case .failed: machine.failed()
            }
        }
    }

    static let table: [(State, Input, Action, Phase)] = [
        (.connecting, .transportOpened, .startHandshake, .handshaking),
        (.connecting, .retire, .loseStreams, .closed),
        (.connecting, .streamsEnded, .none, .connecting),
        (.connecting, .early, .none, .connecting),
        (.connecting, .late, .none, .connecting),
        (.connecting, .failed, .loseStreams, .closed),
        (.handshaking, .agreed, .none, .handshaking),
        (.handshaking, .disagreed, .refuseProtocol, .handshaking),
        (.handshaking, .retire, .loseStreams, .closed),
        (.handshaking, .streamsEnded, .none, .handshaking),
        (.handshaking, .early, .none, .handshaking),
        (.handshaking, .late, .giveUpHandshake, .closed),
        (.handshaking, .failed, .loseStreams, .closed),
        (.speaking, .settings, .announceReady, .ready),
        (.speaking, .goaway, .none, .draining),
        (.speaking, .retire, .none, .draining),
        (.speaking, .streamsEnded, .none, .handshaking),
        (.speaking, .early, .none, .handshaking),
        (.speaking, .late, .giveUpHandshake, .closed),
        (.speaking, .failed, .loseStreams, .closed),
        (.ready, .settings, .none, .ready),
        (.ready, .goaway, .none, .draining),
        (.ready, .retire, .none, .draining),
        (.ready, .streamsEnded, .none, .ready),
        (.ready, .early, .none, .ready),
        (.ready, .late, .none, .ready),
        (.ready, .failed, .loseStreams, .closed),
        (.draining, .settings, .none, .draining),
        (.draining, .goaway, .none, .draining),
        (.draining, .retire, .none, .draining),
        (.draining, .streamsEnded, .closeGracefully, .closed),
        (.draining, .early, .none, .draining),
        (.draining, .late, .giveUpDraining, .closed),
        (.draining, .failed, .loseStreams, .closed),
        (.closed, .transportOpened, .none, .closed),
        (.closed, .agreed, .none, .closed),
        (.closed, .settings, .none, .closed),
        (.closed, .goaway, .none, .closed),
        (.closed, .retire, .none, .closed),
        (.closed, .streamsEnded, .none, .closed),
        (.closed, .early, .none, .closed),
        (.closed, .late, .none, .closed),
        (.closed, .failed, .none, .closed),
    ]

    @Test("Each input has its action and next phase in each state", arguments: table.indices)
    func transition(row: Int) {
        let (state, input, action, phase) = Self.table[row]
        var machine = state.machine()
        let found = input.apply(to: &machine)
        #expect(found == action)
        #expect(machine.phase == phase)
    }

    @Test("A second GOAWAY does not extend the drain deadline")
    func drainDeadlineStays() {
        var machine = State.draining.machine()
        _ = machine.goawayReceived(drainDeadline: .seconds(99))
        #expect(machine.deadline == .seconds(10))
    }

    @Test("It speaks HTTP/2 from the ALPN agreement until it is closed")
    func speaksHTTP2() {
        let speaking = State.allCases.filter { $0.machine().speaksHTTP2 }
        #expect(speaking == [.speaking, .ready, .draining])
    }
}

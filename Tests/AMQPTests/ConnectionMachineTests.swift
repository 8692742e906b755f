import TestSupport
import Testing

@testable import AMQP

@Suite("Connection machine")
struct ConnectionMachineTests {
    typealias Machine = ConnectionMachine

    static let inputs: [(name: String, apply: @Sendable (inout Machine) -> Machine.Action)] = [
        ("transport opened", { $0.transportOpened() }),
        ("start", { $0.startReceived() }),
        ("tune", { $0.tuneReceived() }),
        ("open-ok", { $0.openOkReceived() }),
        ("channel open-ok", { $0.channelOpenOkReceived() }),
        ("confirm select-ok", { $0.confirmSelectOkReceived() }),
        ("channel lost", { $0.channelLost() }),
        ("close-ok", { $0.closeOkReceived() }),
    ]

    /// A machine in each state, with the inputs that lead there.
    static func machines(confirms: Bool) -> [Machine] {
        var machine = Machine(confirms: confirms)
        var machines = [machine]
        for input in inputs.prefix(confirms ? 6 : 5) {
            _ = input.apply(&machine)
            machines.append(machine)
        }
        _ = machine.close()
        machines.append(machine)
        _ = machine.closeOkReceived()
        machines.append(machine)
        return machines
    }

    @Test(
        "Each broker input is valid in one state, ignored at the end and refused elsewhere",
        arguments: [false, true])
    func everyStateAndInput(confirms: Bool) {
        for machine in Self.machines(confirms: confirms) {
            for input in Self.inputs {
                var next = machine
                let action = input.apply(&next)
                let expected: (Machine.State, Machine.Action)? =
                    switch (input.name, machine.state) {
                    case ("transport opened", .connecting): (.awaitingStart, .sendProtocolHeader)
                    case ("start", .awaitingStart): (.awaitingTune, .sendStartOk)
                    case ("tune", .awaitingTune): (.awaitingOpen, .sendTuneOkAndOpen)
                    case ("open-ok", .awaitingOpen): (.awaitingChannel, .openChannel)
                    case ("channel open-ok", .awaitingChannel) where confirms: (.awaitingConfirms, .selectConfirms)
                    case ("channel open-ok", .awaitingChannel): (.open, .announceOpen)
                    case ("confirm select-ok", .awaitingConfirms): (.open, .announceOpen)
                    case ("channel lost", .open): (.awaitingChannel, .openChannel)
                    case ("close-ok", .closing): (.closed, .disconnect)
                    default: nil
                    }
                let isEnding = machine.state == .closing || machine.state == .closed
                #expect(next.state == expected?.0 ?? machine.state, "\(input.name) in \(machine.state)")
                #expect(
                    action == expected?.1 ?? (isEnding ? .ignore : .refuse), "\(input.name) in \(machine.state)")
            }
        }
    }

    @Test("A close is sent once the broker can reply to it; before that, the transport is closed")
    func close() {
        for machine in Self.machines(confirms: true) {
            var next = machine
            let expected: Machine.Action =
                switch machine.state {
                case .connecting, .awaitingStart, .awaitingTune, .awaitingOpen: .disconnect
                case .awaitingChannel, .awaitingConfirms, .open: .sendClose
                case .closing, .closed: .ignore
                }
            #expect(next.close() == expected)
            #expect(next.close() == .ignore)
            var closed = machine
            #expect(closed.closeReceived() == (machine.state == .closed ? .ignore : .sendCloseOk))
            #expect(closed.state == .closed)
        }
    }

    @Test("Publishing is possible only on an open channel with confirms that is not blocked")
    func law() {
        for confirms in [false, true] {
            for machine in Self.machines(confirms: confirms) {
                var machine = machine
                #expect(machine.canPublish == (confirms && machine.state == .open))
                machine.blockedReceived()
                #expect(!machine.canPublish)
                machine.unblockedReceived()
                #expect(machine.canPublish == (confirms && machine.state == .open))
            }
        }
    }

    // MARK: The page

    static let chart: StateChart = {
        let states = machines(confirms: true)
        // Blocked is not a state of its machine: it can change in all of them.
        let ends: [(name: String, apply: @Sendable (inout Machine) -> Machine.Action)] = [
            ("we close", { $0.close() }), ("close", { $0.closeReceived() }),
            (
                "failed",
                {
                    $0.failed()
                    return .ignore
                }
            ),
        ]
        let all = inputs + ends
        return StateChart(states: states.map { "\($0.state)" }, inputs: all.map(\.name)) { state, input in
            var machine = states[state]
            let action = all[input].apply(&machine)
            return .goes(action: action == .ignore ? nil : "\(action)", next: "\(machine.state)")
        }
    }()

    @Test("The page of states lists each state with its inputs and exits, as a table and as a diagram")
    func page() throws {
        let page = try DocumentationPage("internals/states.md")
        for lines in [Self.chart.table, Self.chart.drawing] {
            #expect(page.has(lines), "docs/internals/states.md lacks\n\(lines.joined(separator: "\n"))")
        }
        #expect(Self.chart.everyStateHasAnExit)
    }
}

import Testing

@testable import AMQP

@Suite("Connection machine")
struct ConnectionMachineTests {
    typealias Machine = AMQPConnectionMachine

    static let inputs: [(name: String, apply: @Sendable (inout Machine) -> Machine.Action)] = [
        ("transport opened", { $0.take(.transportOpened) }),
        ("start", { $0.take(.start) }),
        ("tune", { $0.take(.tune) }),
        ("open-ok", { $0.take(.openOk) }),
        ("channel open-ok", { $0.take(.channelOpenOk) }),
        ("confirm select-ok", { $0.take(.confirmSelectOk) }),
        ("channel lost", { $0.take(.channelLost) }),
        ("close-ok", { $0.take(.closeOk) }),
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
        _ = machine.take(.closeOk)
        machines.append(machine)
        return machines
    }

    @Test(
        "Each broker input is valid in one state, ignored at the end and refused elsewhere", arguments: [false, true])
    func everyStateAndInput(confirms: Bool) {
        for machine in Self.machines(confirms: confirms) {
            #expect(machine.canPublish == (confirms && machine.state == .open))
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
                #expect(action == expected?.1 ?? (isEnding ? .ignore : .refuse), "\(input.name) in \(machine.state)")
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
            #expect(next.state == (expected == .sendClose || machine.state == .closing ? .closing : .closed))
            #expect(next.close() == .ignore)
            var closed = machine
            #expect(closed.closeReceived() == (machine.state == .closed ? .ignore : .sendCloseOk))
            #expect(closed.state == .closed)
            var failed = machine
            failed.failed()
            #expect(failed.state == .closed)
        }
    }
}

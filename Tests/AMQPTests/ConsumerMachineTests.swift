import Core
import Testing

@testable import AMQP

@Suite("ConsumerMachine")
struct ConsumerMachineTests {
    typealias Machine = ConsumerMachine
    static let later = Instant(nanoseconds: 10_000_000_000)

    /// A machine in each state, with the inputs that lead there.
    static let states: [(name: String, machine: Machine)] = {
        let opening = Machine()
        func after(_ machine: Machine, _ inputs: (inout Machine) -> Void) -> Machine {
            var machine = machine
            inputs(&machine)
            return machine
        }
        let stopped = after(opening) { _ = $0.channelOpened(isWanted: false) }
        let subscribing = after(stopped) { _ = $0.resume() }
        let consuming = after(subscribing) { _ = $0.consumeOkReceived() }
        let lost = after(consuming) { _ = $0.cancelReceived() }
        return [
            ("opening", opening), ("stopped", stopped), ("subscribing", subscribing),
            ("stopping", after(subscribing) { _ = $0.stop() }), ("replacing", after(subscribing) { _ = $0.renew() }),
            ("consuming", consuming),
            ("cancelling", after(consuming) { _ = $0.stop() }), ("renewing", after(consuming) { _ = $0.renew() }),
            ("cancelled", lost), ("closing", after(lost) { _ = $0.cancelOkReceived() }),
            ("closed", after(consuming) { $0.channelClosed(retryAt: ConsumerMachineTests.later) }),
        ]
    }()

    static let inputs: [(name: String, apply: @Sendable (inout Machine) -> Machine.Action)] = [
        ("channel opened", { $0.channelOpened(isWanted: true) }), ("consume-ok", { $0.consumeOkReceived() }),
        ("cancel", { $0.cancelReceived() }), ("cancel-ok", { $0.cancelOkReceived() }),
        (
            "channel closed",
            {
                $0.channelClosed(retryAt: ConsumerMachineTests.later)
                return .none
            }
        ),
        ("stop", { $0.stop() }), ("resume", { $0.resume() }), ("prefetch changed", { $0.renew() }),
        ("deadline passed", { $0.deadlinePassed(at: ConsumerMachineTests.later) }),
    ]

    /// Each input's action and next state in the states of ``states``; `–` if nothing changes. Without an action the
    /// next state stands alone.
    static let transitions = [
        "channel opened": "subscribe subscribing, –, –, –, –, –, –, –, –, –, –",
        "consume-ok": "–, –, announceConsuming consuming, cancel cancelling, cancel renewing, –, –, –, –, –, –",
        "cancel":
            "–, –, cancel cancelled, cancel cancelled, cancel cancelled, cancel cancelled, cancelled, cancelled, –, –, –",
        "cancel-ok": "–, –, –, –, –, –, announceCancelled stopped, subscribe subscribing, closeChannel closing, –, –",
        "channel closed": "closed, closed, closed, closed, closed, closed, closed, closed, closed, closed, –",
        "stop": "–, –, stopping, –, stopping, cancel cancelling, –, cancelling, –, –, –",
        "resume": "–, subscribe subscribing, –, replacing, –, –, renewing, –, –, –, –",
        "prefetch changed": "–, –, replacing, –, –, cancel renewing, –, –, –, –, –",
        "deadline passed": "–, –, –, –, –, –, –, –, –, –, openChannel opening",
    ]

    @Test("Each input has its action and next state in each state", arguments: inputs.indices)
    func transition(row: Int) {
        let input = Self.inputs[row]
        let found = Self.states.map { state in
            var machine = state.machine
            let action = input.apply(&machine)
            let next = Self.states.first { $0.machine == machine }?.name ?? "\(machine.state)"
            if action == .none { return next == state.name ? "–" : next }
            return next == state.name ? "\(action)" : "\(action) \(next)"
        }
        #expect(found.joined(separator: ", ") == Self.transitions[input.name])
    }

    @Test("It has a deadline only in the state in which it waits")
    func deadline() {
        for (name, machine) in Self.states {
            #expect(machine.deadline == (name == "closed" ? Self.later : nil), "\(name)")
            var early = machine
            let action = early.deadlinePassed(at: Instant(nanoseconds: Self.later.nanoseconds - 1))
            #expect(action == .none && early == machine, "\(name)")
        }
    }
}

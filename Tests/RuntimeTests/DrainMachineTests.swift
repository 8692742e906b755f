import Core
import Testing

@testable import Runtime

@Suite("Drain machine")
struct DrainMachineTests {
    private static let start = Instant(nanoseconds: 0)

    @Test("It begins once, and its stages only advance")
    func stages() {
        var drain = DrainMachine()
        #expect(drain.stage == .running)
        #expect(drain.deadline == nil)
        #expect(!drain.isOver(at: .distantFuture))
        #expect(drain.start(deadline: Self.start + .seconds(30)) == true)
        #expect(drain.start(deadline: Self.start + .seconds(90)) == false)
        #expect(drain.stage == .finishing)
        #expect(drain.deadline == Self.start + .seconds(30))
        drain.settled(at: Self.start + .seconds(10))
        #expect(drain.stage == .flushing)
        drain.flushed(at: Self.start + .seconds(11))
        #expect(drain.stage == .closing)
        #expect(drain.start(deadline: Self.start) == false)
        drain.closed()
        #expect(drain.stage == .ended)
        #expect(drain.deadline == nil)
        #expect(drain.start(deadline: Self.start) == false)
        let stages: [DrainMachine.Stage] = [.running, .finishing, .flushing, .closing, .ended]
        #expect(stages == stages.sorted())
    }

    @Test(
        "Each stage has a deadline: the drain's, shorter if the broker does not respond, then that of an orderly close"
    )
    func deadlines() {
        var drain = DrainMachine()
        _ = drain.start(deadline: Self.start + .seconds(30))
        #expect(!drain.isOver(at: Self.start + .seconds(29)))
        #expect(drain.isOver(at: Self.start + .seconds(30)))
        drain.settled(at: Self.start + .seconds(28))
        #expect(drain.deadline == Self.start + .seconds(30))
        drain.flushed(at: Self.start + .seconds(30))
        #expect(!drain.isOver(at: Self.start + .seconds(34)))
        #expect(drain.isOver(at: Self.start + .seconds(30) + DrainMachine.closeTimeout))

        var early = DrainMachine()
        _ = early.start(deadline: Self.start + .seconds(3600))
        early.settled(at: Self.start + .seconds(1))
        #expect(early.deadline == Self.start + .seconds(1) + DrainMachine.closeTimeout)
    }

    @Test("It can end at any time")
    func stop() {
        var drain = DrainMachine()
        drain.closed()
        #expect(drain.stage == .ended)
    }
}

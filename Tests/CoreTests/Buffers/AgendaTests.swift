import Core
import Testing

@Suite("Agenda")
struct AgendaTests {
    private func takeWoken(_ agenda: inout Agenda) -> [Int] {
        agenda.takeWoken()
        return agenda.taken
    }

    private func instant(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test("a member is woken once, in the order of the calls")
    func wakes() {
        var agenda = Agenda()
        for member in [3, 1, 3] { agenda.waker(of: member).wake() }
        #expect(agenda.nextDeadline == .distantPast)
        #expect(takeWoken(&agenda) == [3, 1])
        #expect(takeWoken(&agenda).isEmpty)
        #expect(agenda.nextDeadline == nil)
    }

    @Test("an expired deadline wakes its member and is forgotten")
    func expires() {
        var agenda = Agenda()
        agenda.schedule(0, at: instant(5))
        agenda.schedule(1, at: instant(3))
        #expect(agenda.nextDeadline == instant(3))
        #expect(agenda.popDue(at: instant(2)) == nil)
        #expect(agenda.popDue(at: instant(3)) == 1)
        #expect(agenda.popDue(at: instant(3)) == nil)
        #expect(takeWoken(&agenda) == [1])
        #expect(agenda.nextDeadline == instant(5))
    }

    @Test("due are the woken members and those whose deadline has passed, once")
    func due() {
        var agenda = Agenda()
        agenda.wake(2)
        for member in 0..<2 { agenda.schedule(member, at: instant(Int64(member))) }
        for expected in [[2, 0], []] {
            agenda.takeDue(at: instant(0))
            #expect(agenda.taken == expected)
        }
        #expect(agenda.nextDeadline == instant(1))
    }

    @Test("a removed member is neither woken nor due")
    func removes() {
        var agenda = Agenda()
        agenda.wake(0)
        agenda.schedule(0, at: instant(1))
        agenda.remove(0)
        #expect(agenda.nextDeadline == nil)
        #expect(agenda.popDue(at: instant(9)) == nil)
        #expect(takeWoken(&agenda).isEmpty)
        agenda.wake(0)
        #expect(takeWoken(&agenda) == [0])
    }

    @Test("in any sequence of schedules, moves and removals, the earliest member is due first", arguments: 0..<50)
    func agreesWithAList(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var agenda = Agenda()
        var expected: [Int: Instant] = [:]
        for _ in 0..<400 {
            let member = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let deadline = instant(.random(in: 0..<1000, using: &random))
                agenda.schedule(member, at: deadline)
                expected[member] = deadline
            case 2:
                agenda.remove(member)
                expected[member] = nil
            default:
                let now = instant(.random(in: 0..<1000, using: &random))
                guard let due = agenda.popDue(at: now) else {
                    #expect(expected.values.allSatisfy { $0 > now })
                    break
                }
                #expect(expected.removeValue(forKey: due).map { $0 <= now } == true)
                _ = takeWoken(&agenda)
            }
            guard agenda.nextDeadline == expected.values.min() else {
                Issue.record("after seed \(seed) the earliest is \(String(describing: agenda.nextDeadline))")
                return
            }
        }
    }
}

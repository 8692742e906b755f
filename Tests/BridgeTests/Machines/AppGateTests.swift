import Core
import Testing

@testable import Bridge

@Suite("App gate")
struct AppGateTests {
    private static let start = Instant(nanoseconds: 0)
    private static let cause = RejectionReason(rawValue: "TopicMismatch")

    @Test("An open gate lets everything through")
    func open() {
        var gate = AppGate()
        for handle: UInt32 in 0..<10 { #expect(gate.admit(handle, at: Self.start) == true) }
        #expect(gate.isOpen)
        #expect(gate.nextProbe == nil)
        #expect(gate.answered() == false)
        #expect(gate.lost(1) == false)
    }

    @Test("A refusal closes it for 15 s, each refused probe doubles that, up to five minutes")
    func pauses() {
        var gate = AppGate()
        var now = Self.start
        var pauses: [Duration] = []
        #expect(gate.refused(0, Self.cause, at: now) == .closes)
        for handle: UInt32 in 1...8 {
            guard let due = gate.nextProbe else { break }
            pauses.append(due - now)
            #expect(gate.admit(handle, at: due + .nanoseconds(-1)) == false)
            #expect(gate.admit(handle, at: due) == true)
            #expect(gate.nextProbe == nil)
            now = due
            #expect(gate.refused(handle, Self.cause, at: now) == .prolongs)
        }
        #expect(pauses == [15, 30, 60, 120, 240, 300, 300, 300].map { .seconds($0) })
        #expect(gate.pause?.cause == Self.cause)
    }

    @Test("What was in flight when it closed neither lengthens the pause nor ends the probe")
    func stragglers() {
        var gate = AppGate()
        _ = gate.refused(0, Self.cause, at: Self.start)
        #expect(gate.refused(1, Self.cause, at: Self.start) == .repeats)
        let due = Self.start + AppGate.firstPause
        #expect(gate.admit(7, at: due) == true)
        #expect(gate.refused(2, Self.cause, at: due) == .repeats)
        #expect(gate.lost(3) == false)
        #expect(gate.admit(8, at: due) == false)
        #expect(gate.pause?.length == AppGate.firstPause)
    }

    @Test("Another probe may go at once when one is lost")
    func lost() {
        var gate = AppGate()
        _ = gate.refused(0, Self.cause, at: Self.start)
        let due = Self.start + AppGate.firstPause
        #expect(gate.admit(7, at: due) == true)
        #expect(gate.lost(7) == true)
        #expect(gate.nextProbe == due)
        #expect(gate.admit(8, at: due) == true)
    }

    @Test("Any other answer opens it, and the next refusal begins with the first pause again")
    func answered() {
        var gate = AppGate()
        _ = gate.refused(0, Self.cause, at: Self.start)
        _ = gate.admit(1, at: Self.start + .seconds(15))
        _ = gate.refused(1, Self.cause, at: Self.start + .seconds(15))
        #expect(gate.answered() == true)
        #expect(gate.isOpen)
        let now = Self.start + .seconds(20)
        #expect(gate.refused(2, Self.cause, at: now) == .closes)
        #expect(gate.nextProbe == now + AppGate.firstPause)
    }

    @Test("In random walks at most one probe is under way, and never before its time")
    func randomWalks() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            var gate = AppGate()
            var now = Self.start
            var inFlight: Set<UInt32> = []
            var probe: UInt32?
            var next: UInt32 = 0
            for _ in 0..<200 {
                now = now + .seconds(Int.random(in: 0...20, using: &random))
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    let wasOpen = gate.isOpen
                    let due = gate.nextProbe
                    guard gate.admit(next, at: now) else { continue }
                    inFlight.insert(next)
                    if !wasOpen {
                        #expect(probe == nil, "seed \(seed)")
                        #expect(due.map { $0 <= now } == true, "seed \(seed)")
                        probe = next
                    }
                    next += 1
                case 5..<8:
                    guard let handle = inFlight.sorted().randomElement(using: &random) else { continue }
                    inFlight.remove(handle)
                    let refusal = gate.refused(handle, Self.cause, at: now)
                    #expect((refusal == .prolongs) == (probe == handle), "seed \(seed)")
                    #expect(!gate.isOpen, "seed \(seed)")
                    if probe == handle { probe = nil }
                case 8:
                    guard let handle = inFlight.sorted().randomElement(using: &random) else { continue }
                    inFlight.remove(handle)
                    #expect(gate.lost(handle) == (probe == handle), "seed \(seed)")
                    if probe == handle { probe = nil }
                default:
                    guard let handle = inFlight.sorted().randomElement(using: &random) else { continue }
                    inFlight.remove(handle)
                    _ = gate.answered()
                    #expect(gate.isOpen, "seed \(seed)")
                    probe = nil
                }
            }
        }
    }
}

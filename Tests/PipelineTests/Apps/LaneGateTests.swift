import Core
import TestSupport
import Testing

@testable import Pipeline

@Suite("Lane gate")
struct LaneGateTests {
    private static let start = Instant(nanoseconds: 0)
    private static let cause = LaneGate.Cause.topic(RejectionReason(rawValue: "TopicMismatch"))
    private static let credential = LaneGate.Cause.credential(RejectionReason(rawValue: "BadCertificate"))
    private static let tokens = LaneGate.Cause.deviceTokens(refused: 50, responses: 100)

    @Test("A refusal closes it for 15 s, each refused probe doubles that, up to five minutes")
    func pauses() {
        var gate = LaneGate()
        var now = Self.start
        var pauses: [Duration] = []
        gate.refused(0, Self.cause, at: now)
        for handle: Handle in 1...8 {
            guard let due = gate.nextProbe else { break }
            pauses.append(due - now)
            #expect(gate.admit(handle, at: due + .nanoseconds(-1)) == false)
            #expect(gate.admit(handle, at: due) == true)
            #expect(gate.nextProbe == nil)
            now = due
            gate.refused(handle, Self.cause, at: now)
        }
        #expect(pauses == [15, 30, 60, 120, 240, 300, 300, 300].map { .seconds($0) })
        #expect(gate.pause?.cause == Self.cause && gate.pause?.since == Self.start)
    }

    @Test(
        "It opens when a probe disproves the cause, and an inconclusive probe is repeated after the same pause",
        arguments: [
            (Self.credential, ResponseProof.none, false), (Self.credential, .credential, true),
            (Self.credential, .topic, true), (Self.credential, .token, true),
            (Self.cause, .none, false), (Self.cause, .credential, false), (Self.cause, .topic, true),
            (Self.cause, .token, true),
            (Self.tokens, .none, false), (Self.tokens, .credential, false), (Self.tokens, .topic, false),
            (Self.tokens, .token, true),
        ])
    func ended(cause: LaneGate.Cause, proof: ResponseProof, opens: Bool) {
        var gate = LaneGate()
        gate.refused(0, cause, at: Self.start)
        let due = Self.start + LaneGate.firstPause
        _ = gate.admit(1, at: due)
        let now = due + .seconds(3)
        gate.ended(1, showing: proof, at: now)
        #expect(gate.isOpen == opens)
        if !opens { #expect(gate.nextProbe == now + LaneGate.firstPause) }
    }

    @Test("After a change the next probe may be sent at once, but not beside another one")
    func probeSoon() {
        var gate = LaneGate()
        gate.refused(0, Self.cause, at: Self.start)
        let now = Self.start + .seconds(1)
        gate.probeSoon(at: now)
        #expect(gate.admit(1, at: now) == true)
        gate.probeSoon(at: now)
        #expect(gate.admit(2, at: now) == false)
        gate.refused(1, Self.cause, at: now)
        #expect(gate.nextProbe == now + .seconds(30))
    }

    @Test("In random walks at most one probe is in flight, and never before its time")
    func randomWalks() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            var gate = LaneGate()
            var now = Self.start
            var inFlight: Set<Handle> = []
            var probe: Handle?
            var next: Handle = 0
            for _ in 0..<200 {
                now = now + .seconds(Int.random(in: 0...20, using: &random))
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    let wasOpen = gate.isOpen
                    let due = gate.nextProbe
                    guard gate.admit(next, at: now) else { continue }
                    inFlight.insert(next)
                    if !wasOpen {
                        try #require(probe == nil, "seed \(seed)")
                        try #require(due.map { $0 <= now } == true, "seed \(seed)")
                        probe = next
                    }
                    next = next.advanced(by: 1)
                default:
                    guard let handle = inFlight.sorted().randomElement(using: &random) else { continue }
                    inFlight.remove(handle)
                    switch Int.random(in: 0..<5, using: &random) {
                    case 0..<3:
                        gate.refused(handle, Self.cause, at: now)
                        try #require(!gate.isOpen, "seed \(seed)")
                    case 3: gate.withdrawn(handle)
                    default:
                        let wasOpen = gate.isOpen
                        gate.ended(handle, showing: .token, at: now)
                        try #require(gate.isOpen == (wasOpen || probe == handle), "seed \(seed)")
                    }
                    if probe == handle { probe = nil }
                    try #require(gate.pause?.probe == probe, "seed \(seed)")
                }
            }
        }
    }
}

@Suite("Standstill")
struct StandstillTests {
    private static func at(_ seconds: Int64) -> Instant {
        Instant(nanoseconds: seconds * 1_000_000_000)
    }

    /// One check: time, whether an app can send, the last response of APNs; and the expected state.
    private typealias Look = (at: Int64, canSend: Bool, response: Int64?, isSuspended: Bool)

    private func check(_ looks: [Look]) {
        var reachability = Reachability()
        for look in looks {
            reachability.lastResponse = look.response.map(Self.at)
            reachability.check(canSend: look.canSend, at: Self.at(look.at))
            #expect(reachability.isSuspended == look.isSuspended, "at \(look.at) s")
        }
    }

    @Test("It suspends once, when no app could send for five seconds, and resumes once, when one can")
    func suspends() {
        check([
            (0, true, nil, false), (10, false, nil, false), (14, false, nil, false), (15, false, nil, true),
            (500, false, nil, true), (510, true, nil, false), (530, false, nil, false), (535, false, nil, true),
        ])
    }

    @Test("An app that can send resets the standstill, and so does a response after its start, but no older one")
    func interrupted() {
        check([(0, false, nil, false), (4, true, nil, false), (5, false, nil, false), (9, false, nil, false)])
        check([(0, false, nil, false), (5, false, 4, false), (8, false, 4, false), (9, false, 4, true)])
        check([(100, false, 90, false), (105, false, 90, true)])
    }
}

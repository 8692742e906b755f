import APNs
import Core
import Testing

@Suite("TokenRenewal")
struct TokenRenewalTests {
    // MARK: Every state and every event

    /// A source's state, and the time of the event.
    enum State: CaseIterable {
        case empty, young, ripe, due
        case youngExpired, youngAhead, ripeAhead, ripeAlmostAhead
        case secondYoung, secondAfterExpired, secondAndFirstTooOld
        case backToFirst, backToFirstTooOld, backToFirstAhead

        func make() -> (TokenRenewal, Moment) {
            var renewal = TokenRenewal()
            guard self != .empty else { return (renewal, moment(0)) }
            _ = renewal.choose(at: moment(0))
            switch self {
            case .empty, .young: return (renewal, moment(19.9))
            case .ripe: return (renewal, moment(20))
            case .due: return (renewal, moment(50))
            case .youngExpired:
                renewal.newestExpired()
                return (renewal, moment(19.9))
            case .youngAhead: return (renewal, moment(19.9, wall: -2))
            case .ripeAhead: return (renewal, moment(20, wall: -1.01))
            case .ripeAlmostAhead: return (renewal, moment(49.9, wall: -1))
            case .secondAfterExpired:
                renewal.newestExpired()
                _ = renewal.choose(at: moment(25))
                return (renewal, moment(26))
            case .secondYoung, .secondAndFirstTooOld, .backToFirst, .backToFirstTooOld, .backToFirstAhead: break
            }
            _ = renewal.choose(at: moment(50))
            switch self {
            case .secondYoung: return (renewal, moment(51))
            case .secondAndFirstTooOld: return (renewal, moment(59))
            default: break
            }
            _ = renewal.newestRefusedAsUpdate(at: moment(51))
            switch self {
            case .backToFirstTooOld: return (renewal, moment(59))
            case .backToFirstAhead: return (renewal, moment(55, wall: -2))
            default: return (renewal, moment(52))
            }
        }
    }

    typealias Choice = TokenRenewal.Choice

    /// The token sent after: no event, newest expired, older expired, newest came too soon.
    static let table: [(State, Choice, Choice, Choice, Choice)] = [
        (.empty, .sign, .sign, .sign, .sign),
        (.young, .newest, .newest, .newest, .newest),
        (.ripe, .newest, .sign, .newest, .newest),
        (.due, .sign, .sign, .sign, .sign),
        (.youngExpired, .newest, .newest, .newest, .newest),
        (.youngAhead, .newest, .newest, .newest, .newest),
        (.ripeAhead, .sign, .sign, .sign, .sign),
        (.ripeAlmostAhead, .newest, .sign, .newest, .newest),
        (.secondYoung, .newest, .newest, .newest, .older),
        (.secondAfterExpired, .newest, .newest, .newest, .newest),
        (.secondAndFirstTooOld, .newest, .newest, .newest, .newest),
        (.backToFirst, .older, .older, .newest, .older),
        (.backToFirstTooOld, .newest, .newest, .newest, .newest),
        (.backToFirstAhead, .newest, .newest, .newest, .newest),
    ]

    @Test("Every state handles every event as in the table", arguments: table.indices)
    func everyRow(row: Int) {
        let (state, wanted, newestExpired, olderExpired, refusedAsUpdate) = Self.table[row]
        func choice(after event: (inout TokenRenewal, Moment) -> Void) -> Choice {
            var (renewal, now) = state.make()
            event(&renewal, now)
            return renewal.choose(at: now)
        }
        #expect(choice { _, _ in } == wanted)
        #expect(choice { renewal, _ in renewal.newestExpired() } == newestExpired)
        #expect(choice { renewal, _ in renewal.olderExpired() } == olderExpired)
        #expect(choice { renewal, now in _ = renewal.newestRefusedAsUpdate(at: now) } == refusedAsUpdate)
    }

    @Test("The table has every state")
    func complete() {
        #expect(Self.table.map(\.0) == State.allCases)
    }

    // MARK: Ages

    @Test("Across clock jumps of up to two hours no token is used after 60 minutes, and none is made within 20")
    func randomWalk() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<50 {
            var renewal = TokenRenewal()
            var minutes = 0.0
            var wall = 0.0
            /// The signing time of each token, the newest last.
            var signed: [(minutes: Double, wall: Double)] = []
            for _ in 0..<500 {
                let step = Double.random(in: 0...8, using: &random)
                minutes += step
                wall +=
                    step
                    + (Int.random(in: 0..<30, using: &random) == 0 ? Double.random(in: -120...120, using: &random) : 0)
                switch Int.random(in: 0..<20, using: &random) {
                case 0, 1: renewal.newestExpired()
                case 2: renewal.olderExpired()
                case 3, 4: _ = renewal.newestRefusedAsUpdate(at: moment(minutes, wall: wall))
                default: break
                }
                let choice = renewal.choose(at: moment(minutes, wall: wall))
                if choice == .sign {
                    if let last = signed.last {
                        // The wall clock counts whole milliseconds.
                        let age = max(minutes - last.minutes, wall - last.wall)
                        try #require(age >= 20 - 1 / 60_000, "seed \(seed)")
                    }
                    signed.append((minutes, wall))
                } else {
                    let used = try #require(choice == .newest ? signed.last : signed.dropLast().last, "seed \(seed)")
                    try #require(minutes - used.minutes < 60 && wall - used.wall < 60, "seed \(seed)")
                }
            }
        }
    }
}

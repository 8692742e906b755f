import APNs
import Core
import Testing

@Suite("TokenRenewal")
struct TokenRenewalTests {
    private static func moment(_ minutes: Double, wall: Double? = nil) -> Moment {
        Moment(
            instant: .seconds(minutes * 60),
            wall: WallTime(milliseconds: Fixture.start.wall.milliseconds + Int64((wall ?? minutes) * 60_000)))
    }

    private func moment(_ minutes: Double, wall: Double? = nil) -> Moment {
        Self.moment(minutes, wall: wall)
    }

    // MARK: Every state and every event

    /// A source's state, and the time of the event.
    enum State: CaseIterable {
        case empty, young, ripe, due
        case youngExpired, youngAhead, ripeAhead
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
            case .ripeAhead: return (renewal, moment(20, wall: -2))
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

    struct Row: Sendable {
        let state: State
        /// The token sent after: no event, newest expired, older expired, newest came too soon.
        let wanted, newestExpired, olderExpired, refusedAsUpdate: TokenRenewal.Choice

        init(
            _ state: State, _ wanted: TokenRenewal.Choice, _ newestExpired: TokenRenewal.Choice,
            _ olderExpired: TokenRenewal.Choice, _ refusedAsUpdate: TokenRenewal.Choice
        ) {
            self.state = state
            self.wanted = wanted
            self.newestExpired = newestExpired
            self.olderExpired = olderExpired
            self.refusedAsUpdate = refusedAsUpdate
        }
    }

    static let table = [
        Row(.empty, .sign, .sign, .sign, .sign),
        Row(.young, .newest, .newest, .newest, .newest),
        Row(.ripe, .newest, .sign, .newest, .newest),
        Row(.due, .sign, .sign, .sign, .sign),
        Row(.youngExpired, .newest, .newest, .newest, .newest),
        Row(.youngAhead, .newest, .newest, .newest, .newest),
        Row(.ripeAhead, .sign, .sign, .sign, .sign),
        Row(.secondYoung, .newest, .newest, .newest, .older),
        Row(.secondAfterExpired, .newest, .newest, .newest, .newest),
        Row(.secondAndFirstTooOld, .newest, .newest, .newest, .newest),
        Row(.backToFirst, .older, .older, .newest, .older),
        Row(.backToFirstTooOld, .newest, .newest, .newest, .newest),
        Row(.backToFirstAhead, .newest, .newest, .newest, .newest),
    ]

    @Test("Every state handles every event as in the table", arguments: table)
    func everyRow(row: Row) {
        func choice(after event: (inout TokenRenewal, Moment) -> Void) -> TokenRenewal.Choice {
            var (renewal, now) = row.state.make()
            event(&renewal, now)
            return renewal.choose(at: now)
        }
        #expect(choice { _, _ in } == row.wanted)
        #expect(choice { renewal, _ in renewal.newestExpired() } == row.newestExpired)
        #expect(choice { renewal, _ in renewal.olderExpired() } == row.olderExpired)
        #expect(choice { renewal, now in _ = renewal.newestRefusedAsUpdate(at: now) } == row.refusedAsUpdate)
    }

    @Test("The table has every state")
    func complete() {
        #expect(Self.table.map(\.state) == State.allCases)
    }

    // MARK: Ages

    @Test(
        "A token is renewed at 50 minutes and not before", arguments: [(49.99, false), (50, true), (60, true)])
    func age(minutes: Double, isDue: Bool) {
        var renewal = TokenRenewal()
        let first = renewal.choose(at: moment(0))
        let second = renewal.choose(at: moment(minutes))
        #expect(first == .sign && (second == .sign) == isDue)
    }

    @Test("An expired token is renewed at 20 minutes and not before", arguments: [(19.99, false), (20, true)])
    func expired(minutes: Double, isDue: Bool) {
        var renewal = TokenRenewal()
        _ = renewal.choose(at: moment(0))
        renewal.newestExpired()
        let second = renewal.choose(at: moment(minutes))
        let third = renewal.choose(at: moment(minutes + 20))
        #expect((second == .sign) == isDue)
        #expect((third == .sign) != isDue, "the refusal of one token does not renew the next one")
    }

    @Test("After a suspended machine wakes, the wall clock alone shows that the token is old")
    func suspended() {
        var renewal = TokenRenewal()
        _ = renewal.choose(at: moment(0))
        let choice = renewal.choose(at: moment(5, wall: 125))
        #expect(choice == .sign)
    }

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

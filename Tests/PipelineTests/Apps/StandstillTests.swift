import Core
import Testing

@testable import Pipeline

@Suite("Standstill")
struct StandstillTests {
    private static func at(_ seconds: Int64) -> Instant {
        Instant(nanoseconds: seconds * 1_000_000_000)
    }

    /// One check: time, whether an app can send, the last response of APNs; and the expected change.
    private typealias Look = (at: Int64, canSend: Bool, response: Int64?, change: Reachability.Change?)

    private func check(_ looks: [Look]) {
        var reachability = Reachability()
        for look in looks {
            reachability.lastResponse = look.response.map(Self.at)
            #expect(reachability.checked(canSend: look.canSend, at: Self.at(look.at)) == look.change, "at \(look.at) s")
        }
    }

    @Test("It suspends once, when no app could send for five seconds, and resumes once, when one can")
    func suspends() {
        check([
            (0, true, nil, nil), (10, false, nil, nil), (14, false, nil, nil), (15, false, nil, .suspend),
            (20, false, nil, nil), (500, false, nil, nil), (510, true, nil, .resume), (520, true, nil, nil),
            (530, false, nil, nil), (535, false, nil, .suspend),
        ])
    }

    @Test("An app that can send in between resets the standstill, and so does a response between two checks")
    func interrupted() {
        check([(0, false, nil, nil), (4, true, nil, nil), (5, false, nil, nil), (9, false, nil, nil)])
        check([(0, false, nil, nil), (5, false, 4, nil), (8, false, 4, nil), (9, false, 4, .suspend)])
    }

    @Test("A response from before the standstill does not end it")
    func older() {
        check([(100, false, 90, nil), (105, false, 90, .suspend)])
    }
}

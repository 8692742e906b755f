import Core
import Testing

@testable import Pipeline

@Suite("Standstill")
struct StandstillTests {
    private static func at(_ seconds: Int64) -> Instant {
        Instant(nanoseconds: seconds * 1_000_000_000)
    }

    /// One check: time, whether an app can send, the last response of APNs; and the expected action.
    private typealias Look = (at: Int64, canSend: Bool, response: Int64?, action: Standstill.Action)

    private func check(_ looks: [Look]) {
        var standstill = Standstill()
        for look in looks {
            let action = standstill.checked(
                canSend: look.canSend, lastResponse: look.response.map(Self.at), at: Self.at(look.at),
                limit: .seconds(60)
            )
            #expect(action == look.action, "at \(look.at) s")
        }
    }

    @Test("It suspends once, when no app could send for the limit, and resumes once, when one can")
    func suspends() {
        check([
            (0, true, nil, .nothing), (10, false, nil, .nothing), (69, false, nil, .nothing),
            (70, false, nil, .suspend), (80, false, nil, .nothing), (500, false, nil, .nothing),
            (510, true, nil, .resume), (520, true, nil, .nothing), (530, false, nil, .nothing),
            (590, false, nil, .suspend),
        ])
    }

    @Test("An app that can send in between resets the standstill, and so does a response between two checks")
    func interrupted() {
        check([
            (0, false, nil, .nothing), (59, true, nil, .nothing), (60, false, nil, .nothing),
            (119, false, nil, .nothing), (120, false, nil, .suspend),
        ])
        check([
            (0, false, nil, .nothing), (60, false, 50, .nothing), (109, false, 50, .nothing),
            (110, false, 50, .suspend), (120, false, 115, .nothing),
        ])
    }

    @Test("A response from before the standstill does not end it")
    func older() {
        check([(100, false, 90, .nothing), (160, false, 90, .suspend)])
    }
}

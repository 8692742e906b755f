import APNs
import Core
import Testing

@Suite("ErrorBrake")
struct ErrorBrakeTests {
    /// One second of a hundred evenly spaced responses.
    private func second(_ second: Int, refusals: Int, _ brake: inout ErrorBrake, status: UInt16 = 400) {
        for response in 0..<100 {
            let now = Instant(nanoseconds: Int64(second) * 1_000_000_000 + Int64(response) * 10_000_000)
            _ = brake.responded(response < refusals ? status : 200, at: now)
        }
    }

    @Test(
        "The responses that slow APNs down are 4xx other than 410",
        arguments: [(200, false), (400, true), (403, true), (404, true), (410, false), (429, true), (500, false)]
            as [(UInt16, Bool)])
    func statuses(status: UInt16, counts: Bool) {
        #expect(ErrorBrake.counts(status) == counts)
    }

    @Test("The rate is halved with each bad window, down to its minimum, and doubled with each good one")
    func steps() {
        var brake = ErrorBrake(at: .seconds(0))
        var divisors: [Int] = []
        for time in 0..<100 {
            second(time, refusals: time < 50 ? 20 : 19, &brake)
            if time % 10 == 0 { divisors.append(brake.divisor) }
        }
        #expect(divisors == [1, 2, 4, 8, 8, 8, 4, 2, 1, 1])
    }

    @Test("A few refusals at a low rate do not trigger the brake")
    func few() {
        var brake = ErrorBrake(at: .seconds(0))
        for time in 0..<1000 {
            _ = brake.responded(400, at: Instant(nanoseconds: Int64(time) * 1_000_000_000))
        }
        #expect(brake.divisor == 1, "10 in each window")
    }

    @Test("An idle window counts as a good one")
    func silence() {
        var brake = ErrorBrake(at: .seconds(0))
        for time in 0..<41 { second(time, refusals: 100, &brake) }
        #expect(brake.divisor == 8)
        let isNews = brake.responded(200, at: Instant(nanoseconds: 75_000_000_000))
        #expect(isNews && brake.divisor == 2, "the window of the refusals, then two empty ones")
    }
}

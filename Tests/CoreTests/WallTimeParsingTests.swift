import Core
import Testing

@Suite("Parsing of times")
struct WallTimeParsingTests {
    @Test("Formatted RFC 3339 times are parsed again, from year 0 to 9999")
    func roundTrip() {
        var milliseconds: Int64 = -62_167_219_200_000
        while milliseconds < 253_402_300_800_000 {
            let time = WallTime(milliseconds: milliseconds)
            #expect(WallTime(rfc3339: time.rfc3339.utf8) == time)
            milliseconds += 86_400_000 * 397 + 12_345_678
        }
    }

    @Test(
        "Fractions, offsets and lower-case letters are accepted",
        arguments: [
            ("2026-11-21T22:26:40Z", 1_795_300_000_000), ("2026-11-21t22:26:40z", 1_795_300_000_000),
            ("2026-11-21 22:26:40Z", 1_795_300_000_000), ("2026-11-22T00:26:40+02:00", 1_795_300_000_000),
            ("2026-11-21T16:56:40-05:30", 1_795_300_000_000), ("2026-11-21T22:26:40.5Z", 1_795_300_000_500),
            ("2026-11-21T22:26:40.1234567Z", 1_795_300_000_123), ("2024-02-29T00:00:00Z", 1_709_164_800_000),
            ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59Z", -1000),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000), ("2026-11-22T22:25:40+23:59", 1_795_300_000_000),
        ] as [(String, Int64)])
    func forms(text: String, milliseconds: Int64) {
        #expect(WallTime(rfc3339: text.utf8)?.milliseconds == milliseconds)
    }

    @Test(
        "Anything else is refused",
        arguments: [
            "", "2026", "2026-11-21", "2026-11-21T22:26Z", "2026-11-21T22:26:40", "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-21T24:00:00Z",
            "2026-11-21T22:60:40Z", "2026-11-21T22:26:61Z", "2026-11-21T22:26:40.Z", "2026-11-21T22:26:40Zx",
            "2026-11-21T22:26:40+2:00", "26-11-21T22:26:40Z", "２026-11-21T22:26:40Z", "2026-11-21T22:26:40+24:00",
            "2026-11-21T22:26:40+00:60",
        ])
    func refused(text: String) {
        #expect(WallTime(rfc3339: text.utf8) == nil)
    }

    @Test(
        "An argument is a time or an age",
        arguments: [
            ("0s", 0), ("90s", 90), ("90m", 5400), ("2h", 7200), ("3d", 259_200),
        ] as [(String, Int64)])
    func ago(text: String, seconds: Int64) {
        let now = WallTime(milliseconds: 1_795_300_000_000)
        #expect(WallTime(argument: text, now: now)?.milliseconds == now.milliseconds - seconds * 1000)
        #expect(WallTime(argument: "1970-01-01T00:00:01Z", now: now)?.milliseconds == 1000)
        for wrong in ["h", "2w", "-2h", "2", "1.5h", "99999999d", ""] {
            #expect(WallTime(argument: wrong, now: now) == nil, "\(wrong)")
        }
    }
}

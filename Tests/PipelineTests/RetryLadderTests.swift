import Core
import Testing

@testable import Configuration
@testable import Pipeline

@Suite("Retry ladder")
struct RetryLadderTests {
    private func ladder(_ delays: [Int64] = [900, 1800, 3600], _ throttled: [Int64] = [5, 30, 120]) -> RetryLadder {
        RetryLadder(
            Configuration.Retry(
                delays: delays.map { .seconds($0) }, throttledDelays: throttled.map { .seconds($0) },
                maximumAttempts: 6))
    }

    @Test("Each parking uses the next level, and the last one repeats")
    func levels() {
        let ladder = ladder()
        #expect(
            (0...4).map { ladder.delay(for: .service, failures: $0, within: nil)?.components.seconds }
                == [900, 1800, 3600, 3600, 3600])
        #expect(
            (0...4).map { ladder.delay(for: .throttled, failures: $0, within: nil)?.components.seconds }
                == [5, 30, 120, 120, 120])
        // If only the worker is at its limit, the shortest level suffices.
        #expect(ladder.delay(for: .processLimit, failures: 4, within: nil) == .seconds(5))
    }

    @Test(
        "A request that would expire gets the longest lower level that ends in time, or none",
        arguments: [
            (5000, 2, 3600), (3601, 2, 3600), (3600, 2, 1800), (1801, 2, 1800), (1000, 2, 900), (900, 2, nil),
            (901, 0, 900), (900, 0, nil), (0, 0, nil), (-5, 0, nil),
        ] as [(Int64, Int, Int64?)])
    func lifetime(lifetime: Int64, failures: Int, expected: Int64?) {
        let found = ladder().delay(for: .service, failures: failures, within: .seconds(lifetime))
        #expect(found?.components.seconds == expected)
    }

    @Test("Levels may descend, and then a shorter lifetime gets no level longer than the next one")
    func falling() {
        #expect(ladder([60, 20, 40]).delay(for: .service, failures: 2, within: .seconds(30)) == .seconds(20))
        #expect(ladder([60, 20, 40]).delay(for: .service, failures: 2, within: .seconds(50)) == .seconds(40))
    }
}

@Suite("Done bitmap")
struct DoneBitmapTests {
    @Test("It survives encoding and decoding, for every size and set", arguments: [2, 7, 8, 9, 16, 17, 500])
    func roundTrip(notifications: Int) throws {
        var random = SplitMix64(seed: UInt64(notifications))
        for _ in 0..<50 {
            let left = (0..<notifications).filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
            guard !left.isEmpty else { continue }
            let bitmap = DoneBitmap(notifications: notifications, leaving: left)
            #expect(bitmap.count == notifications - left.count)
            for position in 0..<notifications { #expect(bitmap.contains(position) != left.contains(position)) }
            #expect(DoneBitmap(bitmap.text[...], notifications: notifications) == bitmap)
        }
    }

    @Test(
        "A text that does not fit the count, or has all bits set, is not a bitmap",
        arguments: ["", "0", "000", "00ff", "0x", "g0", "ffff", "ff01", "ff", "FF0", "0004"])
    func malformed(text: String) {
        #expect(DoneBitmap(ArraySlice(text.utf8), notifications: 9) == nil)
    }
}

import Core
import Testing

@Suite("Share of refused device tokens")
struct TokenRefusalShareTests {
    @Test("It is reached with the last of the required responses, not before, and not by a smaller share")
    func limit() {
        for percent in [1, 50, 51, 99, 100] {
            let limit = TokenRefusalShare.Limit(responses: 20, percent: percent)
            let needed = (20 * percent + 99) / 100
            for refusals in 0...20 {
                var share = TokenRefusalShare()
                var reached: [Bool] = []
                for response in 0..<20 {
                    reached.append(share.responded(isRefusal: response >= 20 - refusals, limit: limit))
                }
                #expect(!reached.dropLast().contains(true))
                #expect(reached.last == (refusals >= needed), "\(refusals) refused, \(percent) %")
                #expect(share.refused == refusals)
            }
        }
    }

    @Test("Only the newest responses count")
    func window() throws {
        let limit = TokenRefusalShare.Limit(responses: 10, percent: 50)
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        var share = TokenRefusalShare()
        var responses: [Bool] = []
        for _ in 0..<2000 {
            let isRefusal = Int.random(in: 0..<3, using: &random) == 0
            responses.append(isRefusal)
            let newest = responses.suffix(10)
            let refused = newest.count { $0 }
            let isReached = share.responded(isRefusal: isRefusal, limit: limit)
            try #require(isReached == (newest.count == 10 && refused >= 5), "seed \(seed)")
            try #require(share.refused == refused && share.responses == newest.count, "seed \(seed)")
        }
    }

    @Test("The first twenty responses suffice if all are refusals, and not if one is accepted")
    func nothingElse() {
        let limit = TokenRefusalShare.Limit()
        var share = TokenRefusalShare()
        let reached = (0..<TokenRefusalShare.enoughRefusals).map { _ in
            share.responded(isRefusal: true, limit: limit)
        }
        #expect(reached == Array(repeating: false, count: 19) + [true])
        share.reset()
        _ = share.responded(isRefusal: false, limit: limit)
        for response in 2...100 {
            #expect(share.responded(isRefusal: true, limit: limit) == (response == 100))
        }
    }

    @Test("It restarts after a pause")
    func reset() {
        let limit = TokenRefusalShare.Limit(responses: 10, percent: 100)
        var share = TokenRefusalShare()
        for _ in 0..<15 { _ = share.responded(isRefusal: true, limit: limit) }
        share.reset()
        #expect(share.responses == 0 && share.refused == 0)
        let reached = (0..<11).map { share.responded(isRefusal: $0 > 0, limit: limit) }
        #expect(reached == Array(repeating: false, count: 10) + [true])
    }
}

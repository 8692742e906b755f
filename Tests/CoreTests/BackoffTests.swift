import Core
import Testing

@Suite("Backoff")
struct BackoffTests {
    @Test("The ceiling doubles up to the limit and starts again after a reset")
    func ceiling() {
        var random = SystemRandomNumberGenerator()
        var backoff = Backoff(base: .seconds(1), limit: .seconds(5))
        var ceilings: [Duration] = []
        for _ in 0..<5 {
            let ceiling = backoff.ceiling
            ceilings.append(ceiling)
            #expect((.zero...ceiling).contains(backoff.next(using: &random)))
        }
        #expect(ceilings == [.seconds(1), .seconds(2), .seconds(4), .seconds(5), .seconds(5)])
        backoff.reset()
        #expect(backoff.ceiling == .seconds(1) && Backoff().ceiling == .milliseconds(500))
    }

    @Test("A thousand failures in a row do not overflow")
    func manyFailures() {
        var random = SplitMix64(seed: 0)
        #expect(random.next() == UInt64(0xE220_A839_7B1D_CDAF), "the reference implementation's")
        var backoff = Backoff(base: .seconds(3600), limit: .seconds(86400))
        for _ in 0..<1000 { #expect(backoff.next(using: &random) <= .seconds(86400)) }
    }
}

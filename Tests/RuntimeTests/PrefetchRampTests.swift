import Core
import Testing

@testable import Runtime

@Suite("Prefetch after a start")
struct PrefetchRampTests {
    private static let start = Instant(nanoseconds: 0)

    @Test("A fresh delivery opens it at once, in every stage")
    func fresh() {
        var ramp = PrefetchRamp(full: 1000)
        #expect(ramp.prefetch == 1)
        #expect(ramp.delivered(isRedelivered: false, at: Self.start) == true)
        #expect(ramp.prefetch == 1000 && ramp.deadline == nil)
        #expect(ramp.delivered(isRedelivered: true, at: Self.start) == false)

        ramp = PrefetchRamp(full: 1000)
        #expect(ramp.delivered(isRedelivered: true, at: Self.start) == false)
        #expect(ramp.expire(at: Self.start + .seconds(1)) == true)
        #expect(ramp.prefetch == 10)
        #expect(ramp.delivered(isRedelivered: false, at: Self.start + .seconds(1)) == true)
        #expect(ramp.prefetch == 1000)
    }

    @Test("Redeliveries must be survived: a second with one, a second with ten")
    func redelivered() {
        var ramp = PrefetchRamp(full: 1000)
        #expect(ramp.expire(at: Self.start + .seconds(100)) == false, "nothing came")
        for second in 100..<200 {
            #expect(ramp.delivered(isRedelivered: true, at: Self.start + .seconds(second)) == false)
            if second == 100 { #expect(ramp.deadline == Self.start + .seconds(101)) }
        }
        #expect(ramp.expire(at: Self.start + .milliseconds(100_999)) == false)
        #expect(ramp.expire(at: Self.start + .seconds(101)) == true)
        #expect(ramp.prefetch == 10 && ramp.deadline == nil)
        #expect(ramp.delivered(isRedelivered: true, at: Self.start + .seconds(102)) == false)
        #expect(ramp.expire(at: Self.start + .seconds(103)) == true)
        #expect(ramp.prefetch == 1000 && ramp.deadline == nil)
    }

    @Test("No step exceeds the prefetch, and none is taken without a gain", arguments: [1, 2, 10, 11])
    func small(full: UInt16) {
        var ramp = PrefetchRamp(full: full)
        var now = Self.start
        for _ in 0..<3 {
            let before = ramp.prefetch
            #expect(before <= full)
            _ = ramp.delivered(isRedelivered: true, at: now)
            now = now + .seconds(1)
            let isChanged = ramp.expire(at: now)
            #expect(isChanged == (ramp.prefetch != before))
        }
        #expect(ramp.prefetch == full)
        #expect(PrefetchRamp(full: full, isSlow: false).prefetch == full)
    }
}

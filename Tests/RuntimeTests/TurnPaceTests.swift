import Testing

@testable import Runtime

@Suite("Turn pace")
struct TurnPaceTests {
    @Test(
        "turns are spaced while many deliveries are unsettled, at most by the time that a token bucket takes to fill",
        arguments: [
            (4000, 500, 0, .zero), (4000, 500, TurnPace.busyDeliveries - 1, .zero),
            (4000, 500, TurnPace.busyDeliveries, .milliseconds(2)), (4000, 500, 511, .milliseconds(2)),
            (4000, 500, 512, .milliseconds(4)), (1, 1, 1_000_000, .milliseconds(4)),
            (20_000, 25, 2000, .microseconds(1250)), (10_000, 1, 64, .microseconds(100)),
        ] as [(Int, Int, Int, Duration)])
    func interval(permitsPerSecond: Int, burst: Int, unsettled: Int, interval: Duration) {
        #expect(TurnPace(permitsPerSecond: permitsPerSecond, burst: burst).interval(unsettled: unsettled) == interval)
    }
}

import Testing

@testable import Runtime

@Suite("Turn pace")
struct TurnPaceTests {
    @Test(
        "turns are spaced only while many deliveries are unsettled",
        arguments: [
            (0, Duration.zero), (TurnPace.busyDeliveries - 1, .zero), (TurnPace.busyDeliveries, .milliseconds(2)),
            (1_000_000, .milliseconds(2)),
        ])
    func interval(unsettled: Int, interval: Duration) {
        #expect(TurnPace(permitsPerSecond: 4000, burst: 500).interval(unsettled: unsettled) == interval)
    }

    @Test(
        "the interval between turns is at most the time that a token bucket takes to fill",
        arguments: [
            (20_000, 25, Duration.microseconds(1250)), (10_000, 1, .microseconds(100)), (1, 1, .milliseconds(2)),
        ])
    func buckets(permitsPerSecond: Int, burst: Int, longest: Duration) {
        let pace = TurnPace(permitsPerSecond: permitsPerSecond, burst: burst)
        #expect(pace.interval(unsettled: 2000) == longest)
    }
}

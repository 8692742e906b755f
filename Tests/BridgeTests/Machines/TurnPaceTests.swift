import Testing

@testable import Bridge

@Suite("Turn pace")
struct TurnPaceTests {
    @Test(
        "the more is unsettled, the longer a turn waits for more, up to a limit",
        arguments: [
            (0, Duration.zero), (TurnPace.busyDeliveries - 1, .zero), (TurnPace.busyDeliveries, .microseconds(500)),
            (125, .microseconds(500)), (250, .milliseconds(1)), (500, .milliseconds(2)), (1000, .milliseconds(4)),
            (1_000_000, .milliseconds(4)),
        ])
    func grows(unsettled: Int, interval: Duration) {
        #expect(TurnPace(permitsPerSecond: 4000, burst: 500).interval(unsettled: unsettled) == interval)
    }

    @Test(
        "no turn waits for longer than a token bucket takes to fill, if that is half a millisecond or more",
        arguments: [
            (10_000, 25, Duration.microseconds(2500)), (10_000, 1, .microseconds(500)), (1, 1, .milliseconds(4)),
        ])
    func buckets(permitsPerSecond: Int, burst: Int, longest: Duration) {
        let pace = TurnPace(permitsPerSecond: permitsPerSecond, burst: burst)
        #expect(pace.interval(unsettled: 2000) == longest)
    }
}

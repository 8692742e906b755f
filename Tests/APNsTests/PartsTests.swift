import APNs
import Core
import Testing

@Suite("Placement")
struct PlacementTests {
    private func placement(_ capacities: [Placement.Capacity]) -> Placement {
        var placement = Placement()
        for capacity in capacities { placement.add(capacity) }
        return placement
    }

    @Test("The connection with the fewest requests in flight takes the next one")
    func spread() {
        var placement = placement([
            .init(freeStreams: 9, permits: 9, window: 1000, inFlight: 3),
            .init(freeStreams: 9, permits: 9, window: 1000, inFlight: 0),
            .init(freeStreams: 9, permits: 9, window: 1000, inFlight: 1),
        ])
        let places = (0..<6).map { _ in placement.place(size: 1) }
        #expect(places == [1, 2, 1, 2, 1, 2])
        #expect(placement.capacities.map(\.inFlight) == [3, 3, 4])
    }

    @Test("Ties rotate")
    func ties() {
        var placement = placement(
            .init(repeating: .init(freeStreams: 9, permits: 9, window: 1000, inFlight: 0), count: 3))
        #expect((0..<6).map { _ in placement.place(size: 1) } == [0, 1, 2, 0, 1, 2])
    }

    @Test("A connection without a stream, a permit or window space takes nothing")
    func obstacles() {
        var placement = placement([
            .init(freeStreams: 0, permits: 9, window: 1000, inFlight: 0),
            .init(freeStreams: 9, permits: 0, window: 1000, inFlight: 0),
            .init(freeStreams: 9, permits: 9, window: 0, inFlight: 1),
        ])
        #expect(placement.place(size: 1) == nil)
    }

    @Test("A closed window does not block the only request: its body opens the window")
    func closedWindow() {
        var placement = placement([.init(freeStreams: 9, permits: 9, window: 0, inFlight: 0)])
        #expect((0..<2).map { _ in placement.place(size: 100) } == [0, nil])
    }

    @Test("In random walks no lane gives more than it has")
    func randomWalk() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<500 {
            let capacities = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                Placement.Capacity(
                    freeStreams: Int.random(in: 0...5, using: &random), permits: Int.random(in: 0...5, using: &random),
                    window: Int.random(in: 0...50, using: &random), inFlight: Int.random(in: 0...5, using: &random))
            }
            var placement = placement(capacities)
            var taken = [Int](repeating: 0, count: capacities.count)
            while let capacity = placement.place(size: 10) { taken[capacity] += 1 }
            for (capacity, count) in zip(capacities, taken) {
                #expect(count <= min(capacity.freeStreams, capacity.permits), "seed \(seed)")
            }
        }
    }
}

@Suite("Dialer")
struct DialerTests {
    @Test("Connection attempts never exceed the limit per minute, however fast they are requested")
    func perMinute() {
        var dialer = Dialer(maximumPerMinute: 5, backoff: Backoff(), toleratedEarlyCloses: 8)
        var attempts: [Instant] = []
        var now = Instant.seconds(0)
        for _ in 0..<40 {
            now = max(now, dialer.nextAttempt)
            dialer.attempted(at: now)
            attempts.append(now)
            now = now + .seconds(3)
        }
        for (index, instant) in attempts.enumerated() where index >= 5 {
            #expect(instant - attempts[index - 5] >= .seconds(60))
        }
    }

    @Test("Half of a minute's attempts are immediate, the others are spread over it, minute after minute")
    func spread() {
        var dialer = Dialer(maximumPerMinute: 6, backoff: Backoff(), toleratedEarlyCloses: 8)
        var attempts: [Instant] = []
        var now = Instant.seconds(0)
        for _ in 0..<20 {
            now = max(now, dialer.nextAttempt)
            dialer.attempted(at: now)
            attempts.append(now)
        }
        #expect(Array(attempts.prefix(6)) == [0, 0, 0, 15, 30, 45].map { Instant.seconds($0) })
        for (earlier, later) in zip(attempts.dropFirst(6), attempts.dropFirst(7)) {
            #expect(later - earlier >= .seconds(10))
        }
        #expect(attempts[19] - attempts[0] <= .seconds(190))
    }

    @Test("The next attempt is never later than the gap between two attempts spread over a minute")
    func gap() {
        for maximum in [2, 5, 30, 100] {
            var dialer = Dialer(maximumPerMinute: maximum, backoff: Backoff(), toleratedEarlyCloses: 8)
            var now = Instant.seconds(0)
            for _ in 0..<maximum * 4 {
                let next = max(now, dialer.nextAttempt)
                // Rounding adds a nanosecond for each attempt.
                let share = Duration.nanoseconds(60_000_000_000 / Int64(maximum - maximum / 2 + 1) + Int64(maximum))
                #expect(next - now <= share)
                now = next
                dialer.attempted(at: now)
            }
        }
    }

    @Test(
        "While the breaker is closed, connections that end early delay the next attempt by at most 5 seconds"
    )
    func earlyEnds() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        var dialer = Dialer(
            maximumPerMinute: 1000, backoff: Backoff(base: .milliseconds(500), limit: .seconds(30)),
            toleratedEarlyCloses: 8)
        for _ in 0..<8 { #expect(!dialer.peerClosedEarly(at: .seconds(100), using: &random)) }
        for _ in 0..<9 {
            #expect(dialer.peerClosedEarly(at: .seconds(100), using: &random))
            #expect(dialer.nextAttempt <= .seconds(105), "seed \(seed)")
        }
        #expect(dialer.peerClosedEarly(at: .seconds(100), using: &random))
        #expect(dialer.isBreakerOpen && dialer.nextAttempt == .seconds(130))
    }

    @Test("Only connections that end early in a row count, each time after a success")
    func earlyEndsInARow() {
        var random = SplitMix64(seed: 1)
        var dialer = Dialer(maximumPerMinute: 1000, backoff: Backoff(), toleratedEarlyCloses: 8)
        for _ in 0..<3 {
            for _ in 0..<8 { #expect(!dialer.peerClosedEarly(at: .seconds(100), using: &random)) }
            dialer.succeeded()
        }
        #expect(dialer.failures == 0)
    }

    @Test("Failures delay the next attempt, a success resets the delay")
    func backoff() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        var dialer = Dialer(
            maximumPerMinute: 1000, backoff: Backoff(base: .seconds(1), limit: .seconds(8)), toleratedEarlyCloses: 8)
        for ceiling in [1, 2, 4, 8, 8, 8] {
            dialer.failed(at: .seconds(100), using: &random)
            #expect(dialer.nextAttempt >= .seconds(100), "seed \(seed)")
            #expect(dialer.nextAttempt <= .seconds(100 + Double(ceiling)), "seed \(seed)")
        }
        #expect(dialer.failures == 6)
        dialer.succeeded()
        #expect(dialer.failures == 0 && dialer.nextAttempt <= .seconds(0))
    }
}

@Suite("Liveness")
struct LivenessTests {
    private func liveness() -> Liveness {
        Liveness(idleLimit: .seconds(3600), stallLimit: .seconds(10), pongLimit: .seconds(5), at: .seconds(0))
    }

    @Test("Any byte counts as a response")
    func response() {
        var liveness = liveness()
        _ = liveness.check(isBusy: true, at: .seconds(10))
        liveness.noteTraffic(at: .seconds(12))
        #expect(liveness.deadline(isBusy: true) == .seconds(22))
    }
}

@Suite("ResponseBody")
struct ResponseBodyTests {
    @Test(
        "The reason and the timestamp are found at any position",
        arguments: [
            (#"{"reason":"BadDeviceToken"}"#, "BadDeviceToken", nil),
            (#" { "reason" : "Unregistered" , "timestamp" : 1795300000000 } "#, "Unregistered", 1_795_300_000_000),
            (#"{"timestamp":1,"reason":"ExpiredToken"}"#, "ExpiredToken", 1),
            (#"{"more":{"reason":"No","list":[1,{"a":"]}"}]},"reason":"Shutdown","x":null}"#, "Shutdown", nil),
            (#"{"reason":"Service Unavailable"}"#, "Service Unavailable", nil),
            (#"{"text":"a \"reason\":\"No\" here","reason":"IdleTimeout"}"#, "IdleTimeout", nil),
            ("{\n\t\"reason\":\"Forbidden\"\r\n}", "Forbidden", nil),
        ] as [(String, String, Int64?)])
    func found(text: String, reason: String, timestamp: Int64?) {
        let body = ResponseBody(Array(text.utf8))
        #expect(body.reason?.rawValue == reason && body.timestamp == timestamp)
    }

    @Test(
        "Anything but such a dictionary gives neither",
        arguments: [
            "", "{}", "[]", "null", "<html>", "{", #"{"reason""#, #"{"reason":"#, #"{"reason":"Bad"#,
            #"{"reason":"Bad""#,
            #"{"reason":"Bad"} x"#, #"{"reason" "Bad"}"#, #"{reason:"Bad"}"#, #"{"reason":7}"#, #"{"reason":null}"#,
            #"{"reason":""}"#, #"{"reason":"a\u0041"}"#, #"{"reason":"\"#, #"{"timestamp":-1}"#, #"{"timestamp":1.5}"#,
            #"{"timestamp":99999999999999999999}"#, #"{"timestamp":"1"}"#, "{\"reason\":\"é\"}",
            "{\"reason\":\"a\nb\"}",
            #"{"reason":"\#(String(repeating: "x", count: 65))"}"#,
            #"{"a":\#(String(repeating: "[", count: 4000))"#, #"{"a":[1,]}"#, #"{"a":}"#, #"{,}"#, #"{"a":1,}"#,
        ])
    func notFound(text: String) {
        let body = ResponseBody(Array(text.utf8))
        #expect(body.reason == nil && body.timestamp == nil)
    }

    @Test("Every prefix of a response is safe to parse")
    func beginnings() {
        let text = Array(#"{"a":[{"b":"\\\""}],"reason":"Unregistered","timestamp":1795300000000}"#.utf8)
        for count in 0..<text.count { #expect(ResponseBody(Array(text.prefix(count))).reason == nil) }
        #expect(ResponseBody(text).reason?.rawValue == "Unregistered")
    }
}

import APNs
import Core
import Testing

@Suite("Placement")
struct PlacementTests {
    private func placement(_ capacities: [Placement.Capacity]) -> Placement {
        var placement = Placement()
        placement.capacities = capacities
        return placement
    }

    @Test("The connection with the fewest requests in flight takes the next one")
    func spread() {
        var placement = placement([
            .init(freeStreams: 9, permits: 9, window: 1000, inFlight: 3),
            .init(freeStreams: 9, permits: 9, window: 1000, inFlight: 0),
            .init(freeStreams: 9, permits: 9, window: 1000, inFlight: 1),
        ])
        #expect((0..<6).map { _ in placement.place(size: 1) } == [1, 2, 1, 2, 1, 2])
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
}

@Suite("Dialer")
struct DialerTests {
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
        for (earlier, later) in zip(attempts, attempts.dropFirst(6)) { #expect(later - earlier >= .seconds(60)) }
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

    @Test("While the breaker is closed, connections that end early delay the next attempt by at most 5 seconds")
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
        for _ in 0..<20 {
            dialer.failed(at: .seconds(100), using: &random)
            #expect(dialer.nextAttempt <= .seconds(101), "seed \(seed): it begins again, each time")
            dialer.succeeded()
        }
    }
}

@Suite("ResponseBody")
struct ResponseBodyTests {
    @Test(
        "The reason and the timestamp are found at any position",
        arguments: [
            (#"{"reason":"BadDeviceToken"}"#, "BadDeviceToken", nil),
            (#" { "reason" : "Unregistered" , "timestamp" : 1795300000000 } "#, "Unregistered", 1_795_300_000_000),
            (#"{"timestamp":0,"reason":"ExpiredToken"}"#, "ExpiredToken", 0),
            (#"{"more":{"reason":"No","list":[1,{"a":"]}"}]},"reason":"Shutdown","x":null}"#, "Shutdown", nil),
            (#"{"reason":"Service Unavailable"}"#, "Service Unavailable", nil),
            (#"{"text":"a \"reason\":\"No\" here","reason":"IdleTimeout"}"#, "IdleTimeout", nil),
            ("{\n\t\"reason\":\"Forbidden\"\r\n}", "Forbidden", nil),
            (#"{"reason":"\#(String(repeating: "x", count: 64))"}"#, String(repeating: "x", count: 64), nil),
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
        arguments: [(399, false), (400, true), (403, true), (404, true), (410, false), (429, true), (500, false)]
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
        for time in 0..<1000 { _ = brake.responded(400, at: .seconds(Double(time))) }
        #expect(brake.divisor == 1, "10 in each window")
        var edge = ErrorBrake(at: .seconds(0))
        for number in 0...50 { _ = edge.responded(400, at: .seconds(Double(number) / 5)) }
        #expect(edge.divisor == 2, "50 in the first window")
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

@Suite("ConnectionTrial")
struct ConnectionTrialTests {
    private func ready() -> ConnectionTrial {
        var trial = ConnectionTrial()
        trial.becameReady(at: .seconds(10))
        return trial
    }

    @Test("The first response is a success, the hundredth is proof, and later ones change nothing")
    func responses() {
        var trial = ready()
        #expect(trial.isUseless(at: .seconds(11)))
        let progress = (0..<102).map { _ in trial.responded(at: .seconds(11)) }
        #expect(progress.first == .firstResponse && progress[99] == .proven)
        #expect(progress.filter { $0 == .none }.count == 100)
        #expect(!trial.isUseless(at: .seconds(11)) && trial.provenAt == nil)
    }

    @Test("A minute is proof, with a response or without")
    func life() {
        var trial = ready()
        #expect(trial.provenAt == .seconds(70))
        #expect(trial.isUseless(at: .seconds(69.999)) && !trial.isUseless(at: .seconds(70)))
        var responded = trial
        #expect(responded.responded(at: .seconds(70)) == .proven)
        trial.provenByAge()
        #expect(trial.responded(at: .seconds(70)) == .none && trial.provenAt == nil)
    }

    @Test("An early end counts once, and not for a connection that has lasted or is proven")
    func ends() {
        var trial = ready()
        let ends = [trial.peerClosed(at: .seconds(20)), trial.peerClosed(at: .seconds(21))]
        #expect(ends == [true, false] && !trial.isEndCounted)
        trial.countEnd()
        let response = trial.responded(at: .seconds(22))
        #expect(trial.isEndCounted && response == .firstResponse, "what was sent before is still answered")

        var old = ready()
        var proven = ready()
        proven.provenByAge()
        var never = ConnectionTrial()
        #expect(never.provenAt == nil && never.isUseless(at: .seconds(500)))
        let others = [
            old.peerClosed(at: .seconds(70)), proven.peerClosed(at: .seconds(20)), never.peerClosed(at: .seconds(500)),
        ]
        #expect(others == [false, false, true])
    }
}

import Core
import Logging
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline

@Suite("Pausing an app")
struct PausingTests {
    private static func body(_ prefix: String, _ number: Int = 0, type: String = "alert") -> String {
        World.body(token: "\(prefix)\(1000 + number)", extra: "\"apns-push-type\":\"\(type)\",")
    }

    /// A worker with a large prefetch, for which 10 of 20 refused device tokens are too many.
    private static func world(
        _ script: String, limit: TokenRefusalShare.Limit? = .init(responses: 20, percent: 50)
    ) throws -> World {
        try World.started(script: script) {
            $0.queues[0].prefetch = 500
            $0.apns.badTokenPause = limit
        }
    }

    // MARK: Device tokens

    @Test("Many refused device tokens pause the app, the rest waits silently, and the right environment ends it")
    func environmentMixUp() throws {
        let world = try Self.world("")
        for number in 0..<60 { try world.request(Self.body("bad0", number), id: "m\(number)") }
        try world.request(Self.body("7", type: "voip"), id: "other topic")
        let worker = try #require(world.worker)
        let start = world.network.now
        world.pass(.seconds(1))
        #expect(
            worker.paused == [
                PausedTopic(
                    app: AppName("com.example.app", .production), topic: "com.example.app",
                    isForDevices: true, cause: .deviceTokens(refused: 20, responses: 20), since: start, held: 41)
            ])
        let unregistered = world.published(in: "push.results").filter { $0.outcome == "unregistered" }
        #expect(unregistered.count == 19)
        for (index, result) in unregistered.enumerated() {
            let refused = "\(index + 1) of the last \(index + 1) device tokens were refused"
            #expect(result.body.contains("the environment may be wrong: \(refused)"))
        }
        #expect(world.published(in: "push.feedback").count == 19)
        #expect(world.broker.unsettledCount == 41)
        // Two probes are refused: they end, and no feedback is published for their tokens.
        world.pass(.seconds(50))
        #expect(worker.paused.first?.held == 39)
        #expect(world.published(in: "push.feedback").count == 19)
        try world.restartAPNs("set built-in-tokens off")
        #expect(world.pass(atMost: .seconds(120)) { world.isQuiet })
        let outcomes = world.published(in: "push.results").map(\.outcome)
        #expect(outcomes.count { $0 == "unregistered" } == 21)
        #expect(outcomes.count { $0 == "accepted" } == 40)
        #expect(world.published(in: "push.dead").isEmpty)
        #expect(worker.paused == [])
    }

    @Test("A queue of unregistered tokens only is emptied, slowly")
    func deadTokens() throws {
        let world = try Self.world("")
        for number in 0..<30 { try world.request(Self.body("bad0", number), id: "m\(number)") }
        #expect(world.worker?.paused.first?.held == 11)
        let start = world.network.now
        // The first probe pauses the credential; that of both pauses shows that it is accepted again.
        try world.restartAPNs("topic *: 403 InvalidProviderToken")
        world.pass(.seconds(20))
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(3600)) { world.isQuiet })
        #expect(world.network.now - start > .seconds(900))
        let results = world.published(in: "push.results")
        #expect(results.count == 30 && results.allSatisfy { $0.outcome == "unregistered" })
    }

    @Test("After a pause the refused device tokens are counted anew")
    func countsAnew() throws {
        let world = try Self.world("")
        for number in 0..<20 { try world.request(Self.body("bad0", number), id: "m\(number)") }
        #expect(world.worker?.paused.map(\.held) == [1])
        try world.request(Self.body("7"), id: "good")
        for number in 20..<23 { try world.request(Self.body("bad0", number), id: "m\(number)") }
        // Probes at 15 and 45 s: the second one is accepted, and the others follow at once.
        #expect(world.pass(atMost: .seconds(50)) { world.isQuiet })
        #expect(world.worker?.paused == [] && world.published(in: "push.feedback").count == 22)
    }

    @Test(
        "Unregistered devices pause nothing, in any number, nor do refused device tokens without a limit",
        arguments: [("dead", TokenRefusalShare.Limit(responses: 20, percent: 50)), ("bad0", nil)])
    func allReported(prefix: String, limit: TokenRefusalShare.Limit?) throws {
        let world = try Self.world("", limit: limit)
        for number in 0..<200 { try world.request(Self.body(prefix, number), id: "m\(number)") }
        #expect(world.isQuiet)
        #expect(world.published(in: "push.feedback").count == 200)
    }

    @Test("Refused requests in flight at the start of a pause wait, and accepted ones do not end the pause")
    func inFlight() throws {
        // All are sent before any response except the first.
        let world = try Self.world("token bad0*: delay 5s, 400 BadDeviceToken\ntoken 7*: delay 6s")
        try world.request(Self.body("1", 0), id: "first")
        for number in 0..<30 { try world.request(Self.body("bad0", number), id: "bad\(number)") }
        for number in 0..<5 { try world.request(Self.body("7", number), id: "good\(number)") }
        #expect(world.sent == 36)
        world.pass(.seconds(7))
        // One acceptance and 19 refusals are twenty; the other refusals have no result.
        #expect(world.published(in: "push.feedback").count == 18)
        #expect(world.worker?.paused.first?.held == 12)
        #expect(world.published(in: "push.results").count == 1 + 18 + 5)
        #expect(world.worker?.paused.first?.cause == .deviceTokens(refused: 19, responses: 20))
    }

    // MARK: Probes

    @Test(
        "An inconclusive probe leaves the app paused, without a dead letter, and another one follows",
        arguments: ["429 TooManyRequests", "503 ServiceUnavailable", "500 InternalServerError", "cut", "silence"])
    func undecided(ending: String) throws {
        let world = try World.started(script: "first 1 requests: 403 TopicMismatch\nfirst 5 requests: \(ending)") {
            $0.apns.requestTimeout = .seconds(5)
            $0.retry.delays = [.seconds(20)]
            $0.retry.throttledDelays = [.seconds(20)]
        }
        for number in 0..<3 { try world.request(Self.body("7", number), id: "m\(number)") }
        world.pass(.seconds(70))
        #expect(world.published(in: "push.results").isEmpty)
        #expect(world.sent >= 4)
        #expect(world.pass(atMost: .seconds(600)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted", "accepted", "accepted"])
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("A probe that is lost three times is parked")
    func lost() throws {
        let world = try World.started(script: "first 1 requests: 403 TopicMismatch\ntoken *: cut")
        try world.request(Self.body("7"), id: "m0")
        #expect(world.pass(atMost: .seconds(300)) { world.parked.count == 1 })
        #expect(world.sent == 4)
    }

    @Test("An inconclusive probe that may not be retried soon is parked, and the next request becomes the probe")
    func poison() throws {
        let world = try World.started(script: "first 1 requests: 403 TopicMismatch") {
            $0.queues[0].prefetch = 1
            $0.retry.maximumAttempts = 2
        }
        try world.request(Self.body("f100d"), id: "throttled")
        try world.request(Self.body("7"), id: "good")
        #expect(world.pass(atMost: .seconds(120)) { world.isQuiet })
        #expect(Set(world.published(in: "push.results").map(\.outcome)) == ["undelivered", "accepted"])
        #expect(world.published(in: "push.dead").map(\.outcome) == ["undelivered"])
    }

    @Test(
        "A response that blames the notification shows that the app is accepted",
        arguments: ["200", "410 Unregistered", "413 PayloadTooLarge", "400 BadCollapseId", "400 BadDeviceToken"])
    func decided(response: String) throws {
        let script = "first 1 requests: 403 TopicMismatch\nfirst 2 requests: \(response)"
        let world = try World.started(script: script, prefetch: 30)
        for number in 0..<3 { try world.request(Self.body("7", number), id: "m\(number)") }
        #expect(world.pass(atMost: .seconds(15)) { world.isQuiet })
        #expect(world.sent == 4)
    }

    // MARK: The log

    @Test("Pause and resumption are logged once, with app, topic and cause")
    func log() throws {
        let world = try World.started(script: "type voip, first 5 requests: 403 TopicMismatch", prefetch: 80)
        for number in 0..<8 { try world.request(Self.body("7", number, type: "voip"), id: "m\(number)") }
        #expect(world.pass(atMost: .seconds(600)) { world.isQuiet })
        let told = world.log.filter { $0.metadata["refused"] != nil }
        #expect(told.map(\.level) == [.error, .notice])
        for line in told {
            #expect(line.metadata["topic"]?.description == "com.example.app")
            #expect(line.metadata["environment"]?.description == "production")
            #expect(line.metadata["refused"]?.description == "com.example.app.voip")
        }
        #expect(told.map { $0.metadata["cause"]?.description } == ["TopicMismatch", nil])
    }

    @Test("An unknown reason and one that is our own fault are logged once each, and counted")
    func announced() throws {
        let script = "token a*: 400 \"New\"\ntoken b*: 404 BadPath\ntoken c*: 500"
        let world = try World.started(script: script) { $0.retry.maximumAttempts = 1 }
        for (number, token) in ["a1", "b1", "c1", "a2", "b2", "a3"].enumerated() {
            try world.request(Self.body(token, number), id: "m\(number)")
        }
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let told = world.log.filter { $0.metadata["reason"] != nil }
        #expect(told.map { $0.metadata["reason"]?.description } == ["New", "BadPath", "status 500 without a reason"])
        #expect(told.map { $0.number("status") } == [400, 404, 500])
        #expect(told.map(\.level) == [.warning, .error, .warning])
        #expect(world.worker?.counters[.unknownReasons] == 4)
    }
}

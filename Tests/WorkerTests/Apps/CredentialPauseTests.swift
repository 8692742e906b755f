import Core
import Logging
import SimulatedWorld
import Testing

@testable import Configuration
@testable import Pipeline

/// Pauses of a whole app because its credential is refused, in a response or by GOAWAY.
@Suite("Pausing an app for its credential")
struct CredentialPauseTests {
    private static func body(_ number: Int, type: String = "alert", topic: String = "com.example.app") -> String {
        World.body(number, topic: topic, extra: "\"apns-push-type\":\"\(type)\",")
    }

    private static let reasons = ResponseRule.all.filter { $0.action.pause == .app }.map(\.reason.description)

    @Test(
        "GOAWAY for the credential pauses the app, with any last-stream-id, and no request is dead-lettered",
        arguments: reasons, ["last=before", "last=this close=now"])
    func goaway(reason: String, last: String) throws {
        let world = try World.started(script: "topic *: silence, goaway \(reason) \(last)", prefetch: 50)
        for number in 0..<5 { try world.request(Self.body(number), id: "m\(number)") }
        world.pass(.seconds(1000))
        let worker = try #require(world.worker)
        #expect(worker.paused.map(\.cause) == [.credential(RejectionReason(rawValue: reason))])
        #expect(worker.paused.map(\.held) == [5] && worker.paused.map(\.topic) == ["com.example.app"])
        #expect(world.published(in: "push.results").isEmpty && world.published(in: "push.dead").isEmpty)
        // The first and one for each probe, at 15, 45, 105, 225, 465 and 765 s.
        #expect(world.sent == 7 && (worker.counters[.uncertain] > 0) == (last == "last=this close=now"))
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(400)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == Array(repeating: "accepted", count: 5))
        #expect(worker.paused == [])
    }

    @Test("GOAWAY pauses the apps whose notifications the pool carries, and no other app of the same credential")
    func goawayOfSharedPool() throws {
        let world = try World.started(script: "topic com.example.app: goaway BadCertificate last=before") {
            var third = $0.apps[1]
            (third.topic, third.endpoint) = ("com.example.third", Endpoint(host: "nowhere.test", port: 443))
            $0.apps.append(third)
        }
        try world.request(Self.body(3, topic: "com.example.third"), id: "m3")
        try world.request(Self.body(1), id: "m1")
        try world.request(Self.body(2, topic: "com.example.other"), id: "m2")
        world.pass(.seconds(1))
        #expect(world.worker?.paused.map(\.app.topic) == ["com.example.app"])
        #expect(world.published(in: "push.results").map(\.messageID).count == 1)
    }

    @Test("A bad credential is one pause with one alarm and one probe at a time, for any number of topics")
    func oneGate() throws {
        let world = try World.started(script: "topic com.example.*: 403 BadCertificate", prefetch: 250)
        for type in ["alert", "voip", "background", "complication", "pushtotalk"] {
            for number in 0..<5 { try world.request(Self.body(number, type: type), id: "\(type) \(number)") }
        }
        world.pass(.seconds(100))
        #expect(world.worker?.paused.map(\.held) == [25])
        #expect(world.worker?.paused.map(\.cause) == [.credential(RejectionReason(rawValue: "BadCertificate"))])
        // Those already in flight, and probes at 15 and 45 s.
        #expect(world.sent <= 4)
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(120)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 25)
        #expect(world.log.filter { $0.metadata["refused"] != nil }.map(\.level) == [.error, .notice])
    }

    @Test("When the credential is accepted and the topic is not, only the topic stays paused")
    func thenTheTopic() throws {
        let script = "first 1 requests: 403 BadCertificate\ntype voip: 400 TopicDisallowed"
        let world = try World.started(script: script, prefetch: 60)
        for number in 0..<3 { try world.request(Self.body(number, type: "voip"), id: "v\(number)") }
        for number in 0..<3 { try world.request(Self.body(number), id: "a\(number)") }
        world.pass(.seconds(16))
        try world.setScript("")
        #expect(world.worker?.paused.map(\.topic) == ["com.example.app.voip"])
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted", "accepted", "accepted"])
        world.cut(World.apns)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 6 && world.published(in: "push.dead").isEmpty)
        let resumed = world.log.map(\.message).filter { $0.hasSuffix(" is no longer refused: it is resumed") }
        #expect(resumed.map { $0.contains("this topic") } == [false, true])
    }

    // MARK: Held requests

    @Test("Many requests that expire while they are held end a few at a time")
    func expiredWhileHeld() throws {
        let world = try World.started(script: "topic com.example.*: 403 BadCertificate", prefetch: 15000)
        let expiration = World.start.wall.seconds + 5
        for number in 0..<1500 {
            let body = Self.body(number).dropLast() + ",\"apns-expiration\":\(expiration)}"
            try world.request(String(body), id: "m\(number)")
        }
        let worker = try #require(world.worker)
        #expect(worker.paused.map(\.held) == [1500])
        var before = worker.counters[.expired]
        var most: UInt64 = 0
        world.check = {
            most = max(most, worker.counters[.expired] - before)
            before = worker.counters[.expired]
        }
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        #expect(worker.counters[.expired] == 1500 && most <= UInt64(RequestPipeline.maximumDuePerTurn))
    }
}

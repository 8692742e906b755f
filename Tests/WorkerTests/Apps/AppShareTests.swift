import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline
@testable import Runtime

/// An app that cannot send holds at most a tenth of the prefetch of a queue that it shares: `docs/operate/retries.md`,
/// "Hold time".
@Suite("Apps that share a queue")
struct AppShareTests {
    /// - Parameter isUnreachable: whether the host of the second app never responds.
    private static func world(_ script: String = "", prefetch: UInt16 = 500, isUnreachable: Bool = false) throws
        -> World
    {
        try World.started(script: script, prefetch: prefetch, hold: .seconds(300)) {
            if isUnreachable { $0.apps[1].endpoint = Endpoint(host: "nowhere.test", port: 443) }
        }
    }

    private static func results(_ world: World) -> Int { world.published(in: "push.results").count }

    @Test("Another app is served at once, however many requests the refused one has, twice in a row")
    func refused() throws {
        let world = try Self.world("topic com.example.other: 403 InvalidProviderToken")
        for round in 1...2 {
            try world.put(0..<900, topic: "com.example.other")
            try world.put(0..<50)
            #expect(world.pass(atMost: .seconds(10)) { Self.results(world) == 50 * round }, "round \(round)")
            world.pass(.seconds(1))
            #expect(world.worker?.paused.reduce(0) { $0 + $1.held } == 50)
            #expect(world.broker.unsettledCount <= 51)
            // A few for each closed lane, however many notifications are held or parked.
            #expect(try #require(world.worker).worker.pipeline.waiting.releases.count <= 4)
            world.pass(.seconds(100))
        }
        let held = world.broker.unsettledCount + world.parked.count + world.broker.messages(in: "push.requests").count
        #expect(held == 1800 && world.published(in: "push.dead").isEmpty)
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(2 * 3600)) { world.isQuiet })
        #expect(Self.results(world) == 1900 && world.published(in: "push.dead").isEmpty)
    }

    @Test("Another app is served within seconds when the first one's APNs does not answer")
    func unreachable() throws {
        let world = try Self.world(isUnreachable: true)
        try world.put(0..<900, topic: "com.example.other")
        try world.put(0..<50)
        #expect(world.pass(atMost: .seconds(20)) { Self.results(world) == 50 })
        world.pass(.seconds(1))
        #expect(world.broker.unsettledCount <= 51 && world.published(in: "push.dead").isEmpty)
        #expect(world.worker?.isSuspended == false)
        world.pass(.seconds(1000))
        try world.put(0..<50)
        #expect(world.pass(atMost: .seconds(20)) { Self.results(world) == 100 })
    }

    @Test("What exceeds the share takes the next longer delay each time")
    func delays() throws {
        let world = try Self.world("topic com.example.other: 403 InvalidProviderToken", prefetch: 10)
        try world.put(0..<2, topic: "com.example.other")
        var seen: [String] = []
        world.check = { [unowned world] in
            for queue in world.broker.queues.keys where queue.contains(".retry.") {
                if !world.broker.messages(in: queue).isEmpty, seen.last != queue { seen.append(queue) }
            }
        }
        world.pass(.seconds(150))
        #expect(seen == ["push.requests.retry.5s", "push.requests.retry.30s", "push.requests.retry.120s"])
    }

    @Test(
        "Many apps that are refused together leave half of the queue to the others, twice in a row",
        arguments: ["403 InvalidProviderToken", "403 TopicMismatch"])
    func manyRefused(response: String) throws {
        let names = (0..<12).map { "com.example.more\($0)" }
        let keys = "set key ABC123DEFG team=DEF123GHIJ\nset key NEWKEY1234 team=DEF123GHIJ\n"
        let world = try Self.world(keys + "topic com.example.more*: \(response)", prefetch: 20)
        try world.reload { configuration in
            configuration.apps += names.map { name in
                var app = configuration.apps[1]
                (app.topic, app.credential) = (name, world.otherKey)
                return app
            }
        }
        for round in 1...2 {
            for name in names { try world.put(0..<2, topic: name) }
            try world.put(0..<5)
            #expect(world.pass(atMost: .seconds(10)) { Self.results(world) == 5 * round }, "round \(round)")
            #expect(world.worker?.paused.reduce(0) { $0 + $1.held } ?? 11 <= 10)
            world.pass(.seconds(100))
        }
        try world.restartAPNs(keys)
        #expect(world.pass(atMost: .seconds(2 * 3600)) { world.isQuiet })
        #expect(Self.results(world) == 2 * 29 && world.published(in: "push.dead").isEmpty)
    }

    @Test("A fan-out uses one request of the share")
    func fanOut() throws {
        let world = try Self.world("topic com.example.other: 403 InvalidProviderToken", prefetch: 10)
        try world.request(World.fanOut((0..<20).map { World.token($0) }, topic: "com.example.other"), id: "m1")
        world.pass(.seconds(5))
        #expect(world.worker?.paused.map(\.held) == [20] && world.parked.isEmpty)
    }

    @Test("A paused app keeps to its share while the fan-outs of another one fill the worker")
    func fullWorker() throws {
        let script = "topic com.example.other: 403 TopicMismatch\ntopic com.example.app: delay 100s"
        let world = try Self.world(script, prefetch: 100)
        try world.put(0..<1, topic: "com.example.other")
        let tokens = (0..<200).map { World.token($0) }
        for number in 0..<10 { try world.request(World.fanOut(tokens), id: "m\(number)") }
        try world.request(World.fanOut(tokens, topic: "com.example.other"), id: "fan-out")
        try world.put(1..<21, topic: "com.example.other")
        #expect(world.parked.count == 12)
    }

    @Test("When no app can send, nothing is parked, and consuming stops within seconds")
    func standstill() throws {
        let refused = "topic *: 403 InvalidProviderToken"
        let world = try World.started(script: refused, prefetch: 2000, hold: .seconds(300)) { $0.apps.removeLast() }
        for round in 1...2 {
            try world.put(0..<600)
            #expect(world.pass(atMost: .seconds(10)) { world.worker?.isSuspended == true }, "round \(round)")
            #expect(world.worker?.counters[.parked] == 0)
            #expect(world.broker.queues["push.requests"]?.consumerCount == 0)
            try world.restartAPNs("")
            #expect(world.pass(atMost: .seconds(100)) { world.isQuiet })
            #expect(Self.results(world) == 600 * round && world.worker?.isSuspended == false)
            #expect(world.worker?.counters[.parked] == 0)
            try world.restartAPNs(refused)
        }
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("When one of two refused apps can send again, the other one keeps its share and the rest is parked, twice")
    func oneRecovers() throws {
        let world = try Self.world()
        for round in 1...2 {
            try world.restartAPNs("topic *: 403 InvalidProviderToken")
            // One of each app first: after that no app can send, and the others are held without a limit.
            for range in [0..<1, 1..<100] {
                world.pass(.seconds(2))
                try world.put(range)
                try world.put(range, topic: "com.example.other")
            }
            world.pass(.seconds(5))
            #expect(world.parked.isEmpty && world.worker?.paused.reduce(0) { $0 + $1.held } == 200)
            try world.setScript("topic com.example.other: 403 InvalidProviderToken")
            #expect(world.pass(atMost: .seconds(20)) { Self.results(world) == 200 * round - 100 })
            world.pass(.seconds(1))
            #expect(world.parked.count == 50 && world.worker?.paused.map(\.held) == [50])
            try world.restartAPNs("")
            #expect(world.pass(atMost: .seconds(1000)) { world.isQuiet && Self.results(world) == 200 * round })
        }
    }

    @Test("What another app has in the pool is sent when an app is refused")
    func othersInPool() throws {
        let world = try Self.world("topic com.example.other: delay 1s, 403 TopicMismatch")
        // One stream until the first response: the others wait in the pool.
        try world.put(0..<1, topic: "com.example.other")
        try world.put(0..<5)
        world.pass(.seconds(2))
        #expect(world.worker?.paused.map(\.held) == [1] && Self.results(world) == 5)
    }

    @Test("apns-expiration 0 is tried for 30 seconds, is never parked, and then expires")
    func nowOrNever() throws {
        let world = try Self.world(
            "topic com.example.other: 403 InvalidProviderToken\ntype voip: 503 ServiceUnavailable\n"
                + "set channel dHN0LXNyY2gtY2hubA== app=com.example.app\ntype liveactivity: 503 ServiceUnavailable")
        try world.request(World.body(1, topic: "com.example.other", extra: "\"apns-expiration\":0,"), id: "paused")
        try world.request(World.body(2, extra: "\"apns-push-type\":\"voip\",\"apns-expiration\":0,"), id: "unavailable")
        try world.request(
            #"{"apns-channel-id":"dHN0LXNyY2gtY2hubA==","apns-topic":"com.example.app","apns-expiration":0,"#
                + #""payload":{"aps":{"event":"update","timestamp":1,"content-state":{"a":1}}}}"#, id: "broadcast")
        let later = "\"apns-expiration\":0,\"not-before\":\(World.start.wall.seconds + 12),"
        try world.request(World.body(3, topic: "com.example.other", extra: later), id: "later")
        world.pass(.seconds(25))
        #expect(world.published(in: "push.results").count == 2)
        world.pass(.seconds(10))
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["expired", "expired", "expired"])
        #expect(results[0].body.contains("\"status\":503") && world.worker?.counters[.parked] == 0)
        world.pass(.seconds(10))
        #expect(world.published(in: "push.dead").isEmpty && world.broker.unsettledCount == 0)
    }

    @Test("A probe of a topic that is withdrawn because the credential is refused does not keep the topic closed")
    func withdrawnProbe() throws {
        let world = try Self.world(
            "type voip, first 1 requests: 403 TopicMismatch\nfirst 2 requests: 403 InvalidProviderToken")
        for number in 0..<3 {
            try world.request(World.body(number, extra: "\"apns-push-type\":\"voip\","), id: "m\(number)")
        }
        #expect(world.pass(atMost: .seconds(600)) { world.isQuiet })
        #expect(world.worker?.paused == [] && Self.results(world) == 3)
    }
}

import Core
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline
@testable import Runtime

/// A worker whose configuration changes while it runs; see `docs/operate/configuration.md`.
@Suite("Reload")
struct ReloadTests {
    private static let keys = """
        set key ABC123DEFG team=DEF123GHIJ
        set key NEWKEY1234 team=DEF123GHIJ

        """

    private func publish(_ range: Range<Int>, topic: String = "com.example.app", to world: World) throws {
        for number in range { try world.request(World.body(token: "7\(number)", topic: topic), id: "m\(number)") }
    }

    private func outcomes(_ world: World) -> [String: Int] {
        Dictionary(world.published(in: "push.results").map { ($0.outcome ?? "", 1) }, uniquingKeysWith: +)
    }

    // MARK: Another credential

    @Test("A new key under load: requests in flight end on the old connection, others move, nothing is sent twice")
    func underLoad() throws {
        let world = try World.started(script: Self.keys + "token *: delay 2s") {
            $0.queues[0].prefetch = 40
            $0.apns.connections = 1...1
            ($0.apns.permitsPerSecond, $0.apns.burst) = (1, 5)
        }
        try publish(0..<1, to: world)
        world.pass(.seconds(10))
        try publish(1..<100, to: world)
        world.pass(.milliseconds(100))
        let inFlight = world.sent
        #expect((5...6).contains(inFlight - 1))
        try world.reload { configuration in
            configuration.apps[0].credential = world.otherKey
            (configuration.apns.permitsPerSecond, configuration.apns.burst) = (4000, 500)
        }
        #expect(world.pass(atMost: .seconds(120)) { world.isQuiet })
        #expect(outcomes(world) == ["accepted": 100] && world.sent == 100 && world.ledger.statistics.accepted == 100)
        let connections = Dictionary(world.ledger.records.map { ($0.connection, 1) }, uniquingKeysWith: +)
        // The other app had a connection of its key too, and has a new one because of the limits.
        #expect(connections.count == 2 && connections[1] == inFlight)
        world.pass(.seconds(30))
        #expect(world.openToAPNs == 2, "one for each key")
        #expect(world.worker?.counters[.retries] == 0)
    }

    @Test("The new key of a paused app is tried on the connections that opened for it")
    func repairsPaused() throws {
        let world = try World.started(script: "set key NEWKEY1234 team=DEF123GHIJ") { $0.apns.connections = 2...2 }
        try publish(0..<1, to: world)
        world.pass(.seconds(5))
        #expect(world.worker?.paused.count == 1)
        let attempts = world.network.attempts
        try world.reload { $0.apps[0].credential = world.otherKey }
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        #expect(world.network.attempts == attempts + 4, "two for notifications, and two for broadcasts")
        #expect(outcomes(world) == ["accepted": 1])
    }

    @Test("The old key stays in use until the new one has a connection")
    func connectsFirst() throws {
        let world = try World.started(script: Self.keys)
        world.network.latency = .milliseconds(500)
        try world.reload { $0.apps[0].credential = world.otherKey }
        try publish(0..<1, to: world)
        world.pass(.seconds(1))
        #expect(outcomes(world) == [:])
        world.pass(.seconds(20))
        try publish(1..<2, to: world)
        world.pass(.seconds(20))
        #expect(outcomes(world) == ["accepted": 2])
        #expect(world.ledger.records.map(\.connection) == [1, 2])
    }

    @Test("If the new connection does not open, its pool takes over after ten seconds and waits for it")
    func changeTimeout() throws {
        let world = try World.started(script: Self.keys)
        world.network.advance(by: .seconds(3))
        try world.reload { $0.apps[0].endpoint = Endpoint(host: "apns.test", port: 2197) }
        world.pass(.seconds(9))
        try publish(0..<1, to: world)
        world.pass(.milliseconds(500))
        #expect(outcomes(world) == ["accepted": 1])
        world.pass(.seconds(1))
        try publish(1..<3, to: world)
        world.pass(.seconds(20))
        #expect(outcomes(world) == ["accepted": 1] && world.broker.unsettledCount == 2)
        try world.reload { $0.apps[0].endpoint = World.apns }
        #expect(world.pass(atMost: .seconds(20)) { world.isQuiet })
        #expect(outcomes(world) == ["accepted": 3])
        #expect(world.worker?.counters[.retries] == 0 && world.worker?.worker.pipeline.waiting.count == 0)
    }

    @Test(
        "Refusals on the old pool say nothing about the new one: the requests are resent, uncounted",
        arguments: [
            "403 InvalidProviderToken", "403 ExpiredProviderToken", "429 TooManyProviderTokenUpdates",
            "403 BadCertificate", "403 Forbidden", "400 TopicDisallowed", "400 BadTopic", "400 BadDeviceToken",
        ])
    func outdatedRefusal(response: String) throws {
        let script = "token 75*, attempt 1: \(response)\ntoken 75*, attempt 1: delay 2s"
        let world = try World.started(script: Self.keys + script)
        try publish(0..<1, to: world)
        try world.request(World.body(token: "bad0"), id: "refused before")
        try publish(50..<55, to: world)
        world.pass(.seconds(1))
        try world.reload { $0.apps[0].credential = world.otherKey }
        var hasPaused = false
        world.check = { [unowned world] in if world.worker?.paused != [] { hasPaused = true } }
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        #expect(!hasPaused && world.worker?.worker.pipeline.waiting.table.apps[0].lanes[0].tokenRefusals.refused == 0)
        let results = world.published(in: "push.results")
        #expect(results.count == 7 && world.sent == 12)
        #expect(results.count { $0.outcome == "accepted" && $0.body.contains("\"attempts\":1,") } == 6)
    }

    @Test("A pause for device tokens ends when the setting that causes it is turned off, and begins again with it")
    func tokenPause() throws {
        let world = try World.started(script: "token *: 400 BadDeviceToken", prefetch: 50)
        for round in 1...2 {
            try world.reload { $0.apns.badTokenPause = TokenRefusalShare.Limit() }
            try world.put(100 * round..<100 * round + 40)
            world.pass(.seconds(3))
            #expect(world.worker?.paused.isEmpty == false && !world.isQuiet, "round \(round)")
            try world.reload { $0.apns.badTokenPause = nil }
            #expect(world.pass(atMost: .seconds(3)) { world.isQuiet }, "round \(round)")
            #expect(world.worker?.paused == [] && outcomes(world) == ["unregistered": 40 * round])
        }
    }

    @Test("GOAWAY for the old credential does not pause either", arguments: ["", "close=now", "last=none"])
    func outdatedGoaway(close: String) throws {
        let world = try World.started(
            script: Self.keys + "after 3s: goaway BadCertificate \(close)\ntoken 75*, attempt 1: delay 5s"
        ) { $0.queues[0].prefetch = 100 }
        try publish(0..<1, to: world)
        try publish(50..<55, to: world)
        world.pass(.seconds(1))
        try world.reload { $0.apps[0].credential = world.otherKey }
        var hasPaused = false
        world.check = { [unowned world] in if world.worker?.paused != [] { hasPaused = true } }
        #expect(world.pass(atMost: .seconds(20)) { world.isQuiet })
        #expect(!hasPaused && outcomes(world) == ["accepted": 6])
        if close != "close=now" { #expect(world.worker?.counters[.retries] == 0, "nothing was sent twice or failed") }
    }

    @Test(
        "With a key rotated under load and refused from then on, everything is accepted soon",
        arguments: [0, 100, 300, 700, 1500])
    func rotatedUnderLoad(latency: Int) throws {
        let keys = """
            set key ABC123DEFG team=DEF123GHIJ until=12s
            set key NEWKEY1234 team=DEF123GHIJ
            token *: delay 1s
            """
        let world = try World.started(script: keys) {
            $0.queues[0].prefetch = 100
            ($0.apns.permitsPerSecond, $0.apns.burst) = (10, 5)
        }
        try publish(0..<1, to: world)
        world.pass(.seconds(10))
        try publish(1..<100, to: world)
        world.pass(.seconds(1))
        world.network.latency = .milliseconds(latency)
        try world.reload { configuration in
            configuration.apps[0].credential = world.otherKey
            (configuration.apns.permitsPerSecond, configuration.apns.burst) = (4000, 500)
        }
        #expect(world.pass(atMost: .seconds(40)) { world.isQuiet })
        #expect(outcomes(world) == ["accepted": 100])
        #expect(world.published(in: "push.dead").isEmpty && world.worker?.paused == [])
    }

    @Test("An app whose new key is wrong pauses, and resumes with the old one")
    func wrongKey() throws {
        let world = try World.started(script: "set key ABC123DEFG team=DEF123GHIJ", prefetch: 40)
        try publish(0..<4, to: world)
        try world.reload { $0.apps[0].credential = world.otherKey }
        try publish(4..<8, to: world)
        world.pass(.seconds(100))
        #expect(outcomes(world) == ["accepted": 4] && world.broker.unsettledCount == 4)
        try world.reload { $0.apps[0].credential = world.original.apps[0].credential }
        #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
        #expect(outcomes(world) == ["accepted": 8])
    }

    // MARK: Apps

    @Test("Unchanged apps keep their connections; the route of results changes at once")
    func unchanged() throws {
        let world = try World.started()
        try publish(0..<3, to: world)
        let attempts = world.network.attempts
        try world.reload { $0.results.route = .init(exchange: "", routingKey: "replies") }
        try publish(3..<6, to: world)
        world.pass(.seconds(60))
        #expect(world.network.attempts == attempts)
        #expect(world.published(in: "push.results").count == 3 && world.published(in: "replies").count == 3)
    }

    @Test("Requests in flight of a removed app end, its other requests are invalid, and other apps continue")
    func removed() throws {
        let world = try World.started(script: "token *: delay 5s") {
            $0.queues[0].prefetch = 40
            ($0.apns.permitsPerSecond, $0.apns.burst) = (1, 2)
        }
        try publish(0..<1, to: world)
        world.pass(.seconds(10))
        try publish(1..<9, to: world)
        world.pass(.milliseconds(100))
        try world.reload { $0.apps.removeFirst() }
        try publish(9..<10, to: world)
        try publish(10..<11, topic: "com.example.other", to: world)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let sent = world.sent
        #expect(outcomes(world) == ["accepted": sent, "invalid": 11 - sent] && (4...5).contains(sent))
        #expect(world.published(in: "push.dead").count == 11 - sent)
    }

    @Test("What was tried before its app was removed is undelivered", arguments: [100, 100_000])
    func triedBefore(milliseconds: Int) throws {
        let world = try World.started(script: "token *: rst INTERNAL_ERROR")
        try publish(0..<1, to: world)
        world.pass(.milliseconds(milliseconds))
        try world.reload { $0.apps.removeFirst() }
        #expect(world.pass(atMost: .seconds(2000)) { world.isQuiet } && outcomes(world) == ["undelivered": 1])
        #expect(world.published(in: "push.results").first?.body.contains(#""processed":"unknown""#) == true)
    }

    @Test("A removed app that returns while its notifications are in flight is the same app")
    func removedAndBack() throws {
        let world = try World.started(script: "token *: delay 5s")
        try publish(0..<5, to: world)
        world.pass(.seconds(1))
        let app = world.configuration.apps[0]
        try world.reload { $0.apps.removeFirst() }
        try world.reload { $0.apps.append(app) }
        try publish(5..<8, to: world)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(outcomes(world)["accepted"].map { $0 >= 4 } ?? false, "\(outcomes(world))")
        #expect(outcomes(world).values.reduce(0, +) == 8)
    }

    @Test("Apps are added and removed: unused slots are reused")
    func slots() throws {
        let world = try World.started(script: "token 799*: 503 ServiceUnavailable")
        world.broker.queues["push.requests.retry.900s"]?.rejectsPublishes = true
        try publish(99..<100, to: world)
        var app = world.configuration.apps[0]
        for number in 0..<20 {
            app.topic = "com.example.app\(number)"
            try world.reload { $0.apps = [app] }
            try publish(number..<number + 1, topic: "com.example.app\(number)", to: world)
            world.pass(.seconds(20))
        }
        #expect(outcomes(world) == ["accepted": 20])
        #expect((world.worker?.worker.pipeline.waiting.table.apps.count ?? 0) <= 3)
        #expect(world.worker?.worker.pipeline.waiting.table.apps[0].isRemoved == true, "its copy waits")
        #expect((world.worker?.worker.pools.roster.count ?? 0) <= 6)
    }

    @Test("An app added to a key gets a connection bound anew by APNs, and so do those that share it")
    func added() throws {
        let world = try World.started(script: Self.keys)
        try publish(0..<1, to: world)
        var third = world.configuration.apps[0]
        third.topic = "com.example.third"
        let attempts = world.network.attempts
        try world.reload { $0.apps.append(third) }
        try publish(1..<2, topic: "com.example.third", to: world)
        try publish(2..<3, to: world)
        world.pass(.seconds(20))
        #expect(outcomes(world) == ["accepted": 3] && world.network.attempts == attempts + 1)
        #expect(world.ledger.records.map(\.connection) == [1, 2, 2] && world.openToAPNs == 1)
    }

    @Test("A draining worker does not hand over any more, and sends what waits for a permit")
    func draining() throws {
        let world = try World.started(script: "token *: delay 1s") {
            $0.apns.connections = 1...1
            $0.apns.burst = 1
        }
        try publish(0..<5, to: world)
        #expect(world.sent == 1)
        world.worker?.startDrain(deadline: world.network.now + .seconds(30))
        let attempts = world.network.attempts
        try world.reload { $0.apps[0].credential = world.otherKey }
        #expect(world.pass(atMost: .seconds(30)) { world.worker?.hasEnded ?? false })
        #expect(world.network.attempts == attempts && outcomes(world) == ["accepted": 5])
    }

    @Test("A drain that begins during a handover ends in order", arguments: [0, 100, 400, 1100, 3000])
    func drainWhileHandingOver(milliseconds: Int) throws {
        let world = try World.started(script: Self.keys + "token *: delay 500ms")
        try publish(0..<8, to: world)
        world.network.latency = .milliseconds(100)
        try world.reload { $0.apps[0].credential = world.otherKey }
        try publish(8..<12, to: world)
        world.pass(.milliseconds(milliseconds))
        let worker = try world.drain(within: .seconds(40))
        let left = world.broker.messages(in: "push.requests").count
        #expect(outcomes(world)["accepted", default: 0] + left == 12 && !worker.wasCutShort)
    }

    @Test("Two reloads at once have the same effect as the second alone")
    func twice() throws {
        let world = try World.started(script: Self.keys)
        let first = world.configuration.apps[0].credential
        try publish(0..<1, to: world)
        try world.reload { $0.apps[0].credential = world.otherKey }
        try world.reload { $0.apps[0].credential = first }
        try publish(1..<3, to: world)
        world.pass(.seconds(30))
        #expect(outcomes(world) == ["accepted": 3] && world.openToAPNs == 1)
    }
}

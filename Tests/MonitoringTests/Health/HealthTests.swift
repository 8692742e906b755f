import AMQP
import Admin
import Core
import Foundation
import Pipeline
import Runtime
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Monitoring

@Suite("Readiness")
struct HealthTests {
    private let world: World

    init() throws {
        world = try World.started()
    }

    private func health(_ world: World, _ edit: (inout ProcessSnapshot) -> Void = { _ in }) -> Health {
        var processSnapshot = world.processSnapshot()
        edit(&processSnapshot)
        return Health(processSnapshot)
    }

    @Test("A worker that consumes, publishes and reaches APNs is ready")
    func ready() throws {
        let health = health(world)
        #expect(health.missing.isEmpty && health.queues == [Health.Queue(name: "push.requests", consumers: 1)])
        #expect(health.apps.map(\.name.topic) == ["com.example.app", "com.example.other"])
        #expect(health.apps.allSatisfy { $0.isUsable && $0.connections == 1 && $0.authenticated == 0 })
        try world.request(World.body())
        world.pass(.seconds(1))
        #expect(self.health(world).apps.map(\.authenticated) == [1, 1])
    }

    @Test("Without the broker it is not ready, and reports what is missing, until the broker is back")
    func broker() {
        // The second round shows whether the outage was forgotten.
        for _ in 0..<2 {
            world.isBrokerDown = true
            world.cut(World.broker)
            world.pass(.seconds(14))
            let problems = health(world).problems
            #expect(problems.map(\.runbook) == [.notConsuming, .notPublishing])
            #expect(problems[0].text.hasPrefix("queue push.requests is consumed by 0 of 1 workers since "))
            #expect(problems[1].text.hasPrefix("the publishing connection of 1 workers is not open since "))
            #expect(problems.allSatisfy { $0.text.contains(" since 14 s: ") }, "\(problems)")
            world.isBrokerDown = false
            world.pass(.seconds(60))
            #expect(health(world).problems.isEmpty)
        }
        for which in ["consuming", "publishing"] {
            #expect(world.log.count { $0.message == "the \(which) connection is open again" } == 2)
        }
    }

    @Test("A queue whose broker cannot be asked whether it is a stream is not consumed until it answers")
    func inquiry() throws {
        world.isBrokerDown = true
        try world.request(World.body(), id: "m1") { $0.headers = ["x-stream-offset": .int64(3)] }
        world.pass(.seconds(20))
        let problem = try #require(health(world).problems.first)
        #expect(problem.runbook == .notConsuming && problem.text.contains(" since "), "\(problem)")
        world.cut(World.broker)
        world.isBrokerDown = false
        #expect(world.pass(atMost: .seconds(90)) { self.health(world).problems.isEmpty && world.isQuiet })
        #expect(world.worker?.counters.deliveries == [1], "what was held ended with its channel")
    }

    @Test("An inquiry is tried again by itself, while all other connections stay open")
    func inquiryAgain() throws {
        world.isBrokerDown = true
        try world.request(World.body(), id: "m1") { $0.headers = ["x-stream-offset": .int64(3)] }
        world.pass(.seconds(5))
        world.isBrokerDown = false
        #expect(world.pass(atMost: .seconds(5)) { world.isQuiet })
        let slow = try World.started()
        slow.network.latency = .seconds(1)
        try slow.request(World.body(), id: "m1") { $0.headers = ["x-stream-offset": .int64(3)] }
        slow.pass(.seconds(2))
        #expect(health(slow).problems.isEmpty && !slow.isQuiet, "while the broker is asked")
    }

    @Test("Without APNs no app is usable")
    func apns() {
        for _ in 0..<2 {
            world.isAPNsDown = true
            world.cut(World.apns)
            world.pass(.seconds(14))
            let problems = health(world).problems
            #expect(problems.map(\.runbook) == [.noConnection, .noConnection])
            #expect(
                problems.allSatisfy { $0.isMissing && $0.text.contains(" has no connection to APNs since 14 s: ") },
                "\(problems)")
            world.isAPNsDown = false
            world.pass(.seconds(60))
            #expect(health(world).problems.isEmpty)
        }
    }

    @Test("A paused app is not usable, with its cause; another app is enough to be ready")
    func paused() throws {
        let world = try World.started(script: "token *: 403 BadEnvironmentKeyIdInToken") { $0.queues[0].prefetch = 20 }
        try world.request(World.body())
        try world.request(World.body())
        world.pass(.seconds(3))
        let paused = health(world)
        #expect(
            paused.apps[0].pauses == [
                Health.Pause(
                    topic: "com.example.app", cause: "BadEnvironmentKeyIdInToken", runbook: .credentialRefused,
                    explanation: "APNs refuses the credential (BadEnvironmentKeyIdInToken)", seconds: 3, held: 2)
            ])
        #expect(health(world) { $0.workers += $0.workers }.apps[0].pauses.map(\.held) == [4], "of two workers")
        #expect(paused.apps.map(\.isUsable) == [false, true] && paused.isReady)
        let problem = "com.example.app (production) is paused: APNs refuses the credential (BadEnvironmentKeyIdInToken)"
        #expect(paused.apps.map(\.problem) == [problem, nil])
        #expect(health(world) { $0.needsEveryApp = true }.missing == [problem])
        try world.request(World.body(topic: "com.example.other"))
        world.pass(.seconds(1))
        let both = [problem, problem.replacing("example.app", with: "example.other")]
        #expect(health(world).missing == both)
        // A standstill consumes nothing on purpose.
        world.pass(.seconds(30))
        #expect(health(world).queues.map(\.consumers) == [0])
        #expect(health(world).missing == both)
    }

    @Test("An app that may not manage channels is still usable for devices")
    func channelsPaused() throws {
        func world(alsoRefusing type: String) throws -> World {
            let script = "operation create: 400 TopicDisallowed\ntype \(type): 400 TopicDisallowed"
            let world = try World.started(script: script) { $0.apps.removeAll { $0.topic != "com.example.app" } }
            try world.request(
                #"{"apns-topic":"com.example.app","channel":{"operation":"create","message-storage-policy":1}}"#)
            world.pass(.seconds(1))
            return world
        }
        let third = try world(alsoRefusing: "alert")
        try third.request(World.body())
        third.pass(.seconds(1))
        #expect(self.health(third).apps[0].pauses.count == 2, "of one topic, for one cause")
        let world = try world(alsoRefusing: "voip")
        let health = health(world)
        #expect(health.apps.map { $0.pauses.map(\.isForDevices) } == [[false]])
        #expect(health.isReady && health.apps[0].isUsable && health.problems.map(\.runbook) == [.appPaused])
        let other = try World.started(script: "token *: 403 BadEnvironmentKeyIdInToken")
        try other.request(World.body())
        other.pass(.seconds(1))
        let both = self.health(world) { $0.workers += other.processSnapshot().workers }
        #expect(both.apps[0].pauses.map(\.isForDevices) == [false, true])
        try world.request(World.body(extra: "\"apns-push-type\":\"voip\","))
        world.pass(.seconds(1))
        #expect(self.health(world).apps[0].pauses.map(\.held) == [1, 1] && self.health(world).isReady, "of both")
        world.pass(.seconds(10))
        let topic = "com.example.app.voip"
        let refused = "\(topic) (production) is paused: APNs refuses the topic \(topic) (TopicDisallowed)"
        #expect(self.health(world).missing == [refused], "a standstill")
    }

    @Test("Workers that have not started, have ended or do not respond are missing, and so is a draining one")
    func workers() throws {
        func missing(_ edit: (inout ProcessSnapshot) -> Void) -> [String] { health(world, edit).missing }
        #expect(missing { $0.workers[0].isAlive = false } == ["worker 0 does not respond"])
        #expect(missing { $0.workers[0].snapshot = nil }.contains("not every worker has started"))
        #expect(missing { $0.workers[0].hasEnded = true }.contains("worker 0 has ended"))
        try world.request(World.body())
        let worker = try #require(world.worker)
        worker.startDrain(deadline: world.network.now + .seconds(30))
        #expect(missing { _ in } == ["draining"])
        #expect(missing { $0.needsEveryApp = true } == ["draining"])
        world.pass(.seconds(1))
        #expect(missing { _ in } == ["draining"], "connections that the drain has closed are not missing")
    }

    @Test("A failed reload is a problem, and the process stays ready")
    func reload() {
        let failed = health(world) { $0.reloadFailure = "harebell.yaml:3:1: unknown key" }
        #expect(failed.problems.map(\.text) == ["the configuration was not reloaded: harebell.yaml:3:1: unknown key"])
        #expect(failed.isReady && failed.problems.map(\.runbook) == [.reloadFailed])
    }

    @Test("It is not ready while one of two workers is blocked, also if it is the first one")
    func oneBlocked() throws {
        let seen = world.processSnapshot()
        let free = seen.workers[0]
        world.broker.setAlarm(true)
        try world.request(World.body())
        world.pass(.seconds(1))
        let blocked = world.processSnapshot().workers[0]
        let metrics = try [seen, world.processSnapshot()].map { try PrometheusPage($0) }
        #expect(metrics.map { $0.sum("harebell_broker_blocked") } == [0, 1])
        for workers in [[blocked, free], [free, blocked]] {
            let health = health(world) { $0.workers = workers }
            #expect(health.isBlocked && health.missing == ["the broker blocks publishing: low on memory"])
        }
        try world.request(World.body())
        world.worker?.startDrain(deadline: world.network.now + .seconds(30))
        world.pass(.seconds(1))
        #expect(health(world).missing == ["draining", "the broker blocks publishing: low on memory"])
    }

    @Test("A dead-letter queue that is missing makes it not ready, and a missing results queue does not")
    func missingQueues() throws {
        for _ in 0..<2 {
            world.broker.delete("push.dead")
            try world.request("{", id: "broken")
            world.pass(.seconds(5))
            #expect(health(world).missing == ["no queue receives what is published to push.dead"])
            #expect(health(world).problems.map(\.runbook) == [.queueMissing])
            world.broker.declare("push.dead")
            world.pass(.seconds(60))
            #expect(health(world).problems.isEmpty)
            try #require(world.broker.queues["push.dead"]).rejectsPublishes = true
            try world.request("{", id: "refused")
            world.pass(.seconds(10))
            #expect(health(world).problems.isEmpty)
            world.pass(.seconds(1))
            #expect(health(world).problems.map(\.runbook) == [.queueRefuses])
            world.broker.queues["push.dead"]?.rejectsPublishes = false
            world.pass(.seconds(60))
            #expect(health(world).problems.isEmpty)
        }
    }

    @Test("A dead-letter queue that is missing, also for a second time, is reported before a request fails, and once")
    func missingUnused() throws {
        let world = try World.started(declares: World.queues.filter { $0 != "push.dead" })
        func inspected() throws -> [String] {
            world.worker?.inspectQueues(at: world.moment)
            world.pass(.seconds(5))
            let refusing = try PrometheusPage(world.processSnapshot()).sum("harebell_queue_refusing")
            #expect(refusing ?? 0 == Double(health(world).missing.count))
            return health(world).missing
        }
        let missing = ["no queue receives what is published to push.dead"]
        #expect(health(world).isReady, "the worker has not inspected the queue yet")
        for _ in 0..<2 {
            #expect(try inspected() == missing)
            #expect(health(world).problems.map(\.runbook) == [.queueMissing])
            world.broker.declare("push.dead")
            #expect(try inspected().isEmpty)
            world.broker.delete("push.dead")
        }
        try world.request("{", id: "broken")
        world.pass(.seconds(1))
        #expect(try inspected() == missing)
        #expect(world.events.count { if case .notReady = $0 { true } else { false } } == 0)
        // It is known again soon after the connection was lost.
        world.cut(consuming: true)
        world.pass(.seconds(3))
        world.worker?.inspectQueues(at: world.moment)
        world.pass(.seconds(1))
        #expect(health(world).missing == missing)
    }

    @Test("A dead-letter route through another exchange names no queue that could be missing")
    func exchange() throws {
        let world = try World.started(declares: World.queues.filter { $0 != "push.dead" })
        world.worker?.inspectQueues(at: world.moment)
        world.pass(.seconds(5))
        #expect(!health(world).isReady)
        try world.reload { $0.deadLetter = Configuration.Route(exchange: "letters", routingKey: "push.dead") }
        #expect(health(world).problems.isEmpty)
        world.worker?.inspectQueues(at: world.moment)
        world.pass(.seconds(5))
        #expect(health(world).problems.isEmpty)
    }

    @Test("Each problem has a section in the runbook, which has the name of an alert")
    func runbook() throws {
        let page = String(decoding: DashboardPage.runbook.body, as: UTF8.self)
        for section in Health.Runbook.allCases { #expect(page.contains("### \(section.rawValue)\n"), "\(section)") }
    }

    @Test("Its JSON contains all of that")
    func json() throws {
        let world = try World.started(script: "token *: 403 BadEnvironmentKeyIdInToken")
        try world.request(World.body())
        world.pass(.seconds(2))
        let object = try #require(JSONSerialization.jsonObject(with: Data(health(world).json)) as? NSDictionary)
        let explanation = "APNs refuses the credential (BadEnvironmentKeyIdInToken)"
        let problem = "com.example.app (production) is paused: \(explanation)"
        let expected: NSDictionary = [
            "ready": true, "missing": [], "problems": [["text": problem, "runbook": "HarebellCredentialRefused"]],
            "workers": 1, "publishing": 1, "blocked": false, "queues": [["name": "push.requests", "consumers": 1]],
            "apps": [
                [
                    "topic": "com.example.app", "environment": "production", "usable": false, "connections": 1,
                    "authenticated": 0, "problem": problem,
                    "paused": [
                        [
                            "topic": "com.example.app", "cause": "BadEnvironmentKeyIdInToken", "seconds": 2, "held": 1,
                            "explanation": explanation,
                        ]
                    ],
                ],
                [
                    "topic": "com.example.other", "environment": "production", "usable": true, "connections": 1,
                    "authenticated": 0, "problem": NSNull(), "paused": [],
                ],
            ],
        ]
        #expect(object == expected)
    }
}

import Core
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline
@testable import Runtime

/// Rules of waiting that hold however often an app, APNs or the broker comes and goes: each test has two rounds.
@Suite("Waiting")
struct WaitingTests {
    private static let refused = "topic com.example.other: 403 InvalidProviderToken"

    // MARK: The broker's delivery timeout

    @Test("Held requests that a delivery timeout returns are sent once, and are held for a shorter time")
    func timeoutOfHeld() throws {
        let world = try World.started(script: Self.refused, prefetch: 300, hold: .seconds(300))
        for round in 0..<2 {
            try world.put(round * 30..<round * 30 + 30, topic: "com.example.other")
            world.pass(.seconds(15))
            world.broker.timeOut("push.requests")
            world.pass(.seconds(4))
            #expect(world.worker?.worker.longestHold == .seconds(5))
        }
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(1000)) { world.isQuiet })
        #expect(world.ledger.statistics.accepted == 60 && world.published(in: "push.results").count == 60)
        #expect(world.published(in: "push.dead").isEmpty && world.broker.violations.isEmpty)
    }

    @Test("Requests in flight that a delivery timeout returns are not sent again")
    func timeoutInFlight() throws {
        let world = try World.started(script: "token *: delay 20s", prefetch: 300)
        for round in 0..<2 {
            try world.put(round * 5..<round * 5 + 5)
            world.pass(.seconds(15))
            world.broker.timeOut("push.requests") { $0.body.last != UInt8(ascii: "x") }
            #expect(world.pass(atMost: .seconds(30)) { world.isQuiet })
        }
        #expect(world.sent == 10 && world.published(in: "push.results").count == 10)
        #expect(world.worker?.counters[.duplicatesAvoided] == 10)
    }

    @Test("A consumer that is cancelled with young deliveries does not shorten the hold time")
    func cancelledYoung() throws {
        let world = try World.started(script: "token *: delay 3s")
        for round in 0..<2 {
            try world.put(round * 5..<round * 5 + 5)
            world.pass(.seconds(1))
            world.broker.cancelConsumers(of: "push.requests")
            #expect(world.pass(atMost: .seconds(30)) { world.isQuiet })
            #expect(world.worker?.worker.longestHold == nil)
        }
    }

    @Test("A deleted queue does not shorten the hold time")
    func deletedQueue() throws {
        let world = try World.started(script: Self.refused, prefetch: 300)
        for round in 0..<2 {
            try world.put(round * 5..<round * 5 + 5, topic: "com.example.other")
            world.pass(.seconds(60))
            world.broker.delete("push.requests")
            world.broker.declare("push.requests")
            world.pass(.seconds(5))
            try world.put(100 + round..<101 + round)
            world.pass(.seconds(1))
            #expect(world.worker?.worker.longestHold == nil)
        }
        #expect(world.published(in: "push.results").count == 2)
    }

    // MARK: Connections

    @Test("A refused credential keeps no connection: probes open their own, and an accepted one the minimum")
    func pausedPool() throws {
        let world = try World.started(script: "topic *: 403 InvalidProviderToken") {
            $0.apps.removeAll { $0.topic != "com.example.app" }
            $0.apns.connections = 2...4
        }
        for round in 0..<2 {
            try world.put(round..<round + 1)
            world.pass(.seconds(5))
            #expect(world.worker?.paused.count == 1 && world.openToAPNs == 0)
            let attempts = world.network.attempts
            world.pass(.seconds(90))
            // Probes at 15 and 45 s, each on a fresh connection, and once more with a fresh token.
            #expect((2...4).contains(world.network.attempts - attempts) && world.openToAPNs == 0)
            try world.setScript("")
            #expect(world.pass(atMost: .seconds(120)) { world.isQuiet })
            world.pass(.seconds(1))
            #expect(world.worker?.paused == [] && world.openToAPNs == 2)
            try world.restartAPNs("topic *: 403 InvalidProviderToken")
            world.pass(.seconds(10))
        }
    }

    @Test("Another app of the key keeps its connections")
    func sharedPool() throws {
        let world = try World.started(script: Self.refused) { $0.apns.connections = 2...4 }
        for round in 0..<2 {
            try world.put(round..<round + 1, topic: "com.example.other")
            world.pass(.seconds(60))
            #expect(world.worker?.paused.count == 1 && world.openToAPNs >= 2)
        }
    }

    // MARK: Probes

    @Test("A probe that expires, or that its broker connection takes along, leaves the lane to the next one")
    func lostProbes() throws {
        let world = try World.started(script: "first 1 requests: 403 TopicMismatch", prefetch: 300)
        for round in 0..<2 {
            let expiration = world.moment.wall.seconds + 25
            try world.request(World.body(10 * round, extra: "\"apns-expiration\":\(expiration),"), id: "a\(round)")
            try world.put(10 * round + 1..<10 * round + 3)
            #expect(world.worker?.paused.map(\.held) == [3])
            world.pass(.seconds(10))
            world.isAPNsDown = true
            world.cut(World.apns)
            // The probe waits for a connection, and expires there.
            world.pass(.seconds(20))
            // The next one is taken along.
            world.cut(consuming: true)
            world.pass(.seconds(5))
            world.isAPNsDown = false
            #expect(world.pass(atMost: .seconds(100)) { world.isQuiet }, "round \(round)")
            #expect(world.worker?.paused == [])
            try world.restartAPNs("first 1 requests: 403 TopicMismatch")
        }
        let outcomes = world.published(in: "push.results").map(\.outcome)
        #expect(outcomes.count { $0 == "accepted" } == 4 && outcomes.count { $0 == "expired" } == 2)
    }

    // MARK: Returns

    @Test("Requests that fifteen standstills return are never suspected of crashing workers")
    func ownReturns() throws {
        let world = try World.started(script: Self.refused, prefetch: 10, hold: .seconds(30))
        world.broker.countsDeliveries = true
        try world.put(0..<10, topic: "com.example.other")
        for round in 0..<15 {
            world.isAPNsDown = true
            world.cut(World.apns)
            try world.put(round..<round + 1)
            world.pass(.seconds(60))
            #expect(world.worker?.isSuspended == true, "round \(round)")
            world.isAPNsDown = false
            world.pass(.seconds(120))
        }
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(3 * 3600)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == Array(repeating: "accepted", count: 25))
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("A drain waits neither for a paused app nor for retry queues that are missing", arguments: [true, false])
    func drainWhilePaused(hasRetryQueues: Bool) throws {
        let world = try World.started(script: Self.refused, hasRetryQueues: hasRetryQueues, hold: .seconds(300))
        try world.put(0..<5, topic: "com.example.other")
        for round in 0..<2 {
            world.pass(.seconds(10))
            #expect(try !world.drain(by: .seconds(60), within: .seconds(10)).wasCutShort, "round \(round)")
            #expect(world.broker.messages(in: "push.requests").count + world.parked.count == 5)
            world.kill()
            try world.start()
        }
    }

    // MARK: Large fan-outs

    @Test("Large fan-outs of one app fill neither the worker nor the way of another app")
    func fanOuts() throws {
        let world = try World.started {
            $0.queues[0].prefetch = 100
            $0.apns.connections = 1...1
            ($0.apns.permitsPerSecond, $0.apns.burst) = (200, 10)
        }
        var most = 0
        world.check = { [unowned world] in
            most = max(most, world.worker?.worker.pipeline.notifications.count ?? 0)
        }
        for round in 0..<2 {
            for number in 0..<20 {
                let tokens = (0..<200).map { "7a\(1_000_000_000 + round * 100_000 + number * 1000 + $0)" }
                try world.request(World.fanOut(tokens), id: "fan-out \(round) \(number)")
            }
            for number in 0..<70 { try world.request(World.body(token: "7b\(number)")) }
            try world.put(round..<round + 1, topic: "com.example.other")
            let others = { world.ledger.records.count { $0.deviceToken.starts(with: "70000".utf8) } }
            #expect(world.pass(atMost: .seconds(15)) { others() > round }, "round \(round)")
            #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        }
        #expect((RequestPipeline.maximumStarted...RequestPipeline.maximumStarted + 2 * 200).contains(most))
        #expect(world.published(in: "push.results").count == 2 * (20 * 200 + 70 + 1))
    }

    // MARK: The log

    @Test("Each connection to the broker logs the loss, the cause and the recovery once in each outage")
    func outages() throws {
        let world = try World.started()
        for round in 1...2 {
            world.isBrokerDown = true
            world.cut(World.broker)
            world.pass(.seconds(120))
            world.isBrokerDown = false
            world.pass(.seconds(60))
            for text in ["connection is lost", "cannot be opened", "is open again"] {
                #expect(world.log.count { $0.message.contains(text) } == round * 2, "\(text)")
            }
        }
    }
}

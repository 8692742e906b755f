import AMQP
import Core
import Logging
import Pipeline
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration
@testable import Runtime

/// The rows of the table in `docs/operate/guarantees.md` in which more than one part of a worker takes part.
@Suite("Delivery semantics")
struct DeliverySemanticsTests {
    // MARK: The worker

    @Test("The priority of a queue is that of its consumers, and the broker learns who connects")
    func consumerPriority() throws {
        let world = try World.started { ($0.queues[0].consumerPriority, $0.broker.heartbeat) = (-3, .seconds(7)) }
        #expect(world.broker.queues["push.requests"]?.consumeArguments["x-priority"] == .int32(-3))
        #expect(world.broker.engines.count == 2)
        for engine in world.broker.engines {
            let purpose = engine.isConsuming ? "consuming" : "publishing"
            let client = try FieldTable(decoding: engine.clientProperties[...])
            #expect(client["connection_name"] == .string("harebell \(purpose) \(WorkerName.text(index: 0))"))
            #expect(client["version"] == .string(Version.text) && engine.heartbeat == .seconds(7))
        }
    }

    @Test("worker dies after sending, before the acknowledgement: notification and result are repeated under their ids")
    func diesAfterSending() throws {
        let world = try World.started(before: { $0.broker.holdsConfirms = true })
        try world.request(World.body(extra: "\"apns-collapse-id\":\"c1\","), id: "m1")
        #expect(world.published(in: "push.results").count == 1)
        world.kill()
        world.broker.holdsConfirms = false
        try world.start()
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.sent == 2 && Set(world.ledger.records.map(\.apnsID)).count == 1)
        #expect(world.ledger.records.allSatisfy { $0.fields.collapseID == Array("c1".utf8) })
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["accepted", "accepted"] && Set(results.map(\.messageID)).count == 1)
    }

    @Test("a worker spaces its turns at the busy threshold, and not one delivery below it")
    func busy() throws {
        let world = try World.started(script: "token 1a7e*: delay 10s", prefetch: 100)
        // The first response: before it, a connection has one stream.
        try world.request(World.body())
        for _ in 1..<TurnPace.busyDeliveries { try world.request(World.body(token: "1a7e")) }
        #expect(world.pass(atMost: .seconds(5)) { world.worker?.counters.unsettled == TurnPace.busyDeliveries - 1 })
        #expect(world.worker?.turnInterval == .zero)
        try world.request(World.body(token: "1a7e"))
        #expect(world.pass(atMost: .seconds(5)) { world.worker?.counters.unsettled == TurnPace.busyDeliveries })
        #expect(world.worker?.turnInterval == TurnPace.interval)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.worker?.turnInterval == .zero)
    }

    @Test("A worker that waits does not turn, and a stop waits a second for a silent broker", arguments: [false, true])
    func stopped(hasDelivery: Bool) throws {
        let world = try World.started(script: "token 1a7e*: delay 10s")
        if hasDelivery { try world.request(World.body(token: "1a7e")) }
        world.pass(.seconds(1))
        let worker = try #require(world.worker)
        #expect(worker.nextDeadline ?? .distantFuture > world.moment.instant)
        for link in world.network.links where link.endpoint == World.broker { link.isFrozen = true }
        let end = world.moment.instant + .seconds(1)
        worker.stop(at: world.moment)
        #expect(world.pass(atMost: .seconds(5)) { worker.hasEnded } && world.moment.instant == end)
        #expect(worker.wasCutShort == hasDelivery, "only with a delivery")
    }

    // MARK: APNs

    @Test(
        "A stream above last-stream-id, or refused with REFUSED_STREAM, is resent at once and not counted",
        arguments: ["after 2 requests: goaway Shutdown last=before", "after 2 requests: rst REFUSED_STREAM"])
    func notProcessed(script: String) throws {
        let world = try World.started(script: script)
        try world.request(World.body(), id: "m1")
        try world.request(World.body(), id: "m2")
        #expect(world.isQuiet)
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["accepted", "accepted"])
        #expect(results.allSatisfy { $0.body.contains("\"attempts\":1,") })
        #expect(world.sent == 3 && world.ledger.statistics.accepted == 2)
        #expect(world.worker?.counters[.uncertain] == 0)
    }

    @Test("A request over which each connection ends does not keep the others from being sent")
    func endsConnections() throws {
        let world = try World.started(script: "token cede*: goaway Shutdown last=before close=now")
        try world.request(World.body(token: "cede"), id: "bad")
        for number in 0..<30 {
            world.pass(.seconds(1))
            try world.request(World.body(number), id: "m\(number)")
        }
        #expect(world.pass(atMost: .seconds(120)) { world.published(in: "push.results").count == 30 })
    }

    @Test("APNs connection lost with the stream open: sent again")
    func connectionLost() throws {
        let world = try World.started(script: "attempt 1: cut")
        try world.request(World.body(), id: "m1")
        #expect(world.pass(atMost: .seconds(30)) { world.isQuiet })
        #expect(world.sent == 2 && world.worker?.counters[.uncertain] == 1)
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "accepted" && result.body.contains("\"attempts\":2,"))
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("no response in time: sent again at most twice within 30 s, and given up as unknown, with a dead letter")
    func noResponse() throws {
        let world = try World.started(script: "token 7*: silence") {
            $0.apns.requestTimeout = .seconds(5)
            $0.retry.maximumAttempts = 3
        }
        let start = world.network.now
        try world.request(World.body(), id: "m1")
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.network.now - start <= .seconds(35))
        #expect(world.sent == 3 && Set(world.ledger.records.map(\.apnsID)).count == 1)
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "undelivered" && result.body.contains("\"processed\":\"unknown\""))
        #expect(world.published(in: "push.dead").map(\.outcome) == ["undelivered"])
    }

    // MARK: Consuming

    @Test("consuming connection lost repeatedly: finished requests are not sent again", arguments: [1, 2, 3])
    func consumerLostAfterwards(losses: Int) throws {
        let world = try World.started(script: "token 1a7e*: delay 600s") { $0.apns.requestTimeout = .seconds(1000) }
        // The second one delays the first one's acknowledgement, which is batched.
        try world.request(World.body(token: "7"), id: "m1")
        world.cut(consuming: true)
        try world.request(World.body(token: "1a7e"), id: "m2")
        try world.request(World.body(token: "7"), id: "m3")
        for _ in 0..<losses {
            #expect(world.pass(atMost: .seconds(60)) { world.broker.unsettledCount == 2 })
            #expect(world.published(in: "push.results").count == 2)
            world.cut(consuming: true)
        }
        #expect(world.pass(atMost: .seconds(700)) { world.isQuiet })
        #expect(world.sent == 3)
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted", "accepted", "accepted"])
        #expect(world.worker?.counters.unsettled == 0)
    }

    @Test(
        "A finished request that is published again is sent again, whenever the connection is lost",
        arguments: [true, false])
    func publishedAgain(isLostBefore: Bool) throws {
        let world = try World.started()
        try world.request(World.body(), id: "m1")
        world.pass(.seconds(1))
        if isLostBefore { world.cut(consuming: true) }
        world.pass(.seconds(5))
        world.isAPNsDown = true
        world.cut(World.apns)
        try world.request(World.body(), id: "m1")
        #expect(world.sent == 1 && world.broker.unsettledCount == 1)
        world.cut(consuming: true)
        world.pass(.seconds(5))
        let told = world.log.map(\.message).filter { $0.contains("to APNs") && $0.hasSuffix("; trying again") }
        #expect(Set(told).count == 2, "first that it ended, then that there is none: \(told)")
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.sent == 2 && world.published(in: "push.results").count == 2)
    }

    @Test("the same, and another worker gets the redelivery: notification and result are repeated under their ids")
    func otherWorker() throws {
        let world = try World.started()
        try world.start()
        try world.request(World.body(token: "1a7e"), id: "m1")
        #expect(world.running.map { $0.counters.deliveries } == [[1], [0]])
        world.network.cut(try #require(world.network.links.first { ($0.server as? BrokerEngine)?.unsettledCount == 1 }))
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet && world.sent == 2 })
        #expect(world.running.map { $0.counters.deliveries } == [[1], [1]])
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["accepted", "accepted"] && Set(results.map(\.messageID)).count == 1)
    }

    @Test("consuming connection lost before a request was sent, another worker takes it: it is sent once")
    func otherWorkerAndUnsent() throws {
        let world = try World.started(before: { $0.isAPNsDown = true })
        try world.start()
        try world.request(World.body(token: "1a7e"), id: "m1")
        world.pass(.seconds(1))
        world.network.cut(try #require(world.network.links.first { ($0.server as? BrokerEngine)?.unsettledCount == 1 }))
        world.pass(.seconds(1))
        #expect(world.running.map { $0.counters.unsettled } == [0, 1])
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(120)) { world.isQuiet })
        #expect(world.sent == 1 && world.published(in: "push.results").map(\.outcome) == ["accepted"])
    }

    @Test("the same with a fan-out that waits for a paused app")
    func otherWorkerAndUnsentFanOut() throws {
        let world = try World.started(script: "topic com.example.app: 403 InvalidProviderToken", prefetch: 100)
        try world.request(World.body(token: "7"), id: "m1")
        world.pass(.seconds(1))
        try world.request(World.fanOut(["1a", "1b", "1c"]), id: "m2")
        world.pass(.seconds(1))
        try world.start()
        try world.setScript("")
        world.network.cut(try #require(world.network.links.first { ($0.server as? BrokerEngine)?.unsettledCount == 2 }))
        #expect(world.pass(atMost: .seconds(120)) { world.isQuiet })
        for device in ["1a", "1b", "1c"] {
            #expect(world.published(in: "push.results").count { $0.body.contains(World.token(device)) } == 1)
        }
        #expect(world.running.map { $0.counters.unsettled } == [0, 0])
    }

    @Test("consuming connection lost, and only headers tell two requests apart: each device is notified once")
    func lookAlikesInHeaders() throws {
        let script = "topic com.example.other: 403 TopicMismatch\ntopic com.example.app: delay 9s"
        let world = try World.started(script: script)
        for (token, topic) in [("7b", "com.example.other"), ("7a", "com.example.app")] {
            try world.request(#"{"aps":{"badge":1}}"#) {
                $0.headers = ["device-token": .string(token), "apns-topic": .string(topic)]
            }
        }
        world.pass(.seconds(2))
        world.cut(consuming: true)
        world.pass(.seconds(20))
        try world.restartAPNs("")
        #expect(world.pass(atMost: .seconds(600)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(Set(results.map(\.messageID)).count == 2 && results.map(\.outcome) == ["accepted", "accepted"])
        #expect(world.ledger.statistics.accepted == 2)
    }

    @Test(
        "consuming connection lost, and two requests look the same: each has one result and one settlement",
        arguments: [[100, 100], [1, 100], [100, 1], [1, 1]])
    func lookAlikes(delays: [Int]) throws {
        let script = delays.indices.map { "token 7*, attempt \($0 + 1): delay \(delays[$0])s" }
        let world = try World.started(script: script.joined(separator: "\n")) { $0.apns.requestTimeout = .seconds(200) }
        // The first response: before it, a connection has one stream.
        try world.request(World.body(token: "8"))
        world.pass(.seconds(1))
        var settled = 0
        world.broker.observe = { if case .acknowledged = $0 { settled += 1 } }
        // Requests shorter than the broker's absence end before the redelivery.
        for _ in delays { try world.request(World.body()) }
        world.isBrokerDown = true
        world.cut(consuming: true)
        world.pass(.seconds(5))
        world.isBrokerDown = false
        #expect(world.pass(atMost: .seconds(60)) { world.worker?.counters.deliveries == [5] })
        world.pass(.seconds(1))
        // A request in flight is not settled in place of a finished one.
        #expect(world.broker.unsettledCount == delays.count { $0 == 100 })
        #expect(world.pass(atMost: .seconds(200)) { world.isQuiet })
        #expect(world.sent == 3)
        #expect(settled == 2)
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted", "accepted", "accepted"])
        #expect(world.worker?.counters[.duplicatesAvoided] == 2)
        #expect(world.worker?.counters.unsettled == 0)
    }

    @Test("Oversize messages without a message id are never mistaken for one another", arguments: [nil, ""])
    func oversizeLookAlikes(id: String?) throws {
        let world = try World.started()
        // The slow request delays the first one's acknowledgement, and the second is lost in flight.
        try world.request(World.body(token: "1a7e"), id: "m1")
        try world.request(String(repeating: "a", count: 20_000), id: id)
        world.network.latency = .milliseconds(50)
        try world.request(String(repeating: "b", count: 20_000), id: id)
        world.cut(consuming: true)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        // Sending the first one twice is better than never sending the second.
        #expect(world.published(in: "push.dead").map(\.outcome) == ["invalid", "invalid", "invalid"])
    }

    // MARK: Publishing

    @Test("broker refuses a feedback, a dead letter or a parked copy: it is repeated, and nothing settles before")
    func refusedElsewhere() throws {
        let cases = [
            ("push.feedback", "410 Unregistered"), ("push.dead", "400 PayloadEmpty"),
            ("push.requests.retry.", "503 ServiceUnavailable"),
        ]
        for (name, response) in cases {
            let world = try World.started(script: "attempt 1: \(response)")
            let queues = world.broker.queues.filter { $0.key.hasPrefix(name) }.map(\.value)
            try #require(!queues.isEmpty, "\(name)")
            for queue in queues { queue.rejectsPublishes = true }
            try world.request(World.body(), id: "m1")
            world.pass(.seconds(24))
            #expect(world.broker.unsettledCount == 1, "\(name)")
            // At 0, 0.5, 1.5, 3.5, 7.5, 15.5 and 23.5 s.
            #expect(world.worker?.counters[.refusedPublishes] == 7, "\(name)")
            #expect(queues.allSatisfy { world.broker.messages(in: $0.name).isEmpty }, "\(name)")
            for queue in queues { queue.rejectsPublishes = false }
            #expect(world.pass(atMost: .seconds(3600)) { world.isQuiet }, "\(name)")
            #expect(world.sent == (name.contains("retry") ? 2 : 1), "\(name)")
            #expect(world.published(in: "push.results").count == 1, "\(name)")
        }
    }

    @Test("feedback queue is missing: the result goes only to its own queue, and the log says so each time")
    func feedbackGone() throws {
        let world = try World.started(declares: World.queues.filter { $0 != "push.feedback" })
        for round in 1...2 {
            try world.request(World.body(token: "dead"), id: "m\(round)")
            #expect(world.isQuiet && world.published(in: "push.results").count == round)
            #expect(world.log.count { $0.message.hasPrefix("the feedback queue takes no results") } == round)
        }
    }

    @Test("reply queue is missing, without results: the request is dead-lettered with outcome and detail")
    func replyQueueAndResultsGone() throws {
        for declares in [World.queues, World.queues.filter { $0 != "push.results" }] {
            let world = try World.started(declares: declares) { configuration in
                if declares == World.queues { configuration.results.route = nil }
            }
            try world.request(World.body(), id: "m1", replyTo: "gone")
            #expect(world.isQuiet)
            let letter = try #require(world.published(in: "push.dead").first)
            #expect(letter.outcome == "accepted")
            #expect(letter.headers["harebell-detail"] == "the result could not be routed (312 NO_ROUTE)")
            #expect(letter.body == World.body())
            #expect(letter.messageID == "m1")
            let line = try #require(world.log.first { $0.message.contains("no queue takes a result") })
            #expect(
                line.metadata["messaging.rabbitmq.destination.routing_key"]?.description
                    == (declares == World.queues ? "gone" : "push.results"))
            #expect(line.metadata["reply"] == "312 NO_ROUTE")
        }
    }

    @Test("dead-letter queue is missing: the request is held and the publish repeated until the queue exists")
    func deadLettersMissing() throws {
        let world = try World.started(declares: World.queues.filter { $0 != "push.dead" })
        try world.request("no JSON", id: "m1")
        world.pass(.seconds(300))
        #expect(world.broker.unsettledCount == 1)
        #expect(world.published(in: "push.results").map(\.outcome) == ["invalid"])
        world.broker.declare("push.dead")
        #expect(world.pass(atMost: .seconds(31)) { world.isQuiet })
        #expect(world.published(in: "push.dead").map(\.body) == ["no JSON"])
        #expect(world.published(in: "push.results").count == 1)
    }

    @Test("broker blocks publishers (memory or disk alarm): results wait, and prefetch stops the intake")
    func blocked() throws {
        let world = try World.started()
        world.broker.setAlarm(true)
        let attempts = world.network.attempts
        for number in 0..<30 { try world.request(World.body(), id: "m\(number)") }
        world.pass(.seconds(60))
        #expect(world.network.attempts == attempts && world.worker?.counters[.divertedResults] == 0, "nothing is slow")
        let prefetch = Int(world.configuration.queues[0].prefetch)
        // The alarm is reported at the first publish, which is still accepted.
        #expect(world.published(in: "push.results").count == 1)
        #expect(world.broker.unsettledCount == prefetch)
        #expect(world.sent == prefetch + 1)
        world.broker.setAlarm(false)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.sent == 30)
        #expect(world.published(in: "push.results").count == 30)
    }

    @Test("While publishers are blocked, confirmed requests are acknowledged, and admit the next ones")
    func blockedAcknowledgements() throws {
        let world = try World.started(prefetch: 2)
        world.broker.holdsConfirms = true
        for number in 0..<4 { try world.request(World.body(), id: "m\(number)") }
        #expect(world.broker.unsettledCount == 2)
        world.broker.setAlarm(true)
        world.releaseConfirms()
        world.pass(.seconds(1))
        #expect(world.broker.messages(in: "push.requests").isEmpty)
        #expect(world.sent == 4)
        #expect(world.broker.unsettledCount == 2)
        world.broker.holdsConfirms = false
        world.broker.setAlarm(false)
        world.releaseConfirms()
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 4)
    }

    // MARK: Pauses

    @Test("A lifetime beyond all clocks does not expire")
    func endlessExpiration() throws {
        let world = try World.started()
        for expiration in [Int64.max, Int64(UInt32.max)] {
            try world.request(World.body(), id: "lives\(expiration)") {
                $0.timestamp = UInt64(Int64.max / 1000)
                $0.expiration = Array(String(expiration).utf8)
            }
        }
        #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted", "accepted"])
    }

    @Test("A request that APNs never processed counts one attempt a round, however often it was sent")
    func neverTaken() throws {
        let world = try World.started(script: "topic *: rst REFUSED_STREAM") { $0.retry.maximumAttempts = 1 }
        try world.request(World.body(), id: "m1")
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "undelivered" && result.body.contains("\"attempts\":1,\"processed\":\"no\""))
        #expect(world.sent > 30)
    }

    @Test(
        "A request that expires between two attempts reports how APNs handled the earlier ones",
        arguments: [
            ("attempt 1: delay 3s, 503 ServiceUnavailable", "yes"),
            // One unknown attempt suffices: neither a response to another one nor its refusal makes it certain.
            ("attempt 1: rst INTERNAL_ERROR\nattempt 2: delay 3s, 503 ServiceUnavailable", "unknown"),
            ("attempt 1: rst INTERNAL_ERROR\ntoken *: delay 200ms, rst REFUSED_STREAM", "unknown"),
        ])
    func expiresBetweenTries(script: String, processed: String) throws {
        let world = try World.started(script: script)
        try world.request(World.body(extra: "\"apns-expiration\":\(World.start.wall.seconds + 1),"), id: "m1")
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "expired")
        #expect(result.body.contains("\"processed\":\"\(processed)\""), "\(result.body)")
    }

    @Test("Time in a pause does not count against the time for retries, and a drain in it keeps the tries")
    func retriesAfterPause() throws {
        let script = "first 2 requests: 403 TopicMismatch\nattempt 3: rst CANCEL"
        let world = try World.started(script: script)
        try world.request(World.body(), id: "m1")
        #expect(world.pass(atMost: .seconds(90)) { world.isQuiet })
        #expect(world.sent == 4)
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "accepted" && result.body.contains("\"attempts\":2,"))
        let drained = try World.started(script: script)
        try drained.request(World.body(), id: "m1")
        #expect(drained.pass(atMost: .seconds(90)) { drained.sent == 3 })
        try drained.drain(within: .seconds(5))
        #expect(drained.parked.map { $0.header("harebell-attempts") } == [.int32(1)], "its try is not forgotten")
    }

    // MARK: Drain

    @Test("A drain finishes requests in flight, confirms and acknowledges them, and takes nothing new")
    func drain() throws {
        let world = try World.started()
        try world.request(World.body(token: "1a7e"), id: "m1")
        try world.request(World.body(), id: "waits for a stream")
        let worker = try #require(world.worker)
        worker.startDrain(deadline: world.network.now + .seconds(30))
        world.settle()
        try world.request(World.body(), id: "m2")
        #expect(world.pass(atMost: .seconds(2)) { worker.hasEnded })
        #expect(world.sent == 2)
        #expect(world.published(in: "push.results").count == 2)
        #expect(world.broker.messages(in: "push.requests").count == 1)
        #expect(world.network.links.isEmpty)
        let alone = try World.started()
        (alone.isBrokerDown, alone.isAPNsDown) = (true, true)
        for endpoint in [World.broker, World.apns] { alone.cut(endpoint) }
        #expect(try !alone.drain(within: .zero).wasCutShort, "without connections it ends at once")
    }

    @Test("A drain ends when a busy quorum queue has applied its acknowledgements, which a closing channel would lose")
    func drainFlushes() throws {
        let world = try World.started(before: { $0.broker.putsAcksAside = true })
        for number in 0..<3 { try world.request(World.body(), id: "m\(number)") }
        world.pass(.seconds(1))
        #expect(world.worker?.counters.unsettled == 0 && world.broker.unsettledCount == 3)
        try world.drain(within: .seconds(2))
        #expect(world.broker.messages(in: "push.requests").isEmpty && world.broker.unsettledCount == 0)
        #expect(world.published(in: "push.results").count == 3)
    }

    @Test(
        "A drain waits only briefly for a silent broker, less if it has delivered nothing",
        arguments: [(2, true), (3600, true), (3600, false)] as [(Int64, Bool)])
    func drainIsNotHeldUp(deadline: Int64, hasDelivered: Bool) throws {
        let world = try World.started()
        if hasDelivered { try world.request(World.body(), id: "m1") }
        world.pass(.seconds(1))
        for link in world.network.links where link.endpoint == World.broker { link.isFrozen = true }
        let longest = hasDelivered ? min(.seconds(deadline), Worker.closeTimeout) : .zero
        let start = world.network.now
        #expect(try !world.drain(by: .seconds(deadline), within: longest + Worker.closeTimeout).wasCutShort)
        #expect(world.network.now - start == longest + .seconds(5), "for the answers to its closes")
    }

    @Test("Unfinished requests are requeued at the drain deadline, and no retry begins any more")
    func drainDeadline() throws {
        let world = try World.started(script: "token fa11*: rst CANCEL\ntoken deaf*: silence") {
            $0.apns.requestTimeout = .seconds(100)
        }
        try world.request(World.body(token: "deaf"), id: "m1")
        let worker = try #require(world.worker)
        worker.startDrain(deadline: world.network.now)
        // Only the first start counts.
        worker.startDrain(deadline: world.network.now + .seconds(3600))
        // A retry is due while the connections close.
        try world.broker.put(Array(World.body(token: "fa11").utf8), into: "push.requests")
        #expect(world.pass(atMost: Worker.closeTimeout) { worker.hasEnded })
        #expect(world.broker.unsettledCount == 0)
        #expect(world.broker.messages(in: "push.requests").count == 2)
        #expect(world.published(in: "push.results").isEmpty && !world.log.contains { $0.message.contains("confirmed") })
    }

    @Test("A drain parks a paused app's partly finished fan-out: the finished part is not sent again")
    func drainHalfDone() throws {
        let world = try World.started(script: "token e4e4*: 403 TopicMismatch")
        try world.request(World.fanOut(["900d", "e4e4", "no token"]), id: "m1")
        world.pass(.seconds(5))
        let worker = try world.drain(by: .seconds(3600), within: .seconds(6))
        #expect(worker.counters.unsettled == 0 && world.broker.messages(in: "push.requests").isEmpty)
        #expect(world.parked.map { World.Published($0).headers["harebell-done"] } == ["05"])
        try world.setScript("")
        try world.start()
        #expect(world.pass(atMost: .seconds(3600)) { world.isQuiet })
        let outcomes = world.published(in: "push.results").compactMap(\.outcome)
        #expect(outcomes.sorted() == ["accepted", "accepted", "invalid"])
    }
}

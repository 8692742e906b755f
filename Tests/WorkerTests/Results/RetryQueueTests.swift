import AMQP
import Core
import Logging
import Pipeline
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration

/// Long waits in the broker: `docs/operate/retries.md`.
@Suite("Retry queues")
struct RetryQueueTests {
    // MARK: Parking

    @Test(
        "After a long-term failure a request waits in the retry queue of its kind, without a result, under one apns-id",
        arguments: [
            ("503 ServiceUnavailable", 900), ("500 InternalServerError", 900), ("502", 900), ("429 TooManyRequests", 5),
        ], [true, false])
    func parked(trouble: (response: String, delay: Int), hasMessageID: Bool) throws {
        let world = try World.started(script: "attempt 1: \(trouble.response)")
        let start = world.network.now
        try world.request(World.body(), id: hasMessageID ? "m1" : nil) {
            $0.correlationID = Array("c".utf8)
            $0.timestamp = 1_790_000_000
        }
        #expect(world.published(in: "push.results").isEmpty && world.broker.unsettledCount == 0)
        let copy = try #require(world.broker.messages(in: "push.requests.retry.\(trouble.delay)s").first)
        #expect(String(decoding: copy.body, as: UTF8.self) == World.body())
        #expect(copy.header("harebell-attempts") == .int32(1) && copy.header("harebell-parked") == .int32(1))
        #expect(copy.header("harebell-queue") == .string("push.requests"))
        #expect(copy.decodedProperties?.deliveryMode == 2)
        let line = world.log.first { $0.message == "a request waits in a retry queue" }
        #expect(line?.metadata["detail"]?.description == trouble.response)
        #expect(world.pass(atMost: .seconds(trouble.delay + 1)) { world.isQuiet })
        #expect(world.network.now - start >= .seconds(trouble.delay) && world.sent == 2)
        #expect(Set(world.ledger.records.map(\.apnsID)).count == 1)
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "accepted" && result.body.contains("\"attempts\":2,"))
        #expect(world.published(in: "push.dead").isEmpty)
        #expect(world.worker?.counters[.parked] == 1)
    }

    @Test("Each round uses the next level, and after the last attempt it is undelivered, with a dead letter")
    func exhausted() throws {
        let world = try World.started(script: "token 7*: 503 ServiceUnavailable") { $0.retry.maximumAttempts = 5 }
        try world.request(World.body(), id: "m1")
        let firstSeen = World.start.wall.inUTC
        for (attempts, delay) in zip(1...4, [900, 1800, 3600, 3600]) {
            let queue = "push.requests.retry.\(delay)s"
            let copy = try #require(world.broker.messages(in: queue).first, "round \(attempts)")
            #expect(copy.header("harebell-attempts") == .int32(Int32(attempts)))
            #expect(copy.header("harebell-first-seen") == .string(firstSeen))
            #expect(world.pass(atMost: .seconds(3601)) { world.sent == attempts + 1 })
        }
        #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "undelivered" && result.body.contains("\"attempts\":5,"))
        #expect(result.body.contains("\"detail\":\"given up after 5 attempts\""))
        let letter = try #require(world.broker.messages(in: "push.dead").first)
        #expect(letter.header("harebell-attempts") == .int32(5) && letter.header("harebell-parked") == nil)
        #expect(letter.header("harebell-first-seen") == .string(firstSeen))
    }

    @Test("A short failure is retried in the worker, and waits in a retry queue if it persists")
    func shortTrouble() throws {
        let world = try World.started(script: "attempt 1: rst CANCEL\nattempt 2: rst CANCEL\nattempt 3: rst CANCEL")
        try world.request(World.body(), id: "m1")
        #expect(world.pass(atMost: .seconds(31)) { !world.parked.isEmpty })
        #expect(world.sent == 3)
        #expect(world.parked.first?.header("harebell-attempts") == .int32(3))
        #expect(world.parked.first?.header("harebell-processed") == .string("unknown"))
        #expect(world.pass(atMost: .seconds(901)) { world.isQuiet })
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "accepted" && result.body.contains("\"attempts\":4,\"processed\":\"yes\""))
    }

    @Test("At most a fifth of the prefetch waits in the worker for a retry: the rest is parked")
    func keepsShare() throws {
        let world = try World.started(script: "attempt 1: rst CANCEL", prefetch: 50)
        for number in 0..<40 { try world.request(World.body(token: "7\(number)"), id: "m\(number)") }
        #expect(world.worker?.counters[.retries] == 10)
        #expect(world.broker.messages(in: "push.requests.retry.5s").count == 30)
        #expect(world.pass(atMost: .seconds(6)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 40)
    }

    @Test("A busy queue leaves each other queue a retry in the worker, so that one with prefetch 1 keeps its order")
    func keepsPlace() throws {
        let world = try World.started(script: "attempt 1: rst CANCEL", declares: World.queues + ["push.ordered"]) {
            var ordered = $0.queues[0]
            (ordered.name, ordered.prefetch) = ("push.ordered", 1)
            $0.queues.append(ordered)
        }
        try world.put(0..<8)
        try world.broker.put(Array(World.fanOut(["78", "79"]).utf8), properties: .init(), into: "push.ordered")
        world.settle()
        #expect(world.worker?.counters[.retries] == 4 && world.worker?.counters[.parked] == 6)
        #expect(world.pass(atMost: .seconds(1)) { world.published(in: "push.results").count == 4 })
        #expect(world.parked.count == 6)
    }

    // MARK: Expiry

    @Test(
        "A request that would expire during the delay takes a shorter one, or ends at once as expired",
        arguments: [(4000, 1, "900"), (1000, 1, "900"), (900, 1, nil), (10, 1, nil)] as [(Int64, Int, String?)])
    func expires(lifetime: Int64, round: Int, level: String?) throws {
        let world = try World.started(script: "token 7*: 503 ServiceUnavailable")
        let expiration = World.start.wall.seconds + lifetime
        try world.request(World.body(extra: "\"apns-expiration\":\(expiration),"), id: "m1")
        if let level {
            #expect(world.broker.messages(in: "push.requests.retry.\(level)s").count == 1)
        } else {
            #expect(world.isQuiet)
        }
        #expect(world.pass(atMost: .seconds(lifetime + 60)) { world.isQuiet })
        #expect(world.network.now - World.start.instant < .seconds(lifetime))
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "expired")
        #expect(result.body.contains("\"detail\":\"it expires before the next attempt\""))
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("An AMQP expiration keeps counting in a copy, which cannot keep the property", arguments: [true, false])
    func amqpExpiration(hasTimestamp: Bool) throws {
        let world = try World.started(script: "attempt 1: 503 ServiceUnavailable")
        try world.request(World.body(), id: "m1") {
            $0.expiration = Array("901000".utf8)
            if hasTimestamp { $0.timestamp = UInt64(World.start.wall.seconds) }
        }
        let copy = try #require(world.parked.first)
        #expect(copy.decodedProperties?.expiration == nil)
        #expect(copy.header("harebell-orig-expiration") == .string("901000"))
        world.pass(.seconds(899))
        // It returns late, because no worker consumes.
        world.kill()
        world.pass(.seconds(5))
        try world.start()
        #expect(world.pass(atMost: .seconds(20)) { world.isQuiet })
        #expect(world.sent == 1)
        #expect(world.published(in: "push.results").map(\.outcome) == ["expired"])
    }

    // MARK: The broker

    @Test("A missing retry queue causes a dead letter that names it, and one line in the log")
    func missingQueue() throws {
        let world = try World.started(script: "token 7*: 503 ServiceUnavailable", hasRetryQueues: false)
        for number in 0..<3 { try world.request(World.body(), id: "m\(number)") }
        #expect(world.isQuiet)
        let detail =
            "the retry queue push.requests.retry.900s received nothing (312 NO_ROUTE); "
            + "declare it with 'harebell topology --apply'"
        let results = world.published(in: "push.results")
        #expect(results.count == 3)
        for result in results {
            #expect(result.outcome == "undelivered" && result.body.contains(detail))
            #expect(result.body.contains("\"attempts\":1,"))
        }
        #expect(world.published(in: "push.dead").map { $0.headers["harebell-detail"] } == [detail, detail, detail])
        #expect(
            world.log.count {
                $0.metadata["messaging.destination.name"]?.description == "push.requests.retry.900s"
                    && $0.level == .error
            }
                == 1)
    }

    @Test(
        "A retry queue that was made and is gone again is logged once more, also for postponed requests",
        arguments: [false, true])
    func deletedQueue(isPostponed: Bool) throws {
        let body = World.body(extra: isPostponed ? "\"not-before\":\(World.start.wall.seconds + 400)," : "")
        let world = try World.started(script: "token 7*: 503 ServiceUnavailable", hasRetryQueues: false)
        for round in 1...2 {
            world.deleteRetryQueues()
            for number in 0..<2 { try world.request(body, id: "lost\(round)\(number)") }
            #expect(world.log.count { $0.message.hasPrefix("no retry queue receives requests") } == round)
            #expect(!world.log.contains { $0.message.contains("accepts publishes again") })
            world.declareRetryQueues()
            try world.request(body, id: "parked\(round)")
            #expect(world.parked.count == 1)
        }
    }

    @Test("A returned copy is not a redelivery of the parked request, even if the copy itself is redelivered")
    func copyAfterLostConnection() throws {
        let world = try World.started(script: "attempt 1: 503 ServiceUnavailable") { $0.retry.delays = [.seconds(20)] }
        // The original finished here, and its acknowledgement may be lost.
        try world.request(World.body(), id: "m1")
        #expect(world.parked.count == 1)
        world.cut(consuming: true)
        world.pass(.seconds(10))
        // The copy is delivered, and lost in flight.
        world.network.latency = .milliseconds(50)
        #expect(world.pass(atMost: .seconds(30)) { world.broker.unsettledCount == 1 })
        world.cut(consuming: true)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
        #expect(world.sent == 2)
    }

    // MARK: Fan-out

    @Test("A fan-out reports finished notifications at once, and its copy sends only the rest")
    func fanOut() throws {
        let world = try World.started(
            script: "token aa*, attempt 1: 503 ServiceUnavailable\ntoken e4e4*: 400 BadCollapseId"
        ) {
            $0.retry.delays = [.seconds(60), .seconds(90)]
        }
        try world.request(World.fanOut(["71", "aa1", "e4e4", "aa2", "dead"]), id: "m1")
        let early = world.published(in: "push.results")
        #expect(Set(early.map(\.outcome)) == ["accepted", "rejected", "unregistered"])
        #expect(early.count == 3 && world.broker.unsettledCount == 0)
        let copy = try #require(world.broker.messages(in: "push.requests.retry.60s").first)
        // 1 and 3 are left.
        #expect(copy.header("harebell-done") == .string("15"))
        #expect(world.pass(atMost: .seconds(62)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.count == 5 && Set(results.map(\.messageID)).count == 5)
        #expect(results.suffix(2).map(\.outcome) == ["accepted", "accepted"])
        #expect(Set(results.suffix(2).map { $0.messageID?.suffix(2) }) == ["-1", "-3"])
        #expect(world.sent == 7)
        // Only the rejected one is in the dead letter.
        #expect(world.broker.messages(in: "push.dead").map { $0.header("harebell-done") } == [.string("1b")])
        #expect(world.published(in: "push.dead").first?.headers["harebell-detail"] == "1 of 5 notifications failed")
    }

    @Test("A malformed device token affects only itself: it has its result, is dead-lettered, and the others are sent")
    func malformedTokens() throws {
        let world = try World.started(script: "token aa*, attempt 1: 503 ServiceUnavailable") {
            $0.retry.delays = [.seconds(60)]
        }
        try world.request(World.fanOut(["zz", "71", "aa", "y"]), id: "m1")
        #expect(world.sent == 2)
        let early = world.published(in: "push.results")
        #expect(early.map(\.outcome) == ["invalid", "invalid", "accepted"])
        #expect(early.map { $0.messageID?.suffix(2) } == ["-0", "-3", "-1"])
        #expect(early[1].body.contains("\"detail\":\"device-tokens[3]: it looks like base64: "))
        #expect(early[1].body.contains("; expected an even number of hexadecimal digits"))
        #expect(early[1].body.contains("\"device-token\":null"))
        #expect(world.broker.messages(in: "push.requests.retry.60s").first?.header("harebell-done") == .string("0b"))
        #expect(world.pass(atMost: .seconds(62)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.count == 4 && results.last?.messageID?.suffix(2) == "-2" && results.last?.outcome == "accepted")
        #expect(world.broker.messages(in: "push.dead").map { $0.header("harebell-done") } == [.string("06")])
        let detail = world.published(in: "push.dead").first?.headers["harebell-detail"]
        #expect(detail?.hasPrefix("2 of 4 notifications failed, first: device-tokens[0]: ") == true)
    }

    @Test("A fan-out of malformed device tokens only has a result for each, and is one dead letter")
    func onlyMalformedTokens() throws {
        let world = try World.started()
        try world.request(World.fanOut(["x", "y"]), id: "two")
        try world.request(World.fanOut(["z"]), id: "one")
        #expect(world.isQuiet && world.sent == 0)
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["invalid", "invalid", "invalid"])
        #expect(Set(results.map(\.messageID)).count == 3)
        #expect(world.published(in: "push.dead").count == 2)
    }

    @Test("The replay of a fan-out's dead letter sends only the failed ones")
    func fanOutReplay() throws {
        let world = try World.started(script: "token e4e4*, attempt 1: 400 BadCollapseId")
        try world.request(World.fanOut(["71", "e4e4", "72"]), id: "m1")
        let letter = try #require(world.broker.messages(in: "push.dead").first)
        try world.broker.put(letter.body, properties: try #require(letter.decodedProperties), into: "push.requests")
        world.settle()
        #expect(world.isQuiet && world.sent == 4)
        #expect(world.published(in: "push.results").map(\.outcome).filter { $0 == "accepted" }.count == 3)
        #expect(Set(world.ledger.records.map(\.apnsID)).count == 3)
    }

    @Test("A fan-out that fails completely needs no bitmap, and one without its retry queue ends completely")
    func fanOutMissingQueue() throws {
        let world = try World.started(
            script: "token aa*: 503 ServiceUnavailable\ntoken e4e4*: 400 BadCollapseId", hasRetryQueues: false)
        try world.request(World.fanOut(["aa", "e4e4", "71"]), id: "mixed")
        try world.request(World.fanOut(["e4e4", "e4e4a"]), id: "all")
        #expect(world.isQuiet)
        #expect(world.published(in: "push.results").count == 5)
        let letters = world.broker.messages(in: "push.dead")
        #expect(
            letters.map { $0.header("harebell-done") } == [.string("05"), nil, .string("06")]
                || letters.map { $0.header("harebell-done") } == [.string("05"), .string("06"), nil])
    }

    @Test(
        "A bitmap that does not fit its request makes it invalid: nothing is sent twice, and nothing is lost",
        arguments: ["ff", "07", "zz", "0000", "08"])
    func foreignBitmap(text: String) throws {
        let world = try World.started()
        try world.request(World.fanOut(["71", "72", "73"]), id: "m1") {
            $0.headers = [
                "harebell-done": .string(text), "harebell-replays": .int32(1),
                "harebell-replay-id": .string("123e4567-e89b-12d3-a456-426655440000"),
            ]
        }
        #expect(world.isQuiet && world.sent == 0)
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "invalid")
        #expect(result.body.contains("harebell-done: does not match 3 notifications"))
        #expect(world.published(in: "push.dead").map { $0.headers["harebell-done"] } == [text])
    }

    @Test(
        "A request whose tries or time for retries is over waits long, even while too many others wait for a retry",
        arguments: [
            ("token 71*, attempt 3: delay 2s, rst CANCEL\ntoken 71*: rst CANCEL", 3, 2000),
            ("token 71*, attempt 1: delay 30s, rst CANCEL", 1, 30_000),
        ])
    func retriesOver(script: String, tries: Int, delay: Int) throws {
        let world = try World.started(script: "\(script)\ntoken 72*, attempt 1: rst CANCEL", prefetch: 5) {
            $0.apns.requestTimeout = .seconds(60)
        }
        try world.request(World.body(token: "71"), id: "m1")
        #expect(world.pass(atMost: .seconds(31)) { world.sent == tries })
        world.pass(.milliseconds(delay - 1))
        // It takes the only place for a retry.
        try world.request(World.body(token: "72"), id: "m2")
        world.pass(.milliseconds(2))
        #expect(world.worker?.counters[.retries] == UInt64(tries) && world.sent == tries + 1)
        #expect(world.broker.messages(in: "push.requests.retry.900s").count == 1)
    }
}

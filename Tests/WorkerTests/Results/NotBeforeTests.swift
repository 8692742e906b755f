import AMQP
import Core
@testable import Commands
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration

/// Requests that wait for their time: `docs/produce/not-before.md`, row by row of its table.
@Suite("not-before")
struct NotBeforeTests {
    private static let start = World.start.wall.seconds

    /// - Parameters:
    ///   - after: seconds from the start of the world until `not-before`.
    ///   - expiration: likewise of `apns-expiration`.
    private static func body(
        after: Int64, expiration: Int64? = nil, id: String? = nil,
        target: String = "\"device-token\":\"\(World.token("7"))\""
    ) -> String {
        let expiration = expiration.map { "\"apns-expiration\":\($0 == 0 ? 0 : start + $0)," } ?? ""
        let id = id.map { "\"apns-id\":\"\($0)\"," } ?? ""
        return "{\(id)\(target),\"apns-topic\":\"com.example.app\",\"not-before\":\(start + after),\(expiration)"
            + "\"payload\":{\"aps\":{\"badge\":1}}}"
    }

    /// Advances time until APNs has received something.
    ///
    /// - Returns: seconds after the start of the world.
    private static func sentAfter(_ world: World, atMost limit: Int64) throws -> Double {
        try #require(world.pass(atMost: .seconds(limit)) { world.sent > 0 })
        let at = (world.network.now - World.start.instant).inSeconds
        #expect(world.pass(atMost: .seconds(2)) { world.isQuiet })
        return at
    }

    @Test(
        "A request waits in the longest retry queues that end in time, and is sent on time as a first attempt",
        arguments: [(3, 0), (7, 1), (1031, 4), (72 * 360 + 1, 72)] as [(after: Int64, copies: Int)])
    func waits(after: Int64, copies: Int) throws {
        // A tenth of the default delays for the longest wait: each hour costs real time for heartbeats.
        let isLong = after > 3600
        let world = try World.started {
            if isLong { $0.retry.delays = [.seconds(90), .seconds(180), .seconds(360)] }
        }
        world.countParked()
        try world.request(Self.body(after: after), id: "m1")
        #expect((0..<0.5).contains(try Self.sentAfter(world, atMost: after + 10) - Double(after)))
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["accepted"] && results[0].body.contains("\"attempts\":1,"))
        // As often as possible in the longest queue, then shorter ones; the last seconds pass in the worker.
        #expect(world.parkedCopies == copies)
    }

    @Test("If the shortest retry queue is long, a request is late rather than held", arguments: [(4, 4), (60, 100)])
    func longDelays(after: Int64, sent: Int64) throws {
        let delays = [Duration.seconds(100)]
        let world = try World.started { ($0.retry.delays, $0.retry.throttledDelays) = (delays, delays) }
        try world.request(Self.body(after: after), id: "m1")
        #expect((0..<0.5).contains(try Self.sentAfter(world, atMost: 200) - Double(sent)))
    }

    @Test(
        "A request is sent at its time unless it expires before, by either expiration, counted from its timestamp",
        arguments: [
            (9, nil, nil, false), (nil, "9000", nil, false), (nil, "14000", start - 5, false),
            (nil, "14000", (start - 5) * 1000, false), (nil, "9000", start, false),
            (nil, "9000", start + 3600, false), (11, nil, nil, true), (10, nil, nil, true), (0, nil, nil, true),
            (nil, "11000", nil, true), (nil, "16000", start - 5, true),
            (nil, "16000", (start - 5) * 1000, true), (nil, "11000", start, true),
            // A message that would have expired before it arrived was published later.
            (nil, "11000", start * 1000 - 11_998, false), (nil, "11000", start * 1000 - 11_999, true),
        ] as [(apns: Int64?, amqp: String?, timestamp: Int64?, isSent: Bool)])
    func expiration(apns: Int64?, amqp: String?, timestamp: Int64?, isSent: Bool) throws {
        let world = try World.started()
        try world.request(Self.body(after: 10, expiration: apns), id: "m1") {
            $0.expiration = amqp.map { Array($0.utf8) }
            $0.timestamp = timestamp.map { UInt64($0) }
        }
        if isSent {
            #expect((10..<10.9).contains(try Self.sentAfter(world, atMost: 20)))
        } else {
            #expect(world.isQuiet && world.sent == 0, "it ends at once")
        }
        #expect(world.published(in: "push.results").map(\.outcome) == [isSent ? "accepted" : "expired"])
    }

    @Test("A fan-out waits as one, and a malformed device token has its result with the others")
    func fanOut() throws {
        let world = try World.started()
        let tokens = "\"device-tokens\":[\"\(World.token("7"))\",\"zz\",\"\(World.token("8"))\"]"
        try world.request(Self.body(after: 20, target: tokens), id: "m1")
        #expect(world.published(in: "push.results").isEmpty)
        #expect((20..<20.5).contains(try Self.sentAfter(world, atMost: 30)))
        let outcomes = world.published(in: "push.results").compactMap(\.outcome)
        #expect(outcomes.sorted() == ["accepted", "accepted", "invalid"])
        // It expires before its time, and fails now.
        let other = try World.started { $0.results.route = nil }
        try other.request(Self.body(after: 20, expiration: 9, target: tokens), id: "m1")
        let letter = try #require(other.published(in: "push.dead").first)
        #expect(letter.headers["harebell-failed-at"] == World.start.wall.inUTC)
    }

    @Test("A time in the past, as in a replay, causes no wait", arguments: [0, -1, -86_400, -start])
    func past(after: Int64) throws {
        let world = try World.started()
        try world.request(Self.body(after: after), id: "m1")
        #expect(world.isQuiet && world.sent == 1 && world.parked.isEmpty)
    }

    @Test("More than thirty days ahead is invalid; thirty days are not")
    func tooFar() throws {
        let world = try World.started()
        let body = Self.body(after: 30 * 86_400 + 1).replacing("example.app\"", with: "example.a\",\"deviceToken\":1")
        try world.request(body, id: "m1")
        #expect(world.published(in: "push.results").map(\.outcome) == ["invalid"])
        let detail = world.published(in: "push.dead").first?.headers["harebell-detail"]
        let app = "apns-topic: no app \"com.example.a\" is configured; did you mean \"com.example.app\"?"
        let found = "\(app); deviceToken: not a field; did you mean \"device-token\"?"
        #expect(detail == "not-before: more than 30 days ahead; \(found)")
        let own = "123e4567-e89b-12d3-a456-426655440000"
        try world.request(Self.body(after: 30 * 86_400 + 1, id: own), id: "m3")
        let result = try #require(world.published(in: "push.results").last)
        #expect(result.messageID == own && result.body.contains("\"apns-topic\":\"com.example.app\""))
        #expect(result.body.contains("\"device-token\":\"\(World.token("7"))\""))
        let tokens = #""device-tokens":["00",\#(Array(repeating: #""zz""#, count: 5).joined(separator: ","))]"#
        try world.request(Self.body(after: 30 * 86_400 + 1, target: tokens), id: "m4")
        let named = (1...4).map {
            "; device-tokens[\($0)]: expected an even number of hexadecimal digits, at most 1024"
        }
        #expect(
            world.published(in: "push.dead").last?.headers["harebell-detail"]
                == "not-before: more than 30 days ahead\(named.joined()); and 1 more")
        try world.request(Self.body(after: 30 * 86_400), id: "m2")
        #expect(world.published(in: "push.results").count == 3 && world.parked.count == 1)
    }

    @Test("The replay of a dead letter waits again if its time has not come")
    func replay() throws {
        let world = try World.started()
        try world.request(Self.body(after: 30 * 86_400 + 30), id: "m1")
        #expect(world.published(in: "push.dead").count == 1 && world.parked.isEmpty)
        world.pass(.seconds(60))
        let address = BrokerAddress(endpoint: World.broker)
        let run = DeadLetterRun(
            .replay(to: { ["push.requests"].contains($0) ? $0 : nil }), .init(queue: "push.dead"),
            reader: RequestReader(world.configuration), id: "run", at: world.network.now
        ) { role in
            AMQPConnection(
                configuration: AMQPConfiguration(address: address, role: role), addresses: [address],
                network: world.network, random: SplitMix64(seed: 1))
        }
        #expect(world.finish(run) && run.end == .complete)
        #expect(world.published(in: "push.dead").isEmpty && world.broker.messages(in: "push.requests").isEmpty)
        #expect(world.parked.count == 1 && world.sent == 0)
        // The result is that of the first time.
        #expect(world.published(in: "push.results").map(\.outcome) == ["invalid"])
        world.pass(.seconds(3600))
        #expect(world.parked.map { $0.decodedProperties?.headers?["harebell-deferred"] } == [.int32(2)])
    }

    @Test("A message of another format waits for the time in its header", arguments: [10, -1])
    func otherFormat(after: Int64) throws {
        let world = try World.started { $0.queues[0].decoder = "apns-headers" }
        try world.request("{\"aps\":{\"badge\":1}}", id: "m1") {
            $0.headers = [
                "device-token": .string(World.token("7")), "apns-topic": .string("com.example.app"),
                "not-before": .int64(Self.start + after),
            ]
        }
        #expect(world.sent == (after < 0 ? 1 : 0))
        #expect((max(0, Double(after))..<10.5).contains(try Self.sentAfter(world, atMost: 20)))
    }

    @Test("The worker's clock decides, even if it is set back after the request was taken")
    func clockSkew() throws {
        let world = try World.started()
        world.clockError = .seconds(60)
        try world.request(Self.body(after: 100), id: "m1")
        #expect((40..<40.5).contains(try Self.sentAfter(world, atMost: 100)))
        try world.request(Self.body(after: 8640), id: "m2")
        try world.request(Self.body(after: 30 * 86_400), id: "m3")
        // By less than the hour that APNs grants provider tokens.
        world.clockError = .seconds(-1800)
        #expect(world.pass(atMost: .seconds(8640 + 2000)) { world.sent == 2 })
        #expect(world.pass(atMost: .seconds(1)) { world.published(in: "push.results").count == 2 })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted", "accepted"])
        #expect(world.parked.count == 1)
        // More than 30 days ahead by the new clock, which is not checked again.
        world.clockError = .seconds(-5 * 86_400)
        world.pass(.seconds(6 * 3600))
        #expect(world.parked.count == 1 && world.published(in: "push.results").count == 2)
    }

    @Test("A worker that ends leaves waiting requests to the next one", arguments: [true, false])
    func restart(isDrained: Bool) throws {
        let world = try World.started()
        try world.request(Self.body(after: 8), id: "m1")
        // Five seconds pass in a queue, the rest in the worker.
        world.pass(.seconds(6))
        #expect(world.broker.unsettledCount == 1 && world.parked.isEmpty)
        if isDrained { try world.drain(by: .seconds(60), within: .seconds(1)) }
        world.kill()
        try world.start()
        #expect((8..<8.5).contains(try Self.sentAfter(world, atMost: 10)))
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
    }

    @Test("Without retry queues a request waits in the worker, and is tried also if it is now or never")
    func missingQueues() throws {
        let world = try World.started(hasRetryQueues: false)
        try world.request(Self.body(after: 400, expiration: 0), id: "m1")
        #expect(world.broker.unsettledCount == 1)
        #expect((400..<405).contains(try Self.sentAfter(world, atMost: 410)))
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("A failure after the wait begins with the first level")
    func troubleAfterwards() throws {
        let world = try World.started(script: "attempt 1: 503 ServiceUnavailable")
        try world.request(Self.body(after: 6), id: "m1")
        #expect(world.pass(atMost: .seconds(8)) { !world.broker.messages(in: "push.requests.retry.900s").isEmpty })
        #expect(world.pass(atMost: .seconds(901)) { world.isQuiet })
        #expect(world.published(in: "push.results").first?.body.contains("\"attempts\":2,") == true)
    }

    @Test("Without retry queues, a request that another worker gets meanwhile is sent once")
    func otherWorker() throws {
        let world = try World.started(hasRetryQueues: false)
        try world.start()
        world.network.latency = .milliseconds(50)
        try world.request(Self.body(after: 20), id: "m1")
        // The worker has published the copy, and the broker has not received it.
        world.pass(.milliseconds(60))
        world.network.cut(try #require(world.network.links.first { ($0.server as? BrokerEngine)?.unsettledCount == 1 }))
        world.pass(.seconds(40))
        #expect(world.sent == 1 && world.isQuiet)
    }
}

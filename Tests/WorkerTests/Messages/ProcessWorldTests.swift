import Core
import Logging
import Pipeline
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Decoding
@testable import Runtime

/// A worker with an in-memory program.
@Suite("A worker whose decoder is a process")
struct ProcessWorldTests {
    private static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"

    private static func world(script: String = "", before: (World) -> Void = { _ in }) throws -> World {
        func configure(_ configuration: inout Configuration) {
            configuration.apps.append(configuration.apps[1])
            configuration.apps[2].topic = "com.example.third"
            let options = ProcessDecoder.Options(program: Program(command: ["reader"]))
            configuration.decoders = [DecoderDefinition(name: "program", .process(options))]
            configuration.queues[0].decoder = "program"
        }
        return try World.started(script: script, configure: configure, before: before)
    }

    private static func envelope(_ text: String) -> String {
        #"{"device-token":"\#(token)","apns-topic":"com.example.app","payload":{"aps":{"alert":"\#(text)"}}}"#
    }

    @Test("Requests are sent as the program decodes them, and nothing is settled before its answer")
    func sends() throws {
        let world = try Self.world(before: { $0.programs.hello = nil })
        try world.request(Self.envelope("one"), id: "m1")
        world.pass(.seconds(1))
        #expect(world.sent == 0 && world.broker.unsettledCount == 1 && world.worker?.counters.unsettled == 1)
        // Its hello is too late, and it is started again.
        world.programs.hello = MemoryPrograms.frame(#"{"hello":{"protocol":1}}"#)
        world.pass(.seconds(12))
        #expect(world.programs.starts == 2 && world.isQuiet)
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
        try world.request(Self.envelope("two"), id: "m2")
        #expect(world.sent == 2, "without another event")
    }

    @Test("A request for two refused apps counts for the share of both")
    func shares() throws {
        let world = try Self.world(script: "topic *: 403 InvalidProviderToken")
        for names in [["other", "third"], ["third"]] {
            try world.request(names.map { World.body(1, topic: "com.example.\($0)") }.joined(separator: ","))
            world.pass(.seconds(2))
        }
        #expect(world.worker?.paused.map(\.held) == [1, 1] && world.parked.count == 1)
    }

    @Test("Each answer has its effect")
    func responses() throws {
        let world = try Self.world()
        world.programs.conduct = { body in .response(body) }
        try world.request(#""ignore":"no push""#, id: "m1")
        try world.request(#""reject":"no such\n user""#, id: "m2")
        try world.request(#""later":7"#, id: "m3")
        try world.request(#""requests":[{"device-token":"x"},\#(Self.envelope("a"))]"#, id: "m4")
        try world.request(#""requests":[]"#, id: "m5")
        try world.request(#""sometime":1"#, id: "m6")
        world.pass(.seconds(1))
        #expect(world.worker?.counters[.ignored] == 1)
        #expect(world.parked.count == 1)
        let results = world.published(in: "push.results")
        #expect(results.compactMap(\.outcome).sorted() == ["accepted", "invalid", "invalid", "invalid", "invalid"])
        let details = world.published(in: "push.dead").compactMap { $0.headers["harebell-detail"] }.sorted()
        #expect(
            details == [
                "1 of 2 notifications failed, first: apns-topic: missing, and more than one app is configured; "
                    + "requests[0].payload: missing, expected a JSON object; "
                    + "device-token: expected an even number of hexadecimal digits, at most 1024",
                #"no such\n user"#, "the decoder's response: expected at least one request",
                "the decoder's response: expected requests, ignore, reject, or later up to 604800",
            ])
        // A deferred message is asked about again.
        world.programs.conduct = { _ in .response(#""ignore":"now""#) }
        world.pass(.seconds(10))
        #expect(world.worker?.counters[.ignored] == 2)
        #expect(world.isQuiet)
    }

    @Test("Messages that crash or hang the program are quarantined, and all others are sent")
    func quarantine() throws {
        for conduct in [
            MemoryPrograms.Conduct.crash, .hang, .write(MemoryPrograms.frame("[")), .write([0x7F, 0, 0, 0]),
        ] {
            let world = try Self.world()
            world.programs.conduct = { body in body == "poison" ? conduct : .response(#""requests":[\#(body)]"#) }
            world.programs.kill()
            for id in 0..<8 { try world.request(id / 2 == 2 ? "poison" : Self.envelope("\(id)"), id: "m\(id)") }
            world.pass(.seconds(60))
            let outcomes = world.published(in: "push.results").compactMap(\.outcome).sorted()
            #expect(outcomes == Array(repeating: "accepted", count: 6) + ["invalid", "invalid"], "\(conduct)")
            let dead = world.published(in: "push.dead")
            #expect(dead.map(\.messageID) == ["m4", "m5"] && dead.map(\.body) == ["poison", "poison"], "\(conduct)")
            #expect(
                dead.first?.headers["harebell-detail"]?.hasPrefix("the decoder failed 2 times with this message alone")
                    == true)
            #expect(world.worker?.worker.decoders[0].counters.quarantined == 2, "\(conduct)")
            #expect(world.log.count { $0.message == "a message that makes the decoder fail is quarantined" } == 2)
            // The pause grows with each failure, until there is an answer or a quarantine.
            #expect(
                world.log.compactMap { $0.number("pause_seconds") }.suffix(4) == [0.1, 0.2, 0.1, 0.1], "\(conduct)")
            if case .hang = conduct {
                #expect(dead.first?.headers["harebell-detail"]?.contains("it took longer than") == true)
            }
            #expect(world.isQuiet, "\(conduct)")
        }
    }

    @Test("Without a program deliveries wait, and they are sent once there is one")
    func missing() throws {
        let world = try Self.world(before: { $0.programs.canStart = false })
        for index in 0..<3 { try world.request(Self.envelope("\(index)"), id: "m\(index)") }
        world.pass(.seconds(120))
        #expect(world.sent == 0 && world.broker.unsettledCount == 3)
        // 0.1, 0.2, … 25.6, then 30 s apart.
        #expect(world.worker?.worker.decoders[0].counters.restarts == 12)
        let pauses = world.log.compactMap { $0.number("pause_seconds") }
        #expect(pauses.first == 0.1 && pauses.last == 30)
        world.programs.canStart = true
        world.pass(.seconds(30))
        #expect(world.sent == 3 && world.isQuiet && world.programs.asked.map(\.count) == [3])
    }

    @Test("A redelivery is not sent to the program while the first delivery is there")
    func orphan() throws {
        let world = try Self.world()
        world.programs.conduct = { _ in .hang }
        try world.request(Self.envelope("one"), id: "m1")
        world.cut(consuming: true)
        world.pass(.seconds(3))
        #expect(world.programs.asked == [[Self.envelope("one")]])
        world.programs.conduct = { .response(#""requests":[\#($0)]"#) }
        world.pass(.seconds(10))
        #expect(world.sent == 1 && world.isQuiet)
    }

    @Test("A request that another worker gets while the first one's program reads it is sent once, twice in a row")
    func orphanOfOtherWorker() throws {
        let world = try Self.world()
        try world.start()
        for round in 1...2 {
            world.programs.conduct = { _ in .hang }
            try world.request(Self.envelope("\(round)"), id: "m\(round)")
            let link = try #require(world.network.links.first { ($0.server as? BrokerEngine)?.unsettledCount == 1 })
            world.network.cut(link)
            world.pass(.seconds(1))
            world.programs.conduct = { .response(#""requests":[\#($0)]"#) }
            #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
            world.pass(.seconds(60))
            #expect(world.sent == round && world.running.map(\.counters.unsettled) == [0, 0])
        }
    }

    @Test(
        "A program killed repeatedly loses nothing, and quarantines a message only by bad luck",
        arguments: 1...6 as ClosedRange<UInt64>)
    func killed(seed: UInt64) throws {
        let world = try Self.world()
        var random = SplitMix64(seed: seed)
        for index in 0..<120 {
            try world.request(Self.envelope("\(index)"), id: "m\(index)")
            if Int.random(in: 0..<4, using: &random) == 0 { world.programs.kill() }
            world.pass(.milliseconds(Int64.random(in: 0...200, using: &random)))
        }
        world.pass(.seconds(60))
        let results = world.published(in: "push.results")
        #expect(results.count == 120, "seed \(seed)")
        #expect(Set(results.map(\.body)).count == 120, "seed \(seed)")
        let invalid = results.count { $0.outcome == "invalid" }
        #expect(world.published(in: "push.dead").count == invalid && world.sent == 120 - invalid, "seed \(seed)")
        #expect(world.isQuiet, "seed \(seed)")
    }

    @Test("A drain waits for answers, and ends the program")
    func drain() throws {
        let world = try Self.world()
        try world.request(Self.envelope("one"), id: "m1")
        world.worker?.startDrain(deadline: world.moment.instant + .seconds(30))
        world.pass(.seconds(10))
        #expect(world.worker?.hasEnded == true && world.worker?.wasCutShort == false)
        #expect(world.sent == 1 && world.broker.unsettledCount == 0)
        #expect(world.network.links.isEmpty)
    }

    @Test("An entry that expires before the next attempt ends alone, and the others of its message go on")
    func mixedExpirations() throws {
        let world = try Self.world()
        try world.restartAPNs("first 2 requests: 503 ServiceUnavailable")
        let soon = Self.envelope("a").dropLast() + ",\"apns-expiration\":\(World.start.wall.seconds + 10)}"
        try world.request("\(soon),\(Self.envelope("b"))", id: "m1")
        #expect(world.pass(atMost: .seconds(1000)) { world.isQuiet })
        #expect(world.published(in: "push.results").compactMap(\.outcome).sorted() == ["accepted", "expired"])
        #expect(world.sent == 3)
    }
}

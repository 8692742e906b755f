import Core
import Decoding
import Foundation
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration
@testable import Monitoring

@Suite("The state for the dashboard")
struct StatePageTests {
    private typealias Object = [String: Any]

    private static let credentials = [
        ProcessSnapshot.Credential(AppName("com.example.app", .production), expiresIn: nil, tokenAge: .seconds(5e3)),
        ProcessSnapshot.Credential(AppName("com.example.other", .production), expiresIn: 86_400, tokenAge: nil),
    ]

    private func state(_ world: World) throws -> Object {
        let page = StatePage.render(world.processSnapshot(Self.credentials))
        return try #require(try JSONSerialization.jsonObject(with: Data(page)) as? Object)
    }

    private func objects(_ object: Object, _ key: String) throws -> [Object] {
        try #require(object[key] as? [Object], "\(key)")
    }

    /// Each `"key"` of an object and its descendants, as `a.b`; an array's elements count as its own.
    private static func keys(_ value: Any, _ path: String = "") -> Set<String> {
        if let array = value as? [Any] { return array.reduce(into: []) { $0.formUnion(keys($1, path)) } }
        guard let object = value as? Object else { return [] }
        return object.reduce(into: []) { known, member in
            let path = path.isEmpty ? member.key : "\(path).\(member.key)"
            known.insert(path)
            known.formUnion(keys(member.value, path))
        }
    }

    @Test("It has each documented key, and no other, in any state")
    func keys() throws {
        let rows = try DocumentationPage("reference/state.md").table("| key | type | says |").map {
            $0[0].trimmingCharacters(in: CharacterSet(charactersIn: "`"))
        }
        let world = try World.started(
            script: "token dead*: 410 Unregistered\ntoken *: 403 InvalidProviderToken\nafter 1 request: goaway",
            configure: Self.useProgram)
        try world.request(World.body(token: "dead"))
        world.pass(.seconds(2))
        try world.request(World.body())
        world.pass(.seconds(2))
        let known = Self.keys(try state(world))
        #expect(known.subtracting(rows).sorted() == [])
        #expect(Set(rows).subtracting(known).sorted() == [])
        #expect(rows.count == Set(rows).count)
    }

    @Test("Its totals match the metrics, and each connection has its streams and permits")
    func load() throws {
        let world = try World.started(script: "token dead*: 410 Unregistered\ntoken *: delay 50ms")
        for number in 0..<30 { try world.request(World.body(number)) }
        for number in 0..<3 { try world.request(World.body(token: "dead\(number)")) }
        #expect(world.pass(atMost: .seconds(5)) { world.ledger.statistics.requests > 0 })
        let busy = try state(world)
        let host = try String(contentsOfFile: "/proc/sys/kernel/hostname", encoding: .utf8)
        #expect(busy["host"] as? String == host.trimmingCharacters(in: .newlines))
        #expect(try #require(busy["unsettled"] as? Int) > 0)
        let pools = try objects(busy, "pools")
        #expect(pools.map { $0["traffic"] as? String } == ["notifications", "channels"])
        let pool = try #require(pools.first { $0["topic"] as? String == "com.example.app" })
        let connection = try #require(try objects(pool, "connections").first)
        #expect(connection["phase"] as? String == "ready")
        let streams = try #require(connection["streams"] as? Int)
        let maximum = try #require(connection["maximum_streams"] as? Int)
        #expect(streams > 0 && streams <= maximum)
        #expect(try #require(connection["permits"] as? Int) <= 500)
        #expect(connection["burst"] as? Int == 500 && connection["permits_per_second"] as? Int == 4000)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let done = try state(world)
        #expect(done["ready"] as? Bool == true)
        #expect(done["unsettled"] as? Int == 0 && done["oldest_unsettled_seconds"] as? Double == 0)
        var totals: [String: Int] = [:]
        for entry in try objects(done, "notifications") {
            let name = "\(try #require(entry["outcome"] as? String)) \(entry["reason"] as? String ?? "-")"
            totals[name, default: 0] += try #require(entry["total"] as? Int)
        }
        #expect(totals == ["accepted -": 30, "unregistered Unregistered": 3])
        let counts = try #require(done["totals"] as? [String: Int])
        #expect(counts["deliveries"] == 33 && counts.values.reduce(0, +) == 33, "\(counts)")
        let latency = try #require(done["latency"] as? Object)
        let bounds = try #require(latency["bounds_seconds"] as? [Double])
        for name in ["request", "apns", "limiter_wait"] {
            let counts = try #require((latency[name] as? Object)?["counts"] as? [Int], "\(name)")
            #expect(counts.count == bounds.count + 1 && counts.reduce(0, +) == 33, "\(name)")
        }
        let queue = try #require(try objects(done, "queues").first)
        #expect(queue["deliveries"] as? Int == 33 && queue["consumers"] as? Int == 1)
        #expect(queue["prefetch"] as? Int == 10 && queue["prefetch_in_force"] as? Int == 10)
    }

    @Test("What a paused app holds is waiting, and each app has its credential's age or expiration")
    func apps() throws {
        let world = try World.started(script: "token *: 403 InvalidProviderToken")
        try world.request(World.body())
        world.pass(.seconds(3))
        let apps = try objects(try state(world), "apps")
        #expect(apps.map { $0["usable"] as? Bool } == [false, true])
        #expect((try state(world)["waiting"] as? Object)?["paused"] as? Int == 1)
        #expect(apps.map { $0["credential"] as? String } == ["provider-token", "certificate"])
        #expect(apps[0]["provider_token_age_seconds"] as? Double == 5000)
        #expect(apps[1]["certificate_expires_in_seconds"] as? Int == 86_400)
    }

    private static func useProgram(_ configuration: inout Configuration) {
        let options = ProcessDecoder.Options(program: Program(command: ["reader"]))
        configuration.decoders = [DecoderDefinition(name: "program", .process(options))]
        configuration.queues[0].decoder = "program"
    }

    @Test("A decoder that is a program has its state, the last error while it is down, and the sums of all workers")
    func decoders() throws {
        let world = try World(configure: Self.useProgram)
        world.programs.hello = nil
        try world.start()
        world.pass(.seconds(2))
        try world.start()
        func decoder() throws -> Object { try #require(try objects(try state(world), "decoders").first) }
        let early = try decoder()
        #expect(early["name"] as? String == "program" && early["state"] as? String == "starting")
        #expect(early["problem"] is NSNull && early["restarts"] as? Int == 0)
        for number in 0..<4 { try world.request(World.body(number)) }
        world.pass(.seconds(11))
        let late = try decoder()
        #expect(late["state"] as? String == "down")
        #expect(late["problem"] as? String == "it sent no hello within 10.0 seconds")
        #expect(try objects(try state(world), "problems").count == 1)
        #expect(late["waiting"] as? Int == 4 && late["restarts"] as? Int == 2)
        #expect((try state(world)["waiting"] as? Object)?["decoder"] as? Int == 4)
        #expect(try PrometheusPage(world.processSnapshot()).sum("harebell_decoder_running") == 0)
        world.programs.hello = MemoryPrograms.frame(#"{"hello":{"protocol":1}}"#)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let done = try decoder()
        #expect(done["state"] as? String == "working" && done["problem"] is NSNull)
        #expect(try PrometheusPage(world.processSnapshot()).sum("harebell_decoder_running") == 2)
        #expect(done["waiting"] as? Int == 0 && done["quarantined"] as? Int == 0)
        // It dies while nothing waits: with its hello it works again.
        world.programs.kill()
        world.pass(.seconds(1))
        #expect(try decoder()["state"] as? String == "working")
        #expect(try objects(try state(try World.started()), "decoders").isEmpty)
    }

    @Test("What waits is counted by what it waits for")
    func waiting() throws {
        let world = try World.started(script: "token *: delay 2s") {
            $0.apns.connections = 1...1
            ($0.apns.permitsPerSecond, $0.apns.burst) = (1, 1)
        }
        func waiting(_ cause: String) throws -> Int? { (try state(world)["waiting"] as? Object)?[cause] as? Int }
        world.broker.holdsConfirms = true
        for number in 0..<3 { try world.request(World.body(number)) }
        #expect(try waiting("limits") == 2 && waiting("connection") == 0)
        #expect(world.pass(atMost: .seconds(20)) { (try? state(world))?["unconfirmed"] as? Int == 3 })
        world.isAPNsDown = true
        world.cut(World.apns)
        try world.request(World.body(3))
        world.pass(.seconds(1))
        #expect(try waiting("connection") == 1 && waiting("limits") == 0 && waiting("confirm") == 3)
    }

    @Test("A connection closed by APNs has its reason, and its pool keeps it afterwards")
    func goaway() throws {
        let world = try World.started(script: "after 5 requests: goaway Shutdown\ntoken *: delay 2s")
        for number in 0..<5 { try world.request(World.body(number)) }
        func leaving() throws -> String? {
            try objects(try state(world), "pools").flatMap { try objects($0, "connections") }
                .compactMap { $0["goaway"] as? String }.first
        }
        #expect(world.pass(atMost: .seconds(5)) { (try? leaving()) == "Shutdown" })
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        world.pass(.seconds(20))
        #expect(try leaving() == nil)
        let pools = try objects(try state(world), "pools")
        #expect(pools.map { $0["goaways"] as? Int } == [1, 0])
        let last = pools.compactMap { $0["last_goaway"] as? Object }.first
        #expect(last?["reason"] as? String == "Shutdown")
        #expect(try #require(last?["seconds_ago"] as? Double) >= 20)
    }
}

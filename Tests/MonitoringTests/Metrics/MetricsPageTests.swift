import AMQP
import Admin
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Monitoring
@testable import Runtime

@Suite("The metrics of a worker")
struct MetricsPageTests {
    private func processSnapshot(_ world: World) -> ProcessSnapshot {
        world.processSnapshot([
            .init(AppName("com.example.app", .production), expiresIn: nil, tokenAge: .seconds(90)),
            .init(AppName("com.example.other", .production), expiresIn: -5, tokenAge: nil),
        ])
    }

    private func page(_ world: World) throws -> PrometheusPage {
        try PrometheusPage(processSnapshot(world))
    }

    private func state(_ world: World) -> String {
        String(decoding: StatePage.render(processSnapshot(world)), as: UTF8.self)
    }

    @Test("The page has every metric of the table once, in order, with its labels, also before any event")
    func table() throws {
        let world = try World()
        let metrics = MetricsPage(processSnapshot(world)).text.metrics
        for _ in 0..<2 {
            let page = try page(world)
            #expect(page.families.map(\.name) == metrics.map { $0.name.description })
            #expect(Set(page.families.map(\.name)).count == metrics.count)
            for (family, metric) in zip(page.families, metrics) {
                #expect(family.type == metric.kind.rawValue)
                for sample in family.samples {
                    #expect(Set(sample.labels.keys).subtracting(["le"]) == Set(metric.labels.map(\.description)))
                }
            }
            try world.start()
        }
    }

    @Test("It counts the requests of APNs and the messages of the broker")
    func load() throws {
        let world = try World(
            script: """
                token dead*: 410 Unregistered
                token e4e4*: 400 BadCollapseId
                token 0dd*: 400 "NotOfApple"
                token *: delay 20ms
                """
        ) { $0.queues[0].prefetch = 100 }
        try world.start()
        let stamp = UInt64(world.moment.wall.seconds - 7)
        for number in 0..<20 { try world.request(World.body(number), id: "a\(number)") { $0.timestamp = stamp } }
        for number in 0..<3 { try world.request(World.body(token: "dead\(number)"), id: "d\(number)") }
        for number in 0..<2 { try world.request(World.body(token: "e4e4\(number)"), id: "e\(number)") }
        try world.request(World.body(token: "0dd1"), id: "odd")
        try world.request("{", id: "broken")
        let busy = try page(world)
        #expect(busy.sum("harebell_unsettled") == 26)
        #expect(busy.sum("harebell_consuming", ["queue": "push.requests"]) == 1)
        #expect(busy.sum("harebell_prefetch", ["queue": "push.requests"]) == 100)
        #expect(busy.sum("harebell_publishing") == 1)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let page = try page(world)
        #expect(page.sum("harebell_deliveries_total", ["queue": "push.requests"]) == 27)
        func notifications(_ outcome: String, _ reason: String, _ type: String = "alert") -> Double? {
            page.sum(
                "harebell_notifications_total",
                ["topic": "com.example.app", "push_type": type, "outcome": outcome, "reason": reason])
        }
        #expect(notifications("accepted", "") == 20 && notifications("unregistered", "Unregistered") == 3)
        #expect(notifications("rejected", "BadCollapseId") == 2 && notifications("rejected", "unknown") == 1)
        #expect(page.sum("harebell_notifications_total", ["topic": "", "outcome": "invalid"]) == 1)
        for (name, value) in [
            ("notifications_total", 27.0), ("dead_letters_total", 4), ("unknown_reasons_total", 1),
            ("decoding_limits_total", 0), ("request_seconds_count", 27), ("queue_wait_seconds_count", 20),
            ("apns_seconds_count", 26), ("limiter_wait_seconds_count", 26), ("unsettled", 0), ("unconfirmed", 0),
            ("oldest_unsettled_seconds", 0),
        ] {
            #expect(page.sum("harebell_\(name)") == value, "\(name)")
        }
        #expect(page.sum("harebell_request_seconds_bucket", ["le": "0.01"]) == 1, "the broken one")
        #expect(page.sum("harebell_queue_wait_seconds_bucket", ["le": "5"]) == 0)
        #expect(page.sum("harebell_queue_wait_seconds_bucket", ["le": "10"]) == 20)
        #expect(page.sum("harebell_apns_seconds_bucket", ["le": "0.01"]) == 0)
        // Both apps share one key, so the connections count for the first.
        #expect(page.sum("harebell_connections", ["app": "com.example.app", "state": "ready"]) == 1)
        let first = ["app": "com.example.app", "environment": "production"]
        #expect(page.samples(of: "harebell_streams").map(\.labels) == [first])
        #expect(page.sum("harebell_max_concurrent_streams", ["app": "com.example.app"]) == 1000)
    }

    @Test("A notification that is sent again is counted once, and each way of sending it again separately")
    func retries() throws {
        let world = try World.started(
            script: """
                first 1 request: 403 InvalidProviderToken
                token 71*, attempt 1: rst REFUSED_STREAM
                token 72*, attempt 1: rst INTERNAL_ERROR
                token 73*, attempt 1: 503 ServiceUnavailable
                token 74*, attempt 1: 403 ExpiredProviderToken
                """)
        for prefix in ["7", "71", "74", "72", "73"] {
            try world.request(World.body(token: prefix), id: prefix)
            #expect(world.pass(atMost: .seconds(1000)) { world.isQuiet })
            world.pass(.seconds(1200))
        }
        let page = try page(world)
        #expect(page.sum("harebell_notifications_total", ["outcome": "accepted"]) == 5)
        for (kind, count) in [("token", 2.0), ("resend", 1), ("backoff", 1), ("parked", 1)] {
            #expect(page.sum("harebell_retries_total", ["kind": kind]) == count, "\(kind)")
        }
        #expect(page.sum("harebell_uncertain_total") == 1)
    }

    @Test("A timestamp in the future is not counted, nor is 0")
    func futureTimestamp() throws {
        let world = try World.started()
        let milliseconds = UInt64(world.moment.wall.milliseconds)
        for stamp in [0, milliseconds + 1000, .max, UInt64(world.moment.wall.seconds) + 1] {
            try world.request(World.body(), id: "m\(stamp)") { $0.timestamp = stamp }
        }
        #expect(try page(world).sum("harebell_queue_wait_seconds_count") == 0)
        // Milliseconds of the past are counted, as seconds are.
        try world.request(World.body(), id: "past") { $0.timestamp = milliseconds - 1000 }
        #expect(try page(world).sum("harebell_queue_wait_seconds_count") == 1)
    }

    @Test("Requests that wait for a connection are counted, with their waiting time")
    func waiting() throws {
        let world = try World()
        world.isAPNsDown = true
        try world.start()
        try world.request(World.body(), id: "first")
        world.pass(.seconds(3))
        try world.request(World.body(1), id: "second")
        world.pass(.seconds(4))
        let waiting = try page(world)
        #expect(waiting.sum("harebell_waiting", ["app": "com.example.app"]) == 2)
        #expect(waiting.sum("harebell_oldest_unsettled_seconds") == 7)
        #expect(waiting.sum("harebell_connections", ["state": "ready"]) == 0)
        #expect(try #require(waiting.sum("harebell_connect_failures_total")) > 1)
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let page = try page(world)
        // The first one waits in the pool as its probe. The second one leaves it, depending on when the pool dials.
        #expect(try #require(page.sum("harebell_limiter_wait_seconds_bucket", ["le": "2.5"])) <= 1)
        #expect(page.sum("harebell_limiter_wait_seconds_count") == 2)
    }

    @Test("The remaining time of a token shows, and a refused one closes the connections")
    func secrets() throws {
        let world = try World.started()
        let token = ["{}", "{}", "x"].map { Base64.url.encode(Array($0.utf8)) }.joined(separator: ".")
        for isRight in [true, false] {
            world.broker.users["guest"] = isRight ? token : "another"
            try #require(world.worker).worker.renewPassword(Secret(token), at: world.moment)
            world.settle()
        }
        let seen = processSnapshot(world)
        #expect(try PrometheusPage(seen).samples(of: "harebell_broker_secret_expiry_seconds").isEmpty)
        let page = try PrometheusPage(
            ProcessSnapshot(workers: seen.workers, credentials: [], passwordExpiresIn: 12, at: seen.at))
        #expect(page.sum("harebell_broker_secret_expiry_seconds") == 12)
        #expect(world.broker.engines.isEmpty)
        #expect(page.sum("harebell_consuming") == 0 && page.sum("harebell_publishing") == 0)
        world.broker.users["guest"] = token
        #expect(world.pass(atMost: .seconds(60)) { world.broker.engines.count == 2 })
    }

    @Test("A paused app has its cause and its held requests; the others have none")
    func paused() throws {
        let world = try World.started(script: "token *: 403 BadEnvironmentKeyIdInToken") { $0.queues[0].prefetch = 30 }
        for number in 0..<3 { try world.request(World.body(number), id: "m\(number)") }
        world.pass(.seconds(1))
        let page = try page(world)
        let samples = page.samples(of: "harebell_app_paused")
        #expect(
            samples.map(\.labels) == [
                ["topic": "com.example.app", "environment": "production", "cause": "BadEnvironmentKeyIdInToken"],
                ["topic": "com.example.other", "environment": "production", "cause": ""],
            ])
        #expect(samples.map(\.value) == [1, 0])
        #expect(page.sum("harebell_held", ["topic": "com.example.app"]) == 3)
        #expect(page.sum("harebell_certificate_expiry_seconds", ["topic": "com.example.other"]) == -5)
        #expect(page.sum("harebell_provider_token_age_seconds", ["topic": "com.example.app"]) == 90)
        #expect(page.samples(of: "harebell_provider_token_age_seconds").count == 1)
    }

    @Test("One topic in two environments is two series, and an unreachable one shows")
    func environments() throws {
        let world = try World.started {
            $0.apps[1].topic = $0.apps[0].topic
            $0.apps[1].environment = .development
            $0.apps[1].endpoint = Endpoint(host: "unreachable.test", port: 443)
        }
        try world.request(World.body())
        try world.request(World.body(1).replacing("{\"device", with: "{\"environment\":\"development\",\"device"))
        world.pass(.seconds(1))
        let page = try page(world)
        func sum(_ metric: String, _ environment: Environment, _ labels: [String: String] = [:]) -> Double? {
            page.sum(metric, labels.merging(["environment": environment.rawValue]) { $1 })
        }
        #expect(sum("harebell_connections", .production, ["app": "com.example.app", "state": "ready"]) == 1)
        #expect(sum("harebell_connections", .development, ["app": "com.example.app", "state": "ready"]) == 0)
        // The same series trigger the alert in the test of the rules.
        let rules = try DocumentationPage("../deploy/prometheus/alerts.test.yaml").text
        for environment in Environment.allCases {
            let count = try #require(sum("harebell_connections", environment, ["state": "ready"]))
            let labels = #"app="com.example.app", environment="\#(environment.rawValue)", state="ready""#
            #expect(
                rules.contains(
                    #"harebell_connections{job="harebell", instance="a", \#(labels)}', values: '\#(Int(count))x70'"#))
        }
        #expect(sum("harebell_waiting", .production) == 0 && sum("harebell_waiting", .development) == 1)
        #expect(sum("harebell_notifications_total", .production, ["outcome": "accepted"]) == 1)
        #expect(sum("harebell_notifications_total", .development) == nil)
        for family in page.families {
            for sample in family.samples where sample.labels["app"] != nil || sample.labels["topic"] != nil {
                #expect(sample.labels["environment"] != nil, "\(family.name)")
            }
        }
    }

    @Test("The notifications that wait for the pace of a queue are counted, of no other queue")
    func pace() throws {
        let world = try World.started(declares: World.queues + ["push.other"]) {
            $0.queues[0].prefetch = 100
            $0.queues[0].rateLimit = Configuration.RateLimit(perSecond: 2, burst: 5)
            $0.queues.append(Configuration.Queue(name: "push.other", decoder: "auto", prefetch: 10))
        }
        func expect(waiting: Double, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let samples = try page(world).samples(of: "harebell_queue_pace_waiting")
            #expect(samples.map(\.labels) == [["queue": "push.requests"]], sourceLocation: sourceLocation)
            #expect(samples.map(\.value) == [waiting], sourceLocation: sourceLocation)
            #expect(state(world).contains("\"pace\":\(Int(waiting)),"), sourceLocation: sourceLocation)
        }
        try expect(waiting: 0)
        for number in 0..<3 { try world.request(World.body(number), id: "a\(number)") }
        try expect(waiting: 0)
        for number in 3..<12 { try world.request(World.body(number), id: "a\(number)") }
        try expect(waiting: 7)
        world.pass(.milliseconds(1600))
        try expect(waiting: 4)
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        try expect(waiting: 0)
    }

    @Test("A suspension shows")
    func standstill() throws {
        let world = try World.started { $0.hold = .seconds(60) }
        try world.request(World.body(), id: "sent")
        world.pass(.seconds(1))
        #expect(try page(world).sum("harebell_standstill") == 0)
        world.isAPNsDown = true
        world.cut(World.apns)
        for number in 0..<3 { try world.request(World.body(number), id: "m\(number)") }
        world.pass(.seconds(120))
        #expect(try page(world).sum("harebell_standstill") == 1)
    }

    @Test("A queue's depth counts its ready messages, and not the worker's")
    func depth() throws {
        let world = try World.started(script: "token *: silence")
        for number in 0..<17 { try world.request(World.body(number), id: "m\(number)") }
        let worker = try #require(world.worker)
        #expect(try page(world).samples(of: "harebell_queue_messages").isEmpty)
        worker.inspectQueues(at: world.moment)
        world.settle()
        #expect(try page(world).sum("harebell_queue_messages", ["queue": "push.requests"]) == 7)
        #expect(state(world).contains("\"waiting\":{\"queue\":7,"))
        // The depth is not queried again at once, but after some time; that does not mean a stalled consumer.
        try world.request(World.body(17), id: "m17")
        world.pass(.seconds(4))
        worker.inspectQueues(at: world.moment)
        world.settle()
        #expect(try page(world).sum("harebell_queue_messages") == 7)
        for _ in 0..<2 {
            world.pass(.seconds(5))
            worker.inspectQueues(at: world.moment)
        }
        world.settle()
        #expect(try page(world).sum("harebell_queue_messages") == 8)
        #expect(world.events.count { if case .notReady = $0 { true } else { false } } == 0)
        world.cut(consuming: true)
        #expect(try page(world).samples(of: "harebell_queue_messages").isEmpty)
    }

    @Test("GOAWAYs of pools that a reload removed stay counted, and a new app begins without notifications")
    func goaways() throws {
        let world = try World.started(script: "after 2 requests: goaway\n")
        for number in 0..<6 {
            try world.request(World.body(number), id: "m\(number)")
            world.pass(.seconds(1))
        }
        let before = try #require(try page(world).sum("harebell_goaways_total"))
        #expect(before > 0)
        let key = world.otherKey
        try world.reload { configuration in
            for app in configuration.apps.indices { configuration.apps[app].credential = key }
        }
        world.pass(.seconds(60))
        let pools = try #require(world.worker).snapshot(at: world.moment).pools
        #expect(pools.map { $0.traffic?.description } == ["notifications", "channels"])
        let after = try #require(try page(world).sum("harebell_goaways_total"))
        #expect(after >= before)
        try world.reload { $0.apps[0].topic = "com.example.new" }
        let new = ["topic": "com.example.new"]
        #expect(try page(world).sum("harebell_notifications_total", new) == nil, "those were of an app before it")
    }

    @Test("The metrics of two workers are added")
    func workers() throws {
        let world = try World.started()
        try world.start()
        for number in 0..<30 { try world.request(World.body(number), id: "m\(number)") }
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let page = try page(world)
        #expect(page.sum("harebell_notifications_total", ["outcome": "accepted"]) == 30)
        #expect(page.sum("harebell_request_seconds_count") == 30)
        #expect(page.sum("harebell_workers") == 2 && page.sum("harebell_publishing") == 2)
    }

    @Test("Commands and the process's usage are counted")
    func process() throws {
        var processSnapshot = processSnapshot(try World())
        let unknown = try PrometheusPage(processSnapshot)
        for name in ["cpu_seconds_total", "resident_memory_bytes", "open_fds", "max_fds", "start_time_seconds"] {
            #expect(unknown.samples(of: "process_\(name)").isEmpty)
        }
        processSnapshot.process.cpu = .milliseconds(12_340)
        processSnapshot.process.residentBytes = 6_000_000
        (processSnapshot.process.openDescriptors, processSnapshot.process.maximumDescriptors) = (31, 1024)
        processSnapshot.reloadFailure = "unknown key"
        processSnapshot.process.startedAt = WallTime(milliseconds: 1_795_300_000_250)
        let known = try PrometheusPage(processSnapshot)
        #expect(known.sum("harebell_build_info", ["version": Version.text]) == 1)
        #expect(known.sum("process_cpu_seconds_total") == 12.34)
        #expect(known.sum("process_resident_memory_bytes") == 6_000_000)
        #expect(known.sum("process_open_fds") == 31 && known.sum("process_max_fds") == 1024)
        #expect([unknown, known].map { $0.sum("harebell_reload_failed") } == [0, 1])
        #expect(known.sum("process_start_time_seconds") == 1_795_300_000.25)
    }

    @Test("The page in the documentation ends with the table of metrics")
    func documentation() throws {
        let page = try DocumentationPage("reference/metrics.md").text
        let rows = MetricsPage(processSnapshot(try World())).text.metrics.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |\n"
                .replacing("|  |", with: "| |")
        }
        let head = "| metric | type | labels | what it tells |\n|---|---|---|---|\n"
        #expect(page.hasSuffix("\n\n\(head)\(rows.joined())"))
    }
}

extension PrometheusPage {
    init(_ processSnapshot: ProcessSnapshot) throws {
        try self.init(String(decoding: MetricsPage.render(processSnapshot), as: UTF8.self))
    }
}

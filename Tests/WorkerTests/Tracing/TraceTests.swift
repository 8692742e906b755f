import AMQP
import Core
import Pipeline
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration

/// Which spans a request has, and what continues its trace; see `docs/operate/tracing.md`.
@Suite("Traces")
struct TraceTests {
    private static let traceID = "0af7651916cd43dd8448eb211c80319c"
    private static let producer = "b7ad6b7169203331"
    private static let traceparent = "00-\(traceID)-\(producer)-01"

    private static func world(ratio: Double? = 1, _ script: String = "") throws -> World {
        try World.started(script: script) {
            $0.tracing = ratio.map {
                Configuration.Tracing(
                    endpoint: Endpoint(host: "collector", port: 4318), usesTLS: false, sampleRatio: $0)
            }
        }
    }

    /// A world that has finished a request, and the spans of it.
    private static func traced(
        ratio: Double? = 1, _ script: String = "", _ traceparent: String? = traceparent, within limit: Int = 60
    ) throws -> (World, [TraceSpan]) {
        let world = try world(ratio: ratio, script)
        try world.request(World.body(token: "77777777"), id: "m1") {
            $0.headers = traceparent.map { ["traceparent": .string($0)] }
        }
        #expect(world.pass(atMost: .seconds(limit)) { world.isQuiet })
        return (world, spans(world))
    }

    private static func spans(_ world: World) -> [TraceSpan] {
        for worker in world.running { world.takeSpans(of: worker, isLast: true) }
        return world.traced.spans
    }

    private static func hex(_ number: some FixedWidthInteger) -> String {
        var text: [UInt8] = []
        text.append(hex: number)
        return String(decoding: text, as: UTF8.self)
    }

    @Test("Producer, request, two attempts and result are one tree, and the result names the request's span")
    func tree() throws {
        let (world, spans) = try Self.traced("attempt 1: rst INTERNAL_ERROR\ntoken *: delay 10ms")
        #expect(
            spans.map { "\($0.name)" }
                == ["harebell attempt", "harebell wait", "harebell attempt", "harebell result", "harebell process"])
        try #require(spans.count == 5)
        let process = spans[4]
        #expect(process.time.lowerBound == World.start.wall.milliseconds * 1_000_000)
        #expect(spans.allSatisfy { Self.hex($0.context.trace) == Self.traceID })
        #expect(process.parent.map { Self.hex($0) } == Self.producer)
        #expect(spans.dropLast().allSatisfy { $0.parent == process.context.span })
        #expect(Set(spans.map(\.context.span)).count == spans.count)
        #expect(spans.map(\.kind) == [.client, .internal, .client, .producer, .consumer])
        #expect(spans.allSatisfy { $0.time.clamped(to: process.time) == $0.time })
        #expect(spans[1].time == spans[0].time.upperBound...spans[2].time.lowerBound && spans[1].time.count > 1)
        #expect([0, 2].allSatisfy { spans[$0].time.count > 10_000_000 })
        #expect(spans.map(\.hasFailed) == [true, false, false, false, false])
        #expect(spans[0]["error.type"] == .text("lost") && spans[0]["http.response.status_code"] == nil)
        #expect(spans[0]["harebell.processed"] == .text("unknown"))
        #expect(spans[2]["http.response.status_code"] == .integer(200))
        #expect(spans[2]["server.address"] == .text("apns.test") && spans[2]["server.port"] == .integer(443))
        #expect(spans[2]["harebell.device_token"] == .text("77777777…"))
        #expect(spans[3]["messaging.destination.name"] == .text("push.results"))
        for (name, value) in [
            ("messaging.system", "rabbitmq"), ("messaging.operation.type", "process"),
            ("messaging.destination.name", "push.requests"), ("messaging.message.id", "m1"),
            ("harebell.outcome", "accepted"), ("messaging.rabbitmq.destination.routing_key", "push.requests"),
        ] {
            #expect(process[name] == .text(value), "\(name)")
        }
        #expect(process["messaging.message.body.size"] == .integer(World.body(token: "77777777").utf8.count))
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.headers["traceparent"] == "00-\(Self.traceID)-\(Self.hex(process.context.span))-01")
        try world.request(#"{"apns-topic":"com.example.app","channel":{"operation":"list"}}"#, id: "")
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let later = Self.spans(world)
        #expect(later.compactMap { $0["http.request.method"] }.last == .text("GET"))
        #expect(later.last?["messaging.system"] != nil && later.last?["messaging.message.id"] == nil)
    }

    @Test(
        "An attempt that the connection pool repeats has its own span",
        arguments: [
            ("rst REFUSED_STREAM", "REFUSED_STREAM", nil, "no"),
            ("delay 10s, goaway Shutdown last=before close=now", "Shutdown", nil, "no"),
            ("delay 10s, goaway last=before close=now", "REFUSED_STREAM", nil, "no"),
            ("delay 10ms, 403 ExpiredProviderToken", "ExpiredProviderToken", 403, nil),
        ] as [(String, String, Int?, String?)])
    func resent(action: String, error: String, status: Int?, processed: String?) throws {
        let (_, spans) = try Self.traced("attempt 1: \(action)")
        let process = try #require(spans.last)
        let attempts = spans.filter { "\($0.name)" == "harebell attempt" }
        try #require(attempts.count == 2)
        #expect(attempts.map(\.hasFailed) == [true, false] && (status == nil || attempts[0].time.count > 10_000_000))
        #expect(attempts[0]["error.type"] == .text(error))
        #expect(attempts[0]["http.response.status_code"] == status.map { .integer($0) })
        #expect(attempts[0]["harebell.processed"] == processed.map { .text($0) })
        #expect(attempts[1]["harebell.processed"] == nil)
        let pause = attempts[0].time.upperBound...attempts[1].time.lowerBound
        let waits = spans.filter { "\($0.name)" == "harebell wait" && $0.time.lowerBound == pause.lowerBound }
        #expect(waits.map(\.time) == (pause.count > 1 ? [pause] : []))
        #expect(process["harebell.outcome"] == .text("accepted") && !process.hasFailed)
    }

    @Test("A request that waits in a retry queue continues its trace")
    func parked() throws {
        let (_, spans) = try Self.traced("attempt 1: 503 ServiceUnavailable", within: 1000)
        #expect(
            spans.map { "\($0.name)" }
                == [
                    "harebell attempt", "harebell retry", "harebell process", "harebell attempt", "harebell result",
                    "harebell process",
                ])
        try #require(spans.count == 6)
        #expect(spans[2]["harebell.outcome"] == .text("parked"))
        #expect(spans[2].parent.map { Self.hex($0) } == Self.producer)
        #expect(spans[5].parent == spans[2].context.span)
        #expect(spans[3].parent == spans[5].context.span && spans[4].parent == spans[5].context.span)
    }

    @Test("A request without a valid traceparent begins a trace, which its dead letter continues")
    func root() throws {
        for traceparent in [nil, "00-1-2-01"] {
            let (world, spans) = try Self.traced("token *: 400 BadCollapseId", traceparent)
            let process = try #require(spans.last)
            #expect(process.parent == nil && process.hasFailed && process.context.trace >> 64 != 0)
            #expect(process["error.type"] == .text("BadCollapseId"))
            for queue in ["push.results", "push.dead"] {
                let message = try #require(world.published(in: queue).first)
                let context = try #require(TraceContext(ArraySlice((message.headers["traceparent"] ?? "").utf8)))
                #expect(context.trace == process.context.trace && context.span == process.context.span, "\(queue)")
            }
        }
    }

    @Test(
        "What is not sampled has no span, and its results keep the request's traceparent",
        arguments: [
            (1.0, "00-\(traceID)-\(producer)-00"), (0.0, nil), (nil, traceparent), (nil, "00-1-2-01"),
        ] as [(Double?, String?)])
    func unsampled(ratio: Double?, traceparent: String?) throws {
        let (world, spans) = try Self.traced(ratio: ratio, "", traceparent)
        #expect(spans.isEmpty)
        #expect(try #require(world.published(in: "push.results").first).headers["traceparent"] == traceparent)
    }

    @Test("The parent's flag decides before the ratio, and the ratio decides by the trace id")
    func sampling() {
        func isTraced(_ traceparent: String?, _ ratio: Double, seed: UInt64 = 1) -> Bool {
            let storage = Array("traceparent\(traceparent ?? "")".utf8)
            let header = Delivery.Header(.init(0..<11), .text(.init(11..<storage.count)))
            let delivery = Delivery(
                epoch: 1, tag: 1, redelivered: false, queue: QueueID(0), storage: storage, layout: .init(),
                headers: traceparent == nil ? [] : [header])
            return Tracer(ratio: ratio, seed: seed).trace(delivery, arrived: World.start) != nil
        }
        #expect(isTraced(Self.traceparent, 0))
        #expect(!isTraced("00-\(Self.traceID)-\(Self.producer)-00", 1))
        // Another version may have more fields.
        #expect(isTraced("cc-\(Self.traceID)-\(Self.producer)-01-what", 0))
        for malformed in [
            "ff-\(Self.traceID)-\(Self.producer)-01", "00-\(Self.traceID.uppercased())-\(Self.producer)-01",
            "00-\(String(repeating: "0", count: 32))-\(Self.producer)-01", "00-\(Self.traceID)-0000000000000000-01",
            "00-\(Self.traceID.replacing("a", with: "A"))-\(Self.producer)-01",
            "00-\(Self.traceID)-\(Self.producer)-01-", "00-\(Self.traceID)-\(Self.producer)-0", "",
        ] {
            #expect(!isTraced(malformed, 0), "\(malformed)")
            #expect(isTraced(malformed, 1), "\(malformed)")
        }
        #expect((400...600).contains((0..<2000).count { isTraced(nil, 0.25, seed: UInt64($0)) }))
    }

    @Test("Spans that the control thread does not take are dropped and counted, a batch at a time is on its way")
    func limits() throws {
        let tracer = Tracer(ratio: 1, seed: 1)
        let delivery = Delivery(epoch: 1, tag: 1, redelivered: false, queue: QueueID(0), storage: [], layout: .init())
        let now = World.start.instant
        func complete(_ count: Int) {
            for _ in 0..<count {
                tracer.trace(delivery, arrived: World.start)?.completed(delivery, queue: "q", at: now)
            }
        }
        complete(1)
        #expect(tracer.takeBatch(at: now) == nil)
        #expect(tracer.nextDeadline == now + Tracer.interval)
        complete(Tracer.batchSize - 1)
        #expect(tracer.takeBatch(at: now)?.spans.count == Tracer.batchSize)
        complete(4096 + 3)
        #expect(tracer.takeBatch(at: now) == nil && tracer.nextDeadline == nil)
        tracer.batchReceived()
        let batch = try #require(tracer.takeBatch(at: now))
        #expect(batch.spans.count == 4096 && batch.dropped == 3)
        #expect(tracer.takeBatch(isLast: true, at: now) == nil)
    }

    @Test("A large fan-out has no more spans than its limit")
    func fanOut() throws {
        let world = try Self.world()
        let count = 200
        try world.request(World.fanOut((0..<count).map { World.token($0) }))
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let spans = Self.spans(world)
        #expect(spans.count == 256 && spans.last?.kind == .consumer && world.traced.dropped == 2 * count - 256 + 1)
    }
}

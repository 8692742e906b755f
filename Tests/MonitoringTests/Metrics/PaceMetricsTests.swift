import Admin
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Monitoring
@testable import Runtime

/// `harebell_queue_pace_waiting`: `docs/operate/teams.md`, "A pace for a queue".
@Suite("The metrics of a queue's rate limit")
struct PaceMetricsTests {
    private static func body(_ number: Int) -> String {
        let name = String(number, radix: 16)
        let token = "7" + String(repeating: "0", count: 63 - name.count) + name
        return "{\"device-token\":\"\(token)\",\"apns-topic\":\"com.example.app\",\"payload\":{\"aps\":{\"badge\":1}}}"
    }

    @Test("The notifications that wait for the pace of a queue are counted, of no other queue")
    func pace() throws {
        let world = try World(declares: World.queues + ["push.other"]) {
            $0.queues[0].prefetch = 100
            $0.queues[0].rateLimit = Configuration.RateLimit(perSecond: 2, burst: 5)
            $0.queues.append(Configuration.Queue(name: "push.other", decoder: "auto", prefetch: 10))
        }
        try world.start()
        func expect(waiting: Double, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let page = try PrometheusPage(world.processSnapshot())
            let samples = page.samples(of: "harebell_queue_pace_waiting")
            #expect(samples.map(\.labels) == [["queue": "push.requests"]], sourceLocation: sourceLocation)
            #expect(samples.map(\.value) == [waiting], sourceLocation: sourceLocation)
        }
        try expect(waiting: 0)
        for number in 0..<3 { try world.request(Self.body(number), id: "a\(number)") }
        try expect(waiting: 0)
        for number in 3..<12 { try world.request(Self.body(number), id: "a\(number)") }
        try expect(waiting: 7)
        world.pass(.milliseconds(1600))
        try expect(waiting: 4)
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        try expect(waiting: 0)
    }
}

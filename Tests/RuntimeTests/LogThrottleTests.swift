import Core
import Logging
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Monitoring
@testable import Runtime

@Suite("The rate limit of a worker's log")
struct LogThrottleTests {
    private static let start = Instant(nanoseconds: 5_000_000_000)
    private let lines = LogLines()
    private let throttle: LogThrottle
    private let log: Logger

    init() {
        throttle = LogThrottle(Logger(label: "test") { [lines] _ in lines }, at: Self.start)
        log = throttle.logger
    }

    /// The suppressed lines, as reported in the log.
    private static func suppressed(_ lines: [LogLines.Line]) -> [String] {
        lines.compactMap { $0.metadata["suppressed"]?.description }
    }

    @Test("Each message has 30 lines a minute, and then one line reports the suppressed ones")
    func limit() {
        for number in 0..<20_000 { log.warning("flood", metadata: ["number": "\(number)"]) }
        #expect(lines.all.count == 30 && lines.all.last?.metadata["number"] == "29")
        #expect(throttle.suppressed == 19_970 && throttle.nextDeadline == Self.start + LogThrottle.window)
        throttle.advance(to: Self.start + .milliseconds(59_999))
        #expect(lines.all.count == 30)
        throttle.advance(to: Self.start + LogThrottle.window)
        #expect(lines.all.count == 31 && Self.suppressed(lines.all) == ["19970"])
        #expect(lines.all.last?.message == "flood" && lines.all.last?.level == .warning)
        #expect(lines.all.last?.number("within_seconds") == 60 && throttle.nextDeadline == nil)
        for _ in 0..<31 { log.warning("flood") }
        #expect(lines.all.count == 61 && throttle.suppressed == 19_971)
        #expect(throttle.nextDeadline == Self.start + LogThrottle.window + LogThrottle.window)
    }

    @Test("A flood of one message leaves room for others, also for the same words from another place")
    func kinds() {
        for _ in 0..<1000 { log.notice("flood") }
        log.notice("other")
        log.notice("flood")
        #expect(lines.all.map(\.message).suffix(2) == ["other", "flood"])
        #expect(lines.all.count == 32)
    }

    @Test("The number of lines is limited, however many messages a peer invents, and each is counted")
    func inventedMessages() {
        for number in 0..<20_000 { log.notice("the peer says \(number)") }
        let passed = LogThrottle.maximumKinds + LogThrottle.linesPerWindow
        #expect(lines.all.count == passed)
        #expect(throttle.suppressed == UInt64(20_000 - passed))
        throttle.advance(to: Self.start + LogThrottle.window)
        #expect(Self.suppressed(lines.all) == ["\(20_000 - passed)"])
    }

    @Test("Suppressed lines are reported at the end, too, in the order of their messages")
    func end() {
        for number in 0..<63 { log.notice(number % 2 == 0 ? "flood" : "deluge") }
        throttle.finish()
        throttle.finish()
        #expect(Self.suppressed(lines.all) == ["1", "2"])
    }

    @Test("20,000 GOAWAY frames make 31 lines, and the metric counts the others")
    func goaways() throws {
        let world = try World.started(script: "topic *: silence")
        try world.request(World.body(), id: "m0")
        world.pass(.seconds(1))
        var goaway = ScriptGoaway(reason: "Shutdown")
        goaway.closing = .never
        world.apnsConnections.applyFaults(Array(repeating: .goaway(goaway), count: 20_000), at: world.network.now)
        world.pass(.seconds(10))
        let worker = try #require(world.worker)
        let suppressed = worker.snapshot(at: world.moment).suppressedLogLines
        func goaways() -> [LogLines.Line] { world.log.filter { $0.message == "APNs sent GOAWAY" } }
        #expect(goaways().count == LogThrottle.linesPerWindow)
        #expect(suppressed >= 19_000)
        world.pass(.seconds(60))
        #expect(Self.suppressed(world.log) == ["\(suppressed)"])
        #expect(goaways().count == LogThrottle.linesPerWindow + 1)
        let page = String(decoding: MetricsPage.render(world.processSnapshot()), as: UTF8.self)
        #expect(page.contains("\nharebell_log_lines_suppressed_total \(suppressed)\n"))
        // And one that standard error does not take.
        defer { LineLogHandler.output.withLock { $0 = LogOutput(descriptor: 2) } }
        LineLogHandler.output.withLock { output in
            output = LogOutput(descriptor: .max)
            output.write("line\n") { _ in "" }
        }
        #expect(worker.snapshot(at: world.moment).suppressedLogLines == suppressed + 1)
    }
}

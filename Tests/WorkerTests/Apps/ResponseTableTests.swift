import Core
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline

/// Each row of the table in `docs/internals/apns.md`, from a request on its queue to its result: the simulator gives
/// the response, and the row's effects must be observable.
@Suite("Each status and reason")
struct ResponseTableTests {
    /// The response of APNs, and its documentation.
    struct Row: CustomTestStringConvertible {
        let status: UInt16
        /// `nil` for a response without a body.
        let reason: String?
        let action: ResponseAction
        let closesConnection: Bool
        let isForDevices: Bool

        init(_ rule: ResponseRule) {
            status = rule.status
            reason = "\(rule.reason)"
            action = rule.action
            closesConnection = rule.closesConnection
            isForDevices = rule.origin.contains(.device)
        }

        init(unknown status: UInt16, _ reason: String?, _ action: ResponseAction) {
            self.status = status
            self.reason = reason
            self.action = action
            closesConnection = false
            isForDevices = true
        }

        var testDescription: String { "\(status) \(reason ?? "without a reason")" }

        var response: String { reason.map { "\(status) \"\($0)\"" } ?? "\(status)" }
    }

    static let known = ResponseRule.all.map { Row($0) }
    static let unknown = [
        Row(unknown: 400, "BadWeather", .reject), Row(unknown: 403, "BadMood", .pauseTopic),
        Row(unknown: 404, "BadWay", .reject), Row(unknown: 405, "BadVerb", .reject),
        Row(unknown: 410, "Moved", .unregister), Row(unknown: 413, "TooHeavy", .reject),
        Row(unknown: 418, "Teapot", .reject), Row(unknown: 429, "TooLoud", .retryLater),
        Row(unknown: 500, "Broken", .retryLater), Row(unknown: 502, "BadGateway", .retryLater),
        Row(unknown: 503, "Resting", .retryLater), Row(unknown: 400, nil, .reject), Row(unknown: 403, nil, .pauseTopic),
        Row(unknown: 500, nil, .retryLater),
    ]

    /// A request that takes its topic from the configuration.
    private static func request(_ row: Row) -> String {
        let target =
            row.isForDevices
            ? "\"device-token\":\"7\(String(repeating: "0", count: 63))\""
            : "\"apns-channel-id\":\"dHN0LXNyY2gtY2hubA==\",\"apns-push-type\":\"liveactivity\","
                // Without it, a broadcast is now or never.
                + "\"apns-expiration\":\(World.start.wall.seconds + 86_400)"
        return "{\(target),\"payload\":{\"aps\":{\"badge\":1}}}"
    }

    /// One app, for which APNs gives the row's response to the first `times` requests or to all.
    private static func world(_ row: Row, times: Int?) throws -> World {
        let condition = times.map { "first \($0) requests" } ?? "topic com.example.*"
        return try World.started(
            script: "set channel dHN0LXNyY2gtY2hubA== app=com.example.app\n\(condition): \(row.response)"
        ) {
            $0.apps.removeAll { $0.topic != "com.example.app" }
            $0.retry.maximumAttempts = 4
        }
    }

    @Test("A response that APNs gives to every request", arguments: known + unknown)
    func always(row: Row) throws {
        let world = try Self.world(row, times: nil)
        try world.request(Self.request(row), id: "m1")
        world.pass(.seconds(1))
        let connectionsBeforeProbes = world.ledger.statistics.connections
        let mayRetry = [.resend, .retryLater].contains(row.action)
        world.pass(.seconds(mayRetry ? 6 * 3600 : 60))
        let worker = try #require(world.worker)
        let results = world.published(in: "push.results")
        let letters = world.published(in: "push.dead").count
        let held = worker.paused.reduce(0) { $0 + $1.held }
        // The request has a result, or waits and is unsettled at the broker: there is no third case.
        #expect(results.count + held == 1)
        #expect(world.broker.unsettledCount == held)
        #expect(world.published(in: "push.feedback").count == (results.first?.outcome == "unregistered" ? 1 : 0))
        let connections = world.ledger.statistics.connections
        if let scope = row.action.pause {
            #expect(held == 1 && letters == 0)
            let pause = try #require(worker.paused.first)
            let reason = RejectionReason(rawValue: row.reason ?? "\(row.status)")
            #expect(pause.cause == (scope == .app ? .credential(reason) : .topic(reason)))
            #expect(pause.app == AppName("com.example.app", .production))
            #expect(pause.topic == "com.example.app")
            // A paused pool dials nothing before a probe is due.
            #expect((connectionsBeforeProbes > 1) == ![.pauseApp, .pauseTopic].contains(row.action))
            #expect(connections > connectionsBeforeProbes, "each probe has a fresh one")
            return
        }
        let result = try #require(results.first)
        let expected: (outcome: String, action: String, attempts: Int, processed: String, letters: Int) =
            switch row.action {
            case .unregister, .doubtToken: ("unregistered", "forget-token", 1, "yes", 0)
            case .retryLater, .resend: ("undelivered", "retry-later", 4, "no", 1)
            default: ("rejected", "fix-request", 1, "yes", 1)
            }
        #expect(result.outcome == expected.outcome)
        #expect(result.body.contains("\"status\":\(row.status),"))
        #expect(result.body.contains("\"reason\":\(row.reason.map { "\"\($0)\"" } ?? "null"),"))
        #expect(result.body.contains("\"action\":\"\(expected.action)\""))
        #expect(result.body.contains("\"attempts\":\(expected.attempts),"))
        #expect(result.body.contains("\"processed\":\"\(expected.processed)\""))
        #expect(
            result.body.contains("the environment may be wrong") == [.doubtToken, .doubtTopic].contains(row.action))
        #expect(letters == expected.letters)
        #expect((connections > 1) == row.closesConnection)
    }

    @Test("A response that APNs gives once", arguments: known + unknown)
    func once(row: Row) throws {
        let world = try Self.world(row, times: 1)
        let start = world.network.now
        try world.request(Self.request(row), id: "m1")
        #expect(world.pass(atMost: .seconds(960)) { world.isQuiet })
        let result = try #require(world.published(in: "push.results").first)
        let isFinal = [.reject, .unregister, .doubtToken, .doubtTopic].contains(row.action)
        #expect((result.outcome == "accepted") == !isFinal)
        // Only attempts that APNs processed count.
        #expect(result.body.contains("\"attempts\":\(row.action == .retryLater ? 2 : 1),"))
        #expect(world.sent == (isFinal ? 1 : 2))
        let waits = [.pauseApp, .pauseTopic].contains(row.action) ? LaneGate.firstPause : .zero
        #expect(world.network.now - start >= waits)
        if ![.pauseApp, .pauseTopic, .retryLater].contains(row.action) { #expect(world.network.now == start) }
        #expect(world.worker?.paused == [])
        let unknown: UInt64 = Self.unknown.contains { $0.response == row.response } ? 1 : 0
        #expect(world.worker?.counters[.unknownReasons] == unknown)
    }
}

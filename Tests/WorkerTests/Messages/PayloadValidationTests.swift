import AMQP
import Core
import Logging
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration
@testable import Decoding
@testable import Pipeline

@Suite("Payload validation in the pipeline")
struct PayloadValidationTests {
    private static let finding = "payload.aps.badge: expected a number, found a string"
    private static let payload = "{\"aps\":{\"alert\" : \"x\",\"badge\":\"1\"}, \"n\":1.10}"

    private static func body(_ target: String = "\"device-token\":\"7abc\"", payload: String = payload) -> String {
        "{\(target),\"apns-topic\":\"com.example.app\",\"payload\":\(payload)}"
    }

    @Test("The payload is sent unchanged, and the result has the findings")
    func warn() throws {
        let world = try World.started()
        try world.request(Self.body(), id: "m1")
        #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
        #expect(world.ledger.records.map(\.payload) == [Array(Self.payload.utf8)])
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "accepted")
        #expect(result.body.contains("\"detail\":\"\(Self.finding)\""))
        #expect(world.published(in: "push.dead").isEmpty)
        #expect(world.worker?.counters[.payloadFindings] == 1)
    }

    @Test("The outcome by APNs or expiration takes precedence over the finding")
    func otherDetail() throws {
        let world = try World.started(script: "token 7*: 500 InternalServerError") { $0.retry.maximumAttempts = 1 }
        try world.request(Self.body(), id: "m1")
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let result = try #require(world.published(in: "push.results").first)
        #expect(result.outcome == "undelivered")
        #expect(result.body.contains("\"detail\":\"given up after 1 attempt; \(Self.finding)\""))
        try world.request(Self.body().replacing("com.example.app", with: "com.example.no"), id: "m2")
        let invalid = try #require(world.published(in: "push.results").last)
        #expect(invalid.outcome == "invalid" && invalid.body.contains("; \(Self.finding)\""))
    }

    @Test("The payload of a fan-out is checked once")
    func fanOut() throws {
        let world = try World.started { $0.broker.maximumMessage = 65536 }
        let tokens = (0..<500).map { "\"7\(String($0 + 0x10000, radix: 16))ab\"" }.joined(separator: ",")
        try world.request(Self.body("\"device-tokens\":[\(tokens)]"), id: "m1")
        #expect(world.pass(atMost: .seconds(30)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.count == 500)
        #expect(results.allSatisfy { $0.outcome == "accepted" })
        #expect(results.allSatisfy { $0.body.contains("\"detail\":\"\(Self.finding)\"") })
        #expect(world.worker?.counters[.payloadFindings] == 1)
    }

    @Test("Notifications of one request share their checks only if app, type, kind of target and payload agree")
    func sharedChecks() throws {
        let token = Core.Notification.Target.device(try #require(DeviceToken("ab")))
        func notification(
            _ target: Core.Notification.Target, _ type: PushType, _ payload: String,
            topic: String = "com.example.app", environment: Environment? = nil
        ) -> Core.Notification {
            Notification(
                target: target,
                Notification.Content(
                    topic: ArraySlice(topic.utf8), pushType: type, environment: environment,
                    payload: ArraySlice(payload.utf8)))
        }
        let one = notification(token, .liveactivity, "{}")
        func share(_ other: Core.Notification) -> Bool { other.sharesChecks(with: one) }
        #expect(share(notification(token, .liveactivity, "{}")))
        #expect(!share(notification(token, .alert, "{}")))
        #expect(!share(notification(token, .liveactivity, "{ }")))
        #expect(!share(notification(.channel([0x41]), .liveactivity, "{}")))
        #expect(!share(notification(token, .liveactivity, "{}", topic: "com.example.other")))
        #expect(!share(notification(token, .liveactivity, "{}", environment: .development)))
        let low = Notification.Content(topic: one.topic, pushType: .liveactivity, priority: .low, payload: one.payload)
        #expect(!share(Notification(target: token, low)))
    }

    @Test("The log has the findings, no payload, and the topic of the only app if the request names none")
    func log() throws {
        let world = try World.started { $0.apps.removeLast() }
        let own = "\"apns-topic\":\"com.example.app\","
        let bodies = [own, "", "\"apns-topic\":\"no\","].map { Self.body().replacing(own, with: $0) }
        let trace = "0af7651916cd43dd8448eb211c80319c"
        for (number, body) in bodies.enumerated() {
            try world.request(body, id: "m\(number)") {
                $0.headers = ["traceparent": .string("00-\(trace)-b7ad6b7169203331-01")]
            }
        }
        let told = world.log.filter { $0.metadata["finding"] != nil }
        #expect(told.count == 2, "the third is not sent")
        for line in told {
            #expect(line.metadata["finding"]?.description == Self.finding)
            #expect(line.metadata["topic"]?.description == "com.example.app")
            #expect(line.metadata["trace_id"]?.description == trace)
            #expect(line.metadata.count == 3)
        }
        #expect(world.worker?.counters[.payloadFindings] == 3)
    }

    @Test("The sender's own keys appear in the result, and not in the log")
    func ownKeys() throws {
        let payload = #"{"aps":{"alert":"x","secretOne":1,"bagde":2},"secretTwo":null}"#
        let findings = PayloadCheck.findings(in: ArraySlice(payload.utf8), for: .alert, isBroadcast: false)
        #expect(findings.count == 3)
        for key in ["secretOne", "bagde", "secretTwo"] {
            #expect(findings.detail.contains(key))
            #expect(!findings.detailForLog.contains(key))
        }
        #expect(
            findings.detailForLog
                == "payload.aps[…]: not a key of Apple's; move custom keys out of aps, where APNs ignores them; "
                + "payload.aps[…]: not a key of Apple's; did you mean \"badge\"?; "
                + "payload[…]: expected an object, an array, a string, a number or a boolean, found null")
    }

    @Test("The result of each part, even of a refused one, has the remarks about its request")
    func remark() throws {
        let world = try World.started()
        let text = #""apns-topic":"com.example.app","apns-push-type":"alert","apns-priorty":5,"payload":{"aps":{}}"#
        try world.request(#"{"device-tokens":["ab",1],\#(text)}"#)
        #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.count == 2 && results.allSatisfy { $0.body.contains("apns-priorty") }, "\(results)")
    }
}

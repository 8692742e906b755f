import AMQP
import Core
import Logging
import SimulatedWorld
import Simulator
import System
import TestSupport
import Testing

@testable import Commands
@testable import Configuration
@testable import Runtime

@Suite("One-off request")
struct OneOffRequestTests {
    private static let id = "123e4567-e89b-12d3-a456-426655440000"
    private static let payload = "{\"aps\":{\"alert\":\"Hello\"},\"n\": 1.50}"
    private static let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// The fields of a valid one, with changes; `nil` leaves one out.
    private static func request(
        _ changes: [String: OneOffRequest.Value?] = [:], payload: String = payload
    ) -> OneOffRequest {
        let sample: [(StaticString, OneOffRequest.Value?)] = [
            ("device-token", .text("7777")), ("apns-channel-id", nil), ("apns-topic", .text("com.example.app")),
            ("environment", nil), ("apns-push-type", nil), ("apns-priority", .integer(5)), ("apns-expiration", nil),
        ]
        let fields = sample.map { name, value in
            (name: name, value: changes.index(forKey: name.description).map { changes[$0].value } ?? value)
        }
        return OneOffRequest(id: id, fields, payload: Array(payload.utf8))
    }

    // MARK: Straight to APNs

    private static func send(_ world: World, _ request: OneOffRequest) throws -> OneOffResult? {
        let notification = try OneOffNotification(
            request, world.configuration, network: world.network, log: log, seed: 1, at: world.network.moment)
        if let exchange = notification.exchange { #expect(world.finish(exchange)) }
        #expect(world.network.links.isEmpty, "the connection is closed afterwards")
        return notification.result(at: world.network.moment)
    }

    private static func text(_ result: OneOffResult?) -> String {
        result.map { String(decoding: $0.json, as: UTF8.self) } ?? ""
    }

    @Test(
        "Its result has the outcome",
        arguments: [
            ("7777", Outcome.accepted, nil), ("dead", .unregistered, "Unregistered"),
            ("0dd0", .rejected, "DeviceTokenNotForTopic"), ("e4e4", .rejected, "BadCollapseId"),
            ("e4e403", .rejected, "InvalidProviderToken"), ("fa11", .undelivered, "InternalServerError"),
            ("deaf", .undelivered, nil),
        ] as [(String, Outcome, String?)])
    func outcomes(token: String, outcome: Outcome, reason: String?) throws {
        let world = try World(script: "token e4e403: 403 InvalidProviderToken\ntoken e4e4: 400 BadCollapseId")
        let result = try #require(try Self.send(world, Self.request(["device-token": .text(token)])))
        let (text, shown) = (Self.text(result), reason.map { "\"\($0)\"" } ?? "null")
        #expect(result.outcome == outcome && text.contains("\"reason\":\(shown),"), "\(text)")
        #expect(result.lines.contains { $0.hasPrefix("outcome  ") && $0.hasSuffix("  \(outcome.name)") })
    }

    @Test("It is one result, even where a worker publishes an array for each request")
    func resultsPerRequest() throws {
        let world = try World { $0.results.per = .request }
        #expect(Self.text(try Self.send(world, Self.request())).hasPrefix("{\"apns-id\":"))
    }

    @Test(
        "A request that a worker would not send is not sent either",
        arguments: [
            (["apns-topic": nil], "apns-topic: missing, and more than one app is configured"),
            (["apns-topic": .text("com.example.none")], "apns-topic: no app \\\"com.example.none\\\" is configured"),
            (["environment": .text("development")], "environment: no app \\\"com.example.app\\\" is configured"),
            (
                ["device-token": .text("7")],
                "device-token: it has 1 digits; expected an even number of hexadecimal digits"
            ),
            (["apns-push-type": .text("alarm")], "apns-push-type: \\\"alarm\\\" is not one of"),
            (["apns-priority": .integer(7)], "apns-priority: expected"),
            (["apns-channel-id": .text("QUJD")], "device-token: expected only one of"),
        ] as [([String: OneOffRequest.Value?], String)])
    func invalid(changes: [String: OneOffRequest.Value?], detail: String) throws {
        let world = try World()
        let result = try #require(try Self.send(world, Self.request(changes)))
        #expect(result.outcome == .invalid)
        #expect(Self.text(result).contains("\"detail\":\"\(detail)"), "\(Self.text(result))")
        #expect(world.network.attempts == 0)
    }

    @Test("An expired request is not sent, and neither is one that is not JSON")
    func neverSent() throws {
        let world = try World()
        #expect(try Self.send(world, Self.request(["apns-expiration": .integer(1_000_000_000)]))?.outcome == .expired)
        #expect(try Self.send(world, Self.request(payload: "Hello"))?.outcome == .invalid)
        #expect(world.network.attempts == 0)
    }

    @Test("A broadcast goes to its channel")
    func broadcast() throws {
        let world = try World(script: "set channel QUJD app=com.example.app")
        let payload = "{\"aps\":{\"event\":\"update\",\"timestamp\":1,\"content-state\":{}}}"
        func send(_ channel: String) throws -> String {
            let request = Self.request(["device-token": nil, "apns-channel-id": .text(channel)], payload: payload)
            return Self.text(try Self.send(world, request))
        }
        #expect(try send("QUJD").contains("\"outcome\":\"accepted\""))
        #expect(try send("REVG").contains("\"reason\":\"ChannelNotRegistered\""))
    }

    @Test("An unreadable key is an error without a result")
    func unreadableKey() throws {
        let world = try World { configuration in
            configuration.apps[0].credential = .token(keyFile: "/none.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        }
        #expect(throws: (any Error).self) { try Self.send(world, Self.request()) }
        #expect(try Self.send(world, Self.request(["apns-topic": .text("com.example.other")]))?.outcome == .accepted)
    }

    // MARK: Through a queue

    /// Sends it to a queue and waits for the end.
    private static func queue(
        _ world: World, _ request: OneOffRequest, to queue: String = "push.requests",
        _ form: OneOffRequest.Form = .headers
    ) throws -> (result: OneOffResult?, complaint: String) {
        let settings = RequestRun.Settings(queue: queue, count: 1, replies: "answers", timeLimit: .seconds(30))
        var result: OneOffResult?
        let run = try RequestRun(
            request, form, settings, at: world.network.now,
            connect: { role in
                try BrokerConnections.connection(
                    role, name: "test", world.configuration.broker, network: world.network, seed: 1)
            }
        ) { result = $0 }
        #expect(world.finish(run) && (run.end == .complete) == (result != nil))
        return (result, run.complaint)
    }

    @Test("Through a queue its result equals that of a direct request to APNs", arguments: ["7777", "dead"])
    func sameResult(token: String) throws {
        let world = try World()
        let request = Self.request(["device-token": .text(token)])
        let direct = Self.text(try Self.send(world, request))
        try world.start()
        for form in [OneOffRequest.Form.headers, .envelope] {
            #expect(Self.text(try Self.queue(world, request, form).result) == direct)
        }
        #expect(direct.contains("\"message-id\":\"\(Self.id)\""), "\(direct)")
        #expect(world.ledger.timesSeen(try #require(NotificationID(Self.id))) == 3)
    }

    @Test("The payload is unchanged byte for byte, and the content type names its form")
    func payload() {
        for (form, type) in [(OneOffRequest.Form.headers, "vnd.apple.apns"), (.envelope, "vnd.harebell.request")] {
            let request = Self.request().publication(to: "q", replyTo: "r", form)
            #expect(String(decoding: request.body, as: UTF8.self).contains(Self.payload))
            #expect(request.properties.contentType == Array("application/\(type)+json".utf8))
        }
    }

    @Test("It is encoded in each built-in format")
    func forms() {
        let forms = ["auto", "apns-json", "apns-headers", "celery"].map(OneOffRequest.Form.init)
        #expect(forms == [.headers, .envelope, .headers, nil])
    }

    @Test("A missing queue, and one without a consumer, are reported as such")
    func failures() throws {
        let world = try World()
        let missing = try Self.queue(world, Self.request(), to: "none").complaint
        #expect(missing.contains("queue \"none\" does not receive messages"))
        let unread = try Self.queue(world, Self.request()).complaint
        #expect(unread.hasPrefix("no result came in time: the request is in queue \"push.requests\""))
        world.broker.holdsConfirms = true
        let open = try Self.queue(world, Self.request()).complaint
        #expect(open.hasPrefix("the broker has not confirmed the request, and may still queue it: "), "\(open)")
        world.broker.observe = {
            guard case .enqueued = $0 else { return }
            world.isBrokerDown = true
            world.broker.closeAll()
        }
        let lost = try Self.queue(world, Self.request()).complaint
        #expect(lost.hasPrefix("the broker has not confirmed the request, and may still queue it: "), "\(lost)")
        let down = try Self.queue(world, Self.request()).complaint
        let cause = "the connection to broker:5672 failed"
        #expect(down.hasPrefix("the request was not queued in time: \(cause)"), "\(down)")
    }
}

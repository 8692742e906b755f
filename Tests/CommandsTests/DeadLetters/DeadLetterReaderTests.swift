import AMQP
import ArgumentParser
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Commands
@testable import Configuration

@Suite("Reading dead letters")
struct DeadLetterReaderTests {
    private func read(_ headers: FieldTable) throws -> DeadLetter {
        DeadLetter(try DeadLetterSamples.delivery(headers), in: DeadLetterSamples.queue)
    }

    @Test("A worker's dead letter has its outcome in headers")
    func ours() throws {
        let letter = try read(DeadLetterSamples.ours)
        #expect(letter.maker == .harebell && letter.outcome == "rejected")
        #expect(letter.reason == "BadTopic" && letter.queue == "push.requests" && letter.replays == 1)
        #expect(letter.failedAt == WallTime(rfc3339: "2026-11-21T22:27:40Z".utf8))
        #expect(letter.apnsID == "123e4567-e89b-12d3-a456-426655440000" && letter.messageID == "m-1")
        let longest = String(repeating: "q", count: 255)
        #expect(try read(["harebell-queue": .string(longest)]).queue == longest)
        #expect(try read(DeadLetterSamples.deaths(DeadLetterSamples.death(longest, "expired"))).queue == longest)
    }

    @Test(
        "A broker's dead letter is parsed from the newest death, and not from the first-death headers",
        arguments: ["rejected", "expired", "maxlen", "delivery_limit"])
    func broker(reason: String) throws {
        let letter = try read(
            DeadLetterSamples.deaths(
                DeadLetterSamples.death("push.requests", reason), DeadLetterSamples.death("older", "expired", time: 1)))
        #expect(letter.maker == .broker && letter.outcome == nil)
        #expect(letter.reason == reason && letter.queue == "push.requests")
        #expect(letter.failedAt == WallTime(milliseconds: 1_795_300_000_000))
        #expect(letter.exchange.map { Array($0) } == Array("work".utf8))
        #expect(letter.routingKey.map { Array($0) } == Array("push.a".utf8))
    }

    @Test("A death in the dead-letter queue itself is not the origin")
    func own() throws {
        let letter = try read(
            DeadLetterSamples.deaths(
                DeadLetterSamples.death(DeadLetterSamples.queue, "expired"),
                DeadLetterSamples.death("push.requests", "rejected")))
        #expect(letter.queue == "push.requests" && letter.reason == "rejected")
    }

    @Test("A request that the broker removed from a retry queue goes to its request queue")
    func retried() throws {
        var headers = DeadLetterSamples.deaths(DeadLetterSamples.death("push.requests.retry.900s", "maxlen"))
        headers["harebell-queue"] = .string("push.requests")
        let letter = try read(headers)
        #expect(letter.maker == .broker && letter.queue == "push.requests" && letter.reason == "maxlen")
    }

    @Test(
        "Missing or invalid information gives no target",
        arguments: [
            FieldTable(), ["x-death": .string("text")], ["x-death": .array([])], ["x-death": .array([.int32(1)])],
            ["x-death": .array([.table(["queue": .int32(1)])])], ["harebell-queue": .int32(1)],
            ["harebell-queue": .text([UInt8](repeating: 0x61, count: 256))],
            ["harebell-replays": .int32(-5), "harebell-failed-at": .string("yesterday")],
        ])
    func foreign(headers: FieldTable) throws {
        let letter = try read(headers)
        #expect(letter.maker == .other && letter.queue == nil && letter.failedAt == nil && letter.replays == 0)
    }

    @Test(
        "Without payloads, device tokens are shortened in headers of any name and case",
        arguments: ["device-token", "Device-Token", "DEVICE-TOKENS", "x-token"])
    func shortened(name: String) throws {
        let token = String(repeating: "0a", count: 32)
        var headers = DeadLetterSamples.ours
        headers[name] = .string("\(token), \(token)")
        headers["x-note"] = .string("sent to \(token) again")
        headers["x-list"] = .array([.string(token), .bytes(Array(token.utf8))])
        headers["x-digits"] = .string(String(token.dropLast()))
        let delivery = try DeadLetterSamples.delivery(headers)
        let letter = DeadLetter(delivery, in: DeadLetterSamples.queue)
        let reader = RequestReader(try World.configuration { _ in })
        let text = DeadLetterView(delivery, letter, reader, showsPayloads: false).lines.joined(separator: "\n")
        #expect(text.contains(name == "x-token" ? "0a0a0a0a… 0a0a0a0a…" : "0a0a0a0a…, 0a0a0a0a…"))
        #expect(text.contains("sent to 0a0a0a0a… again") && !text.contains(token))
        #expect(text.contains("123e4567-e89b-12d3-a456-426655440000"), "an id is no token")
        #expect(text.contains(token.dropLast()), "nor are 63 digits")
        #expect(DeadLetterView(delivery, letter, reader, showsPayloads: true).lines.contains { $0.contains(token) })
    }
}

@Suite("Selecting dead letters")
struct DeadLetterFilterTests {
    private static let body =
        #"{"device-token":"00aa","apns-topic":"com.example.other","payload":{"aps":{"alert":"x"}}}"#

    private func matches(
        _ headers: FieldTable = DeadLetterSamples.ours, body: String = Self.body,
        _ edit: (inout DeadLetterFilter) -> Void
    ) throws -> Bool {
        var filter = DeadLetterFilter()
        edit(&filter)
        let delivery = try DeadLetterSamples.delivery(headers, body: body)
        let reader = RequestReader(try World.configuration { _ in })
        return filter.matches(DeadLetter(delivery, in: DeadLetterSamples.queue), delivery, reader)
    }

    @Test("An empty filter selects everything")
    func empty() throws {
        #expect(DeadLetterFilter().isEmpty)
        #expect(try matches { _ in })
        #expect(try matches([:], body: "no JSON") { _ in })
    }

    @Test("The options have a time range, and a target of 1 to 255 bytes that is not reserved")
    func options() throws {
        let times = ["2026-11-21T22:00:00Z", "2026-11-22T00:00:00Z"]
        let filter = try DeadLetterOptions.parse(["--since", times[0], "--until", times[1]]).filter
        #expect([filter.since, filter.until] == times.map { WallTime(rfc3339: $0.utf8) } && !filter.isEmpty)
        for (length, isValid) in [(0, false), (255, true), (256, false)] {
            let command = try? DeadLettersReplay.parse(["--to", String(repeating: "q", count: length)])
            #expect((command != nil) == isValid, "\(length)")
        }
        #expect(throws: (any Error).self) { try DeadLettersReplay.parse(["--to", "amq.rabbitmq.reply-to.a"]) }
        #expect(try DeadLettersReplay.parse([]).rate == 500 && LoadCommand.parse(["--count", "1"]).timeout == 30)
    }

    @Test("One filter matches any of its values, and several filters must all match")
    func several() throws {
        #expect(try matches { $0.reasons = ["Unregistered", "BadTopic"] })
        #expect(try !matches { $0.reasons = ["Unregistered"] })
        #expect(try matches { $0.outcomes = ["rejected"] })
        #expect(try !matches { ($0.outcomes, $0.reasons) = (["rejected"], ["Unregistered"]) })
        #expect(try !matches([:]) { $0.outcomes = ["rejected"] }, "what has no outcome")
        #expect(try !matches([:]) { $0.reasons = ["BadTopic"] }, "what has no reason")
        #expect(try matches { $0.origin = "push.requests" })
        #expect(try !matches { $0.origin = "other" })
    }

    @Test("Since includes its instant, until does not, and a message without a time is not selected")
    func times() throws {
        let failed = try #require(WallTime(rfc3339: "2026-11-21T22:27:40Z".utf8))
        let later = WallTime(milliseconds: failed.milliseconds + 1)
        #expect(try matches { $0.since = failed })
        #expect(try !matches { $0.since = later })
        #expect(try !matches { $0.until = failed })
        #expect(try matches { $0.until = later })
        #expect(try !matches([:]) { $0.since = WallTime(milliseconds: 0) })
        #expect(try !matches([:]) { $0.until = later })
    }

    @Test("The topic is taken from the request, which may be compressed, else from its header")
    func topics() throws {
        #expect(try matches { $0.topic = "com.example.other" })
        #expect(try !matches(["apns-topic": .string("com.example.app")]) { $0.topic = "com.example.app" })
        for topic in ["com.example.app", "com.example.app.voip"] {
            let headers: FieldTable = ["apns-topic": .string(topic)]
            #expect(try matches(headers, body: "{}") { $0.topic = "com.example.app" }, "\(topic)")
        }
        #expect(try !matches(body: "no JSON") { $0.topic = "com.example.other" })
        var properties = MessageProperties()
        properties.contentEncoding = Array("gzip".utf8)
        let delivery = try DeadLetterSamples.delivery(properties, body: Compressor.gzip(Array(Self.body.utf8)))
        let reader = RequestReader(try World.configuration { _ in })
        #expect(reader.topic(of: delivery, from: nil) == "com.example.other")
    }

    @Test("The environment is the request's, also of an invalid one, else that of the app with its topic")
    func environments() throws {
        #expect(try matches { $0.environment = .production })
        #expect(try !matches { $0.environment = .development })
        let named = #"{"device-token":"00aa","environment":"development","payload":{"aps":{"alert":"x"}}}"#
        #expect(try matches(body: named) { $0.environment = .development })
        #expect(try !matches(body: named) { $0.environment = .production })
        #expect(try !matches(body: "no JSON") { $0.environment = .production })
        let body = #"{"device-token":"00aa","apns-topic":"com.example.app","environment":"development","payload":{}}"#
        var headers: FieldTable = ["device-token": .string("00aa"), "environment": .string("development")]
        headers["apns-topic"] = .string("com.example.app")
        for (headers, body) in [(FieldTable(), body), (headers, "{}")] {
            #expect(try matches(headers, body: body) { ($0.topic, $0.environment) = ("com.example.app", .development) })
        }
        let fanOut = #"{"device-tokens":["0"],"payload":{"aps":{"badge":1}}}"#
        for (count, topic) in [(1, "com.example.app"), (2, nil)] {
            let reader = RequestReader(try World.configuration { $0.apps.removeLast($0.apps.count - count) })
            #expect(try reader.topic(of: DeadLetterSamples.delivery([:], body: fanOut), from: nil) == topic)
            #expect(try reader.topic(of: DeadLetterSamples.delivery([:], body: "no JSON"), from: nil) == nil)
        }
    }

    @Test("In all commands a topic means the app with exactly this topic, else the app to whose topic it adds a suffix")
    func suffixes() throws {
        let configuration = try World.configuration { configuration in
            configuration.apps[0].environment = .development
            configuration.apps[1].topic = "com.example.app.voip"
        }
        for (topic, index) in [("com.example.app.voip", 1), ("com.example.app.complication", 0)] {
            let app = configuration.apps[index]
            #expect(try AppOption.parse(["--topic", topic]).choose(from: configuration) == app)
            let body = Self.body.replacing("com.example.other", with: topic)
            let delivery = try DeadLetterSamples.delivery([:], body: body)
            #expect(RequestReader(configuration).environment(of: delivery, from: nil) == app.environment)
        }
        // A worker takes the full topic of a call for the first app.
        let call =
            #"{"device-token":"ab","apns-push-type":"voip","apns-topic":"com.example.app.voip","#
            + #""payload":{"a":1}}"#
        let delivery = try DeadLetterSamples.delivery([:], body: call)
        let reader = RequestReader(configuration)
        #expect(reader.environment(of: delivery, from: nil) == .development)
        #expect(reader.isMeant("com.example.app", by: delivery, from: nil))
    }

    @Test("An ID filter matches the apns-id or the message id")
    func ids() throws {
        #expect(try matches { $0.id = "m-1" })
        #expect(try matches { $0.id = "123e4567-e89b-12d3-a456-426655440000" })
        #expect(try !matches { $0.id = "m-2" })
    }

    @Test("Groups count equal dead letters, with the first and last time and the replays")
    func groups() throws {
        var groups = DeadLetterTable()
        var again = DeadLetterSamples.ours
        again["harebell-failed-at"] = .string("2026-11-21T21:00:00Z")
        again["harebell-replays"] = .int32(4)
        var fresh = DeadLetterSamples.ours
        fresh["harebell-replays"] = .int32(0)
        for headers in [DeadLetterSamples.ours, again, fresh, [:]] {
            groups.add(DeadLetter(try DeadLetterSamples.delivery(headers), in: DeadLetterSamples.queue))
        }
        let sorted = groups.sorted
        #expect(groups.total == 4 && sorted.map(\.count) == [3, 1])
        #expect(sorted[0].sample.reason == "BadTopic")
        #expect(sorted[0].firstFailedAt == WallTime(rfc3339: "2026-11-21T21:00:00Z".utf8))
        #expect(sorted[0].lastFailedAt == WallTime(rfc3339: "2026-11-21T22:27:40Z".utf8))
        #expect(sorted[0].replayed == 2 && sorted[0].mostReplays == 4)
        #expect(groups.lines.last?.contains("  (unknown)  ") == true, "\(groups.lines)")
    }

    @Test("Line feeds and direction marks of a producer add no rows to a table")
    func deceptive() {
        var table = TextTable(["REASON", "COUNT"])
        table.add(["Bad\n9  Forged\u{202E}", "1"])
        #expect(table.lines == ["REASON                COUNT", "Bad\\n9  Forged\\u202e  1"])
        table.add([String(repeating: " ", count: 100_000) + "x", ""])
        #expect(table.lines[2].utf8.count == 100_001)
    }

    @Test("The first ten reasons of refusals are kept, each with its first message, and every refusal counts")
    func complaints() {
        var tally = DeadLetterTally()
        for index in 0..<40 { tally.complain("reason \(index / 2)", about: "message id \(index)") }
        #expect(tally.refused == 40 && tally.complaints.count == 10)
        #expect(tally.complaints.last == "reason 9 (first: message id 18)")
    }

    @Test("Many different headers do not create many groups")
    func bounded() throws {
        var groups = DeadLetterTable()
        for index in 0...DeadLetterTable.maximumGroups {
            let (outcome, reason) = (FieldValue.string("\(index)"), FieldValue.string("\(5000 - index)"))
            let headers: FieldTable = ["harebell-outcome": outcome, "harebell-reason": reason]
            groups.add(DeadLetter(try DeadLetterSamples.delivery(headers), in: DeadLetterSamples.queue))
        }
        #expect(groups.sorted.count == DeadLetterTable.maximumGroups)
        #expect(groups.sorted[1].sample.outcome == "1" && groups.lines.last == "and 1 of more groups")
        #expect(groups.total == DeadLetterTable.maximumGroups + 1)
    }
}

import Core
import Foundation
@testable import Admin
@testable import Simulator
import Testing

/// Queries an inbox without a socket.
private final class Rig {
    let inbox: InboxServer

    init(size: Int = 10) {
        inbox = InboxServer(size: size)
    }

    func add(_ records: SimulatorLedger.Record...) throws {
        for record in records { inbox.add(try #require(InboxSamples.entry(record))) }
    }

    /// - Parameters:
    ///   - waited: the start of the wait.
    ///   - now: the time of the request.
    func ask(
        _ path: String, _ method: String = "GET", _ query: [(String, String)] = [],
        waited: Duration = .zero
    ) throws -> AdminResponse? {
        let page = try #require(inbox.pages.first { $0.path.description == path && $0.method == method })
        let start = Moment(instant: Instant(nanoseconds: 1_000_000_000), wall: WallTime(milliseconds: 0))
        let request = AdminRequest(
            page: page, query: query.map { (name: $0.0, value: $0.1) }, receivedAt: start.instant,
            isRepeated: waited > .zero)
        return inbox.respond(request, at: Moment(instant: start.instant + waited, wall: start.wall))
    }

    func notifications(_ path: String = "/notifications", _ query: [(String, String)] = []) throws -> [[String: Any]] {
        let response = try #require(try ask(path, "GET", query))
        #expect(response.status == 200)
        let object = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        return try #require(object?["notifications"] as? [[String: Any]])
    }
}

@Suite("The inbox's pages")
struct InboxServerTests {
    private let rig = Rig()

    @Test("A notification is shown with its headers and its payload as JSON, and without the provider token")
    func notification() throws {
        try rig.add(InboxSamples.record(payload: "{\"aps\":{\"badge\":12345678901234567890}}"))
        let entry = try #require(try rig.notifications().first)
        #expect(entry["device-token"] as? String == "00aa")
        #expect(entry["apns-topic"] as? String == "com.example.app" && entry["apns-push-type"] as? String == "alert")
        #expect(entry["time"] as? String == "2026-11-21T00:00:00.000Z")
        #expect(entry["apns-id"] as? String == "00000000-0000-0001-0000-000000000002")
        #expect(entry["status"] as? Int == 200 && entry["apns-priority"] is NSNull)
        #expect((entry["payload"] as? [String: Any])?["aps"] != nil)
        let response = try #require(try rig.ask("/notifications"))
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(text.contains("12345678901234567890"))
        #expect(!text.contains("secret"))
    }

    @Test("A broadcast has a channel and the bundle ID as its topic")
    func broadcast() throws {
        var record = InboxSamples.record(topic: "", path: "/4/broadcasts/apps/com.example.app")
        record.fields.channelID = Array("AAAA".utf8)
        try rig.add(record)
        let entry = try #require(try rig.notifications("/notifications", [("topic", "com.example.app")]).first)
        #expect(entry["device-token"] is NSNull)
        #expect(entry["apns-channel-id"] as? String == "AAAA")
    }

    @Test("Requests about channels, and those without an answer, are not notifications")
    func others() {
        #expect(InboxSamples.entry(InboxSamples.record(path: "/1/apps/com.example.app/channels")) == nil)
        #expect(InboxSamples.entry(InboxSamples.record(ending: .silent)) == nil)
        #expect(InboxSamples.entry(InboxSamples.record(ending: .lost)) == nil)
    }

    @Test("Hostile text stays text: for any bytes in a payload or header, the response is JSON with the same text")
    func hostileText() throws {
        let hostile = "</script><img src=x onerror=alert(1)>\u{202e}\"\\"
        var record = InboxSamples.record(payload: "not JSON \(hostile)")
        record.fields.collapseID = Array(hostile.utf8) + [0, 0xFF, 0x0A]
        try rig.add(record, InboxSamples.record(payload: "{\"aps\":{}} {}"), InboxSamples.record(payload: ""))
        let entries = try rig.notifications()
        #expect(entries.count == 3)
        #expect(entries.allSatisfy { $0["payload"] is NSNull })
        #expect(entries[2]["payload-text"] as? String == "not JSON \(hostile)")
        #expect(entries[2]["apns-collapse-id"] as? String == hostile + "\0\u{FFFD}\n")
        #expect(try #require(try rig.ask("/notifications")).contentType.description == "application/json")
    }

    @Test("Device token and topic filter; the token's case does not matter")
    func filter() throws {
        try rig.add(
            InboxSamples.record(token: "00AA"), InboxSamples.record(token: "00bb"),
            InboxSamples.record(token: "00aa", topic: "com.example.other"))
        func ids(_ query: [(String, String)]) throws -> [Int?] {
            try rig.notifications("/notifications", query).map { $0["id"] as? Int }
        }
        #expect(try ids([]) == [3, 2, 1])
        #expect(try ids([("device-token", "00Aa")]) == [3, 1])
        #expect(try ids([("topic", "com.example.app")]) == [2, 1])
        #expect(try ids([("topic", "com.example.app"), ("device-token", "00aa")]) == [1])
        #expect(try ids([("device-token", "00cc")]).isEmpty)
    }

    @Test(
        "A wrong parameter is refused with 400 and a message",
        arguments: [
            ("limit", "0", #"limit is "0", not a whole number from 1 to 1000"#),
            ("limit", "1001", #"limit is "1001", not a whole number from 1 to 1000"#),
            ("limit", "-1", #"limit is "-1", not a whole number from 1 to 1000"#),
            ("limit", "", #"limit is "", not a whole number from 1 to 1000"#),
            ("limit", "99999999999999999999", "limit is \"99999999999999999999\", not a whole number from 1 to 1000"),
            ("after", "x", #"after is "x", not a whole number from 0 or more"#),
            ("device-token", "xyz1", #"device-token is "xyz1", not an even number of hexadecimal digits"#),
            ("device-token", "abc", #"device-token is "abc", not an even number of hexadecimal digits"#),
            ("topic", "", "topic is empty"),
            ("count", "1", #"unknown parameter "count"; it has device-token, topic, limit, after, before"#),
        ])
    func wrongParameter(name: String, value: String, sentence: String) throws {
        let response = try #require(try rig.ask("/notifications", "GET", [(name, value)]))
        #expect(response.status == 400)
        #expect(String(decoding: response.body, as: UTF8.self) == "400 \(sentence)\n")
    }

    @Test("A duplicate parameter is refused; DELETE takes none; a wait must be satisfiable")
    func moreWrongParameters() throws {
        let twice = try #require(try rig.ask("/notifications", "GET", [("limit", "1"), ("limit", "1")]))
        #expect(String(decoding: twice.body, as: UTF8.self) == "400 limit is given more than once\n")
        try rig.add(InboxSamples.record())
        #expect(try rig.ask("/notifications", "DELETE", [("topic", "com.example.app")])?.status == 400)
        #expect(try rig.notifications().count == 1 && rig.ask("/notifications/wait")?.status == 200)
        #expect(try rig.ask("/notifications/wait", "GET", [("count", "11")])?.status == 400)
        #expect(try rig.ask("/notifications/wait", "GET", [("timeout", "61")])?.status == 400)
        #expect(InboxServer.longest > .seconds(60), "and 60 are answered")
    }

    @Test("DELETE removes accepted and refused notifications")
    func deletion() throws {
        try rig.add(
            InboxSamples.record(),
            InboxSamples.record(ending: .responded(400, reason: "BadTopic"), cause: "apns-topic is missing"))
        #expect(try rig.ask("/notifications", "DELETE")?.status == 200)
        #expect(try rig.notifications().isEmpty)
        #expect(try rig.notifications("/refused").isEmpty)
    }

    @Test("Refused notifications are listed separately, with their cause, and do not count for waiting clients")
    func refused() throws {
        try rig.add(InboxSamples.record(ending: .responded(400, reason: "BadTopic"), cause: "apns-topic is missing"))
        #expect(try rig.notifications().isEmpty)
        let entry = try #require(try rig.notifications("/refused").first)
        #expect(entry["status"] as? Int == 400 && entry["reason"] as? String == "BadTopic")
        #expect(entry["detail"] as? String == "apns-topic is missing" && entry["payload"] is NSNull)
        #expect(try rig.ask("/notifications/wait") == nil)
        #expect(rig.inbox.nextDeadline == Instant(nanoseconds: 11_000_000_000), "ten seconds by default")
    }

    @Test("A wait ends when the notifications are there, or with 408 at the timeout")
    func wait() throws {
        let query = [("count", "2"), ("timeout", "5"), ("topic", "com.example.app")]
        try rig.add(InboxSamples.record(), InboxSamples.record(topic: "com.example.other"))
        #expect(try rig.ask("/notifications/wait", "GET", query) == nil)
        #expect(rig.inbox.nextDeadline != nil)
        let late = try #require(try rig.ask("/notifications/wait", "GET", query, waited: .seconds(5)))
        #expect(late.status == 408)
        let text = "408 1 of 2 notifications arrived within 5 s; the inbox has 1 with another device token or topic"
        #expect(String(decoding: late.body, as: UTF8.self) == text + "\n")
        try rig.add(InboxSamples.record(ending: .responded(403, reason: "BadTopic"), cause: "apns-topic is wrong"))
        let refused = try #require(try rig.ask("/notifications/wait", "GET", query, waited: .seconds(5)))
        #expect(
            String(decoding: refused.body, as: UTF8.self)
                == text + "; 1 refused, the last one with 403 BadTopic: apns-topic is wrong\n")
        try rig.add(InboxSamples.record())
        let response = try #require(try rig.ask("/notifications/wait", "GET", query, waited: .seconds(4)))
        #expect(response.status == 200)
        #expect(String(decoding: response.body, as: UTF8.self).contains("\"matching\":2,"))
        let all = try #require(try rig.ask("/notifications/wait", "GET", [("count", "9"), ("timeout", "0")]))
        #expect(all.status == 408 && !String(decoding: all.body, as: UTF8.self).contains("another device token"))
    }

    @Test("A waiting request is checked soon after a notification, and otherwise at its timeout")
    func deadlines() throws {
        #expect(rig.inbox.nextDeadline == nil)
        #expect(try rig.ask("/notifications/wait", "GET", [("timeout", "5")]) == nil)
        #expect(rig.inbox.nextDeadline == Instant(nanoseconds: 6_000_000_000))
        try rig.add(InboxSamples.record())
        #expect(try #require(rig.inbox.nextDeadline) < Instant(nanoseconds: 2_000_000_000))
        rig.inbox.step(at: Moment(instant: Instant(nanoseconds: 2_000_000_000), wall: WallTime(milliseconds: 0)))
        #expect(rig.inbox.nextDeadline == nil)
        #expect(try rig.ask("/notifications/wait", "GET", [("count", "3"), ("timeout", "5")]) == nil)
        #expect(rig.inbox.nextDeadline == Instant(nanoseconds: 6_000_000_000), "nothing is new")
        try rig.add(InboxSamples.record())
        #expect(rig.inbox.nextDeadline == Instant(nanoseconds: 2_020_000_000))
    }

    @Test("Each of several waiting requests ends at its own time-out", arguments: [["5", "60"], ["60", "5"]])
    func severalTimeouts(timeouts: [String]) throws {
        for timeout in timeouts { #expect(try rig.ask("/notifications/wait", "GET", [("timeout", timeout)]) == nil) }
        #expect(rig.inbox.nextDeadline == Instant(nanoseconds: 6_000_000_000))
        rig.inbox.step(at: Moment(instant: Instant(nanoseconds: 6_000_000_000), wall: WallTime(milliseconds: 0)))
        #expect(try rig.ask("/notifications/wait", "GET", [("timeout", "60")], waited: .seconds(5)) == nil)
        #expect(rig.inbox.nextDeadline == Instant(nanoseconds: 61_000_000_000))
    }

    @Test("The page loads no external resources and makes no markup out of text")
    func page() throws {
        let html = String(decoding: InboxPage.document.body, as: UTF8.self)
        let addresses = html.matches(of: #/https?:\/\/[^'"\s]+/#).map { String($0.output) }
        // A namespace, not an address.
        #expect(Set(addresses) == ["http://www.w3.org/2000/svg"])
        for name in [
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc", "style=",
        ] {
            #expect(!html.contains(name), "\(name)")
        }
        #expect(InboxPage.document.policy.hasPrefix("default-src 'none';"))
        #expect(!InboxPage.document.policy.contains("unsafe"))
    }
}

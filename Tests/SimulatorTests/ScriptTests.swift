import Core
import HTTP2
import Testing

@testable import Simulator

@Suite("A script")
struct ScriptTests {
    func parse(_ text: String) throws -> Script {
        var configuration = SimulatorConfiguration()
        return try Script(text, file: "demo.script", &configuration)
    }

    func rule(_ text: String) throws -> ScriptRule {
        try #require(try parse(text).rules.first)
    }

    static func response(
        _ status: UInt16, _ reason: String? = nil, timestamp: Int64? = nil, then rest: SimulatedResponse.Rest = .body
    ) -> SimulatedResponse {
        var response = SimulatedResponse(status, reason)
        response.timestamp = timestamp
        response.rest = rest
        return response
    }

    func complaints(_ text: String) -> String {
        do {
            _ = try parse(text)
            return ""
        } catch {
            return "\((error as? Complaint)?.message ?? "another error")"
        }
    }

    @Test("Conditions are read")
    func conditions() throws {
        #expect(try rule("token DEAD*: silence").trigger == .request([.token("dead*")]))
        #expect(
            try rule("topic com.example.*, type voip: silence").trigger
                == .request([.topic("com.example.*"), .pushType(Array("voip".utf8))]))
        #expect(try rule("attempt 1, chance 12.5%: silence").trigger == .request([.attempt(1), .chance(0.125)]))
        #expect(
            try rule("after 100 requests: cut").trigger == .request([.count(.after, of: 100, .connection, counter: 0)]))
        #expect(
            try rule("every 50 requests: silence").trigger == .request([.count(.every, of: 50, .server, counter: 0)]))
        #expect(
            try rule("first 1 request on connection: silence").trigger
                == .request([.count(.first, of: 1, .connection, counter: 0)]))
        #expect(try rule("operation list: silence").trigger == .request([.operation(.list)]))
        #expect(try rule("connect: cut").trigger == .connected)
        #expect(try rule("authenticated: settings streams=5").trigger == .authenticated)
        #expect(try rule("after 5m: cut").trigger == .age(.seconds(300)))
        #expect(try rule("idle 1h: goaway IdleTimeout").trigger == .idle(.seconds(3600)))
    }

    @Test("Actions are read")
    func actions() throws {
        #expect(
            try rule("token 00*: 410 Unregistered timestamp=1700000000000").actions
                == [.respond(Self.response(410, "Unregistered", timestamp: 1_700_000_000_000))])
        #expect(
            try rule("token 00*: delay 100ms..2s, status 503 ServiceUnavailable").actions
                == [.delay(.milliseconds(100) ... .seconds(2)), .respond(SimulatedResponse(503, "ServiceUnavailable"))])
        #expect(
            try rule("token 00*: 599 \"Something, new\" then=CANCEL").actions == [
                .respond(Self.response(599, "Something, new", then: .reset(.cancel)))
            ])
        #expect(try rule("token 00*: rst REFUSED_STREAM").actions == [.reset(.refusedStream)])
        var goaway = ScriptGoaway(reason: "Shutdown")
        goaway.last = .before
        goaway.closing = .never
        goaway.code = .enhanceYourCalm
        goaway.announcedBy = .milliseconds(100)
        #expect(
            try rule("token 00*: goaway Shutdown last=before close=never code=ENHANCE_YOUR_CALM announced=100ms")
                .actions
                == [.goaway(goaway)])
        let settings: [HTTP2Setting: UInt32] = [
            .maxConcurrentStreams: 1, .initialWindow: 100, .headerTableSize: 0, .maxFrameSize: 65536,
        ]
        #expect(try rule("connect: settings streams=1 window=100 table=0 frame=65536").actions == [.settings(settings)])
        #expect(try rule("connect: hold 5s, ping 3").actions == [.hold(.seconds(5)), .ping(3)])
        #expect(
            try rule("token 00*: 200 then=silence, cut").actions
                == [.respond(Self.response(200, then: .silence)), .cut])
    }

    @Test("Settings of the service are read")
    func settings() throws {
        var configuration = SimulatorConfiguration()
        let text = """
            set environment development
            set streams-before-token 2
            set topic com.example.MyApp
            set key ABC123DEFG team=DEF123GHIJ environment=production topic=com.example.MyApp
            set channel \(Samples.channelID) app=com.example.MyApp storage=none
            set built-in-tokens off
            set topic com.example.New after=10s
            set key ABC123DEFH team=DEF123GHIJ related=ABC123DEFG after=10s until=1h
            set device-limit 5 per 10s
            set connection-limit 3 per 1m
            """
        let script = try Script(text, file: "demo.script", &configuration)
        #expect(configuration.environment == .development)
        #expect(configuration.streamsBeforeToken == 2)
        #expect(configuration.topics.map(\.bundleID) == ["com.example.MyApp", "com.example.New"])
        #expect(configuration.topics.map(\.after) == [.zero, .seconds(10)])
        var rotated = ProviderKey(keyID: "ABC123DEFH", teamID: "DEF123GHIJ")
        rotated.relatedKeyID = "ABC123DEFG"
        rotated.issuedAfter = .seconds(10)
        rotated.revokedAfter = .seconds(3600)
        var first = ProviderKey(keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        first.environment = .production
        first.topics = ["com.example.MyApp"]
        #expect(configuration.keys == [first, rotated])
        #expect(configuration.deviceLimit == Rate(count: 5, period: .seconds(10)))
        #expect(configuration.connectionLimit == Rate(count: 3, period: .seconds(60)))
        #expect(!configuration.hasBuiltInTokens)
        #expect(
            script.channels == [
                ScriptChannel(bundleID: "com.example.MyApp", channelID: Samples.channelID, policy: .noMessageStored)
            ])
    }

    @Test(
        "An error has its line and a suggestion",
        arguments: [
            ("tokne dead*: silence", "\"tokne\" is not a condition; did you mean \"token\"?"),
            ("token slow*: silence", "a device token cannot contain \"s\""),
            (
                "token dead*: 410 Unregisterd",
                "\"Unregisterd\" is not one of Apple's reasons (put others in quotes); did you mean \"Unregistered\"?"
            ),
            ("token dead*: statsu 410", "\"statsu\" is not an action; did you mean \"status\"?"),
            ("token dead* silence", "the line needs \":\""),
            ("token dead*:", "the line needs an action"),
            ("token dead*: delay soon", "\"soon\" is not a duration"),
            ("token dead*: delay 2s..1s", "the shorter duration must be first in \"2s..1s\""),
            ("token dead*: rst REFUSED", "\"REFUSED\" is not an HTTP/2 error code"),
            ("token dead*: 199", "199 is not a status from 200 to 599"),
            ("token dead*: 410 time=1", "\"time\" is not known here"),
            ("token dead*: goaway last=2", "last is one of all, this, before, none, not \"2\""),
            ("token dead*: goaway close=soon", "close is one of answered, now, never, not \"soon\""),
            ("token dead*: silence cut", "expected the end of the line before \"cut\""),
            ("token dead*: settings", "the line needs streams=, window=, table= or frame="),
            ("connect: silence", "\"silence\" needs a request"),
            ("after 5s: goaway last=before", "\"goaway\" needs a request"),
            ("every 0 requests: cut", "\"0\" is not a number from 1"),
            ("every 5 connections: cut", "the line needs \"request\""),
            ("chance 101%: cut", "\"101%\" is not a percentage"),
            ("type alarm: cut", "\"alarm\" is not a push type; did you mean \"alert\"?"),
            ("token *: 410 \"a\\b\"", "a reason has no backslashes or control characters"),
            ("token \"dead: cut", "the closing quote of \"dead: cut is missing"),
            ("set enviroment production", "\"enviroment\" is not a setting; did you mean \"environment\"?"),
            ("set key ABC team=DEF123GHIJ", "\"ABC\" does not have ten characters"),
            ("set key ABC123DEFG", "the line needs team="),
            ("set key ABC123DEFG team=DEF123GHIJ file=/none.pem", "cannot read /none.pem: No such file"),
            ("set key ABC123DEFG team=DEF123GHIJ related=ABC", "\"ABC\" does not have ten characters"),
            ("set topic com.example.New later=5s", "\"later\" is not known here"),
            ("set device-limit 5 10s", "the line needs \"per\""),
            ("connect: settings frame=1", "frame is a number from 16384 to 16777215, not \"1\""),
            ("set channel ??? app=com.example", "\"???\" is not base64"),
        ])
    func mistakes(line: String, complaint: String) {
        let found = complaints(line)
        #expect(found.hasPrefix("demo.script:1: \(complaint)"), "\(found)")
    }

    @Test("All errors of a script are reported at once; comments and empty lines mean nothing")
    func allMistakes() {
        let found = complaints("# fine\ntokn 00: cut\n   \t\r\ntoken 00: cutt\n\n")
        #expect(found.split(separator: "\n").count == 2)
        #expect(found.contains("demo.script:2: "))
        #expect(found.contains("demo.script:4: "))
    }

    @Test(
        "A glob's stars match anything",
        arguments: [
            ("dead*", "deadbeef", true), ("dead*", "dead", true), ("dead", "deadbeef", false),
            ("*beef", "deadbeef", true),
            ("*beef", "beefdead", false), ("de*ef", "deadbeef", true), ("*adb*", "deadbeef", true), ("*", "", true),
            ("a*a", "a", false), ("a*b*c", "axxbxxc", true), ("a*b*c", "axxcxxb", false), ("", "", true),
        ])
    func globs(pattern: String, text: String, matches: Bool) {
        #expect(Script.matches(Array(text.utf8)[...], pattern) == matches)
    }
}

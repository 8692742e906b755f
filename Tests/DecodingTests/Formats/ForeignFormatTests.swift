import Core
import Commands
import TestSupport
import Testing

@testable import Decoding

/// Messages in other senders' formats, and the decoded requests.
@Suite("Formats of other senders")
struct ForeignFormatTests {
    private static let token = DecoderSample.token
    private static let token2 = DecoderSample.token2

    @Test(
        "A refused event has a reason with its place",
        arguments: [
            (
                #"{"specversion":"1.0","id":"1"}"#,
                "data: missing; expected data or data_base64; source: missing; expected a text; "
                    + "type: missing; expected a text"
            ),
            (
                #"{"specversion":"0.3","id":"1","source":"s","type":"t","datacontenttype":7,"data":7}"#,
                "datacontenttype: expected a string; "
                    + #"specversion: expected 1.0, found "0.3"; body: expected a JSON object, found a number"#
            ),
            (
                #"{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"text\/xml","data":{}}"#,
                #"content-type: "text/xml" is another format, expected application/json"#
            ),
        ])
    func refused(body: String, complaint: String) throws {
        #expect(try DecoderSample(body, decoder: "cloudevents").complaint() == complaint)
    }

    private static func entry(_ token: String, _ rest: String = "") -> String {
        #"{"device-token":"\#(token)","payload":{"aps":{"badge":1}}\#(rest)}"#
    }

    /// The entries of a list in one request.
    private static func batch(_ entries: [String]) throws(DecodingFailure) -> Request {
        var batch = RequestBatch("requests")
        for entry in entries {
            try batch.add { () throws(DecodingFailure) in try APNsJSONDecoder.request(ArraySlice(entry.utf8)) }
        }
        return batch.request(key: nil)
    }

    @Test("A list is one request of up to 500 tokens")
    func lists() {
        #expect(throws: RequestFields.badCount(501)) {
            try Self.batch(Array(repeating: Self.entry(Self.token), count: 501))
        }
        #expect(RequestFields.badCount(501).limit == .tokens && RequestFields.badCount(0).limit == nil)
    }

    @Test("The time of a message with several entries is the latest of them", arguments: [[5, nil, 9, 7], [nil, 9]])
    func latestOfSeveral(times: [Int64?]) throws {
        let start: Int64 = 1_795_300_000
        let entries = times.map { time in
            Self.entry(Self.token, time.map { ",\"not-before\":\(start + $0)" } ?? "")
        }
        let request = try Self.batch(entries + ["wrong"])
        #expect(request.notBefore == start + 9 && request.count == times.count + 1)
    }

    @Test("A wrong entry affects only itself, and a wrong token only itself in its entry")
    func entries() throws {
        let good = #"{"device-tokens":["\#(Self.token)","x"],"payload":{"aps":{"badge":1}}}"#
        let bad = #"{"device-tokens":[],"apns-topic":"t","payload":{"aps":{"badge":1}}}"#
        let request = try Self.batch([good, bad, "7", Self.entry(Self.token2, #","topic":"t""#)])
        #expect(request.hint == #"requests[3].topic: not a field; did you mean "apns-topic"?"#)
        #expect(request.notifications.map(\.hex) == [Self.token, Self.token2])
        #expect(request.refusals.map(\.position) == [1, 2, 3] && request.count == 5)
        #expect(
            request.refusals.map(\.failure.detail) == [
                "requests[0].device-tokens[1]: expected an even number of hexadecimal digits, at most 1024",
                "requests[1].device-tokens: 0 tokens, expected 1 to 500",
                "requests[2].body: expected a JSON object, found a number",
            ])
        #expect(string(request.refusals[1].failure.known?.topic) == "t")
        let none = try Self.batch([bad, bad])
        #expect(none.notifications.isEmpty && none.refusals.map(\.position) == [0, 1])
    }

    @Test("An event is identified by source and id, and its data is read by the data's decoder")
    func events() throws {
        let data = #"{"device-token":"\#(Self.token)","payload":{"aps":{"badge":1.0}}}"#
        func event(_ rest: String) -> String {
            #"{"specversion":"1.0","id":"7","source":"/shop","type":"push.requested",\#(rest)}"#
        }
        let structured = DecoderSample(
            event(#""data":\#(data)"#), decoder: "auto",
            properties: [("content-type", "application/cloudevents+json; charset=UTF-8")])
        let request = try structured.request()
        #expect(string(request.notifications[0].payload) == #"{"aps":{"badge":1.0}}"#)
        #expect(string(request.key) == "/shop\u{0}7")
        // With a byte order mark.
        let encoded = Base64.standard.encode([0xEF, 0xBB, 0xBF] + Array(data.utf8))
        let base64 = DecoderSample(
            event(#""datacontenttype":"application/json","data_base64":"\#(encoded)""#), decoder: "cloudevents")
        #expect(try base64.notification().hex == Self.token)
        for separator in [":", "_"] {
            let attributes = [("specversion", "1.0"), ("id", "7"), ("source", "/shop"), ("type", "push.requested")]
            var binary = DecoderSample(
                data, decoder: "auto", headers: attributes.map { ("cloudEvents\(separator)\($0)", .text($1)) },
                properties: [("content-type", "application/json")])
            binary.headers.append(("environment", .text("x")))
            let found = try binary.request()
            #expect(string(found.key) == "/shop\u{0}7" && found.hint == nil)
        }
        for version in ["1.0", "2"] {
            let body = event(#""data":{"device-token":"00","apns-topic":"t"}"#).replacing("1.0", with: version)
            let refused = try #require(try DecoderSample(body, decoder: "cloudevents").decoded().failure)
            #expect(string(refused.key) == "/shop\u{0}7" && refused.known?.target != nil)
            #expect(string(refused.known?.topic) == "t")
        }
        let decoders = "  - name: e\n    cloudevents: { types: [push.requested], decoder: apns-json }"
        let listed = try DecoderSample(event(#""data":\#(data)"#), decoder: "e", decoders: decoders).notification()
        #expect(listed.hex == Self.token)
        let other = #"{"specversion":"1.0","id":"7","source":"/shop","type":"order"}"#
        #expect(try DecoderSample(other, decoder: "e", decoders: decoders).decoded().ignored != nil)
    }

    @Test("A decoder is not nested in itself, and a process in none")
    func nesting() {
        #expect(
            DecoderSample.problems(
                """
                  - name: a
                    cloudevents: { decoder: b }
                  - name: b
                    cloudevents: { decoder: a }
                """) == [
                    "f:5:29: decoders[0].cloudevents.decoder: \"b\" would contain itself",
                    "f:7:29: decoders[1].cloudevents.decoder: \"a\" would contain itself",
                ])
        let process = "  - name: p\n    process: { command: [/bin/sh] }\n  - name: e\n    cloudevents: { decoder: p }"
        #expect(DecoderSample.problems(process).map { $0.hasSuffix("it cannot be part of another decoder") } == [true])
    }

    @Test("A decoder's name is its own, and a format's name only for that format")
    func names() {
        let mapping = "\n    mapping: { device-token: /token, payload: body }\n"
        let decoders = ["mapping", "auto", "mapping"].map { "  - name: \($0)\(mapping)" }.joined()
        #expect(
            DecoderSample.problems(decoders) == [
                "f:6:11: decoders[1].name: \"auto\" is a format; give a decoder of another format another name",
                "f:8:11: decoders[2].name: decoders[0] is \"mapping\" already",
            ])
    }

    @Test("A part at the nesting limit is refused where the payload adds its own brackets")
    func depth() throws {
        let brackets = JSONScanner.maximumDepth - 1
        let deep = String(repeating: "[", count: brackets) + String(repeating: "]", count: brackets)
        let sample = DecoderSample(
            #"{"token":"\#(Self.token)","sound":\#(deep)}"#, decoder: "m",
            decoders: "  - name: m\n    mapping: { device-token: /token, payload: '{\"aps\":{\"sound\":{/sound}}}' }")
        let failure = try #require(try sample.decoded().failure)
        #expect(failure.limit == .depth, "\(failure.detail)")
        #expect(failure.detail.hasPrefix("payload: not JSON: expected at most 64 levels of brackets"))
    }

    @Test("A removed format is an error that says so, wherever it is named", arguments: DecoderFormat.removed)
    func removed(format: String) {
        let message = "the format \"\(format)\" was removed; use a mapping, see docs/start/migrating.md"
        #expect(DecoderSample.problems("", queue: format) == ["f:1:30: queues[0].decoder: \(message)"])
        #expect(
            DecoderSample.problems("  - name: e\n    cloudevents: { decoder: \(format) }")
                == ["f:5:29: decoders[0].cloudevents.decoder: \(message)"])
        #expect(
            DecoderSample.problems("  - name: e\n    \(format): {}").contains(
                "f:5:5: decoders[0].\(format) was removed; use a mapping, see docs/start/migrating.md"))
        let mapping = "{ device-token: /token, payload: body }"
        #expect(DecoderSample.problems("  - name: \(format)\n    mapping: \(mapping)", queue: format) == [])
    }

    @Test("Each format has its row in the documentation, and each foreign one a page")
    func pages() throws {
        let page = try DocumentationPage("produce/decoders.md").text
        for format in DecoderFormat.allCases.map(\.rawValue) {
            #expect(page.contains("\n| `\(format)` |"), "\(format)")
            guard !["auto", "apns-json", "apns-headers"].contains(format) else { continue }
            #expect(try DocumentationPage("produce/decoders/\(format).md").text.contains("`\(format)`"))
        }
    }

    /// Messages for each format that needs options, and for ours.
    private static let samples = [
        DecoderSample(
            #"{"t":"\#(token)","n":{"a":[1,{"b":"x"}]},"p":{"aps":{"badge":1}}}"#, decoder: "m",
            decoders: """
                  - name: m
                    mapping:
                      device-token: /t
                      apns-collapse-id: "c-{/n/a/0}"
                      payload: '{"aps":{"alert":"{/n/a/1/b|y}"},"n":{/n}}'
                """),
        DecoderSample(
            #"[["x"], {"push": {"device-token":"\#(token)","payload":{"aps":{"badge":1}}}}, {}]"#, decoder: "c",
            decoders: "  - name: c\n    celery: { tasks: [{ name: t, pointer: /kwargs/push }] }",
            headers: [("task", .text("t")), ("id", .text("i")), ("eta", .text("2026-09-21T14:13:19"))]),
        DecoderSample(
            #"{"specversion":"1.0","id":"7","source":"/s","type":"t","#
                + #""data":{"device-token":"\#(token)","payload":{"aps":{"badge":1}}}}"#,
            decoder: "cloudevents"),
        DecoderSample(
            #"{"device-tokens":["\#(token)","\#(token2)"],"apns-topic":"a","apns-priority":5,"#
                + #""payload":{"aps":{"badge":1}}}"#,
            decoder: "apns-json"),
        DecoderSample(#"{"aps":{"badge":1}}"#, decoder: "apns-headers", headers: [("device-token", .text(token))]),
        DecoderSample(#"{"device-token":"\#(token)","payload":{"aps":{"badge":1}}}"#, decoder: "auto"),
    ]

    @Test("Every damaged message gets a result", arguments: samples.indices)
    func mutations(index: Int) throws {
        let sample = Self.samples[index]
        let decoder = try #require(try DecoderSample.set(sample.decoders)[sample.decoder])
        let seed = Mutator.seed(UInt64(index) &* 0x9E37_79B9 &+ 20_260_921)
        var mutator = Mutator(seed: seed, fragments: Self.fragments)
        var responses = [0, 0, 0, 0]
        for _ in 0..<Mutator.inputs(3000) {
            var mutated = sample
            mutator.damage(&mutated.body)
            if Int.random(in: 0..<4, using: &mutator.random) == 0, !mutated.headers.isEmpty {
                mutated.headers.remove(at: Int.random(in: 0..<mutated.headers.count, using: &mutator.random))
            }
            switch decoder.decode(mutated.delivery, at: DecoderSample.now) {
            case .request(let request):
                responses[0] += 1
                #expect(request.notifications.count <= RequestFields.maximumTokens)
                for notification in request.notifications { try RequestFields.payload(notification.payload) }
            case .ignore: responses[1] += 1
            case .reject(let failure):
                responses[2] += 1
                #expect(!failure.detail.isEmpty && failure.detail.utf8.count < 1000)
                #expect(!failure.detail.contains(Self.token))
            case .later(let pause):
                responses[3] += 1
                #expect(pause > .zero)
            }
        }
        #expect(responses[2] > 0, "seed \(seed), \(sample.decoder): \(responses)")
    }

    private static let fragments = [
        "{", "}", "[", "]", "\"", ":", ",", "null", "true", "0", "-1", "1e9", "99999999999999999999", "\\u0000",
        "\\ud800", "[[[[[[[[", "{\"a\":", "\"\"", "{}", "[]", "\u{FF}", "2", "\"aps\":{}", "MA==",
    ].map { Array($0.utf8) }
}

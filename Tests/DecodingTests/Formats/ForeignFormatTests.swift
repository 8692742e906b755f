import Core
import Operations
import TestSupport
import Testing

@testable import Decoding

/// Messages in other senders' formats, and the decoded requests.
@Suite("Formats of other senders")
struct ForeignFormatTests {
    private static let token = DecoderSample.token
    private static let token2 = DecoderSample.token2

    /// A notification in one line, without its token and payload.
    private static func head(_ notification: Core.Notification) -> String {
        var parts = [notification.pushType.description]
        parts += [notification.topic, notification.collapseID].compactMap(string)
        parts += [notification.priority.map { "p\($0.rawValue)" }, notification.expiration.map { "e\($0)" }].compactMap(
            \.self)
        if let environment = notification.environment { parts.append(environment.rawValue) }
        return parts.joined(separator: " ")
    }

    @Test("Samples decode as in their own software", arguments: ForeignSamples.all)
    func samples(sample: ForeignSamples.Entry) throws {
        let request = try sample.message.request()
        #expect(request.notifications.map(\.hex) == sample.tokens, "\(sample.name)")
        #expect(Self.head(request.notifications[0]) == sample.head, "\(sample.name)")
        #expect(string(request.notifications[0].payload) == sample.payload, "\(sample.name)")
    }

    @Test("A refusal has a reason with its place", arguments: ForeignSamples.refused)
    func refused(sample: ForeignSamples.Refused) throws {
        #expect(try sample.message.complaint() == sample.complaint, "\(sample.message.decoder)")
    }

    @Test("Messages for other platforms are ignored", arguments: ForeignSamples.ignored)
    func ignored(sample: DecoderSample) throws {
        guard case .ignore = try sample.decoded() else {
            Issue.record("\(sample.decoder): \(String(decoding: sample.body, as: UTF8.self))")
            return
        }
    }

    @Test("A list is one request: its notifications in order, for its own platform, up to 500 tokens")
    func lists() throws {
        let entry = #"{"tokens":["\#(Self.token)"],"platform":1,"message":"a"}"#
        let other = #"{"tokens":["x"],"platform":2,"message":"b"}"#
        let second = #"{"to":"\#(Self.token2)","tokens":[],"platform":1,"message":"c","push_type":"alert"}"#
        let list = DecoderSample(#"{"notifications":[\#(entry),\#(other),\#(second)]}"#, decoder: "gorush")
        let found = try list.request().notifications
        #expect(found.map(\.hex) == [Self.token, Self.token2])
        #expect(found.map { string($0.payload) } == [#"{"aps":{"alert":"a"}}"#, #"{"aps":{"alert":"c"}}"#])
        let many = Array(repeating: entry, count: 501).joined(separator: ",")
        guard
            case .reject(let failure) = try DecoderSample(#"{"notifications":[\#(many)]}"#, decoder: "gorush").decoded()
        else {
            Issue.record("expected it to be refused")
            return
        }
        #expect(failure == RequestFields.badCount(501) && failure.limit == .tokens)
    }

    @Test("The header not-before is the time of a message in a format without one")
    func notBefore() throws {
        let formats: Set = ["fcm-v1", "gorush", "node-apn", "pushy", "rpush", "sns"]
        var seen: Set<String> = []
        for sample in ForeignSamples.all where formats.contains(sample.message.decoder) {
            var message = sample.message
            #expect(try message.request().notBefore == nil, "\(sample.name)")
            message.headers.append(("not-before", .integer(1_790_000_060)))
            #expect(try message.request().notBefore == 1_790_000_060, "\(sample.name)")
            seen.insert(message.decoder)
        }
        #expect(seen == formats)
    }

    @Test("The time of a message with several entries is the latest of them", arguments: [[5, nil, 9, 7], [nil, 9]])
    func latestOfSeveral(times: [Int64?]) throws {
        var batch = RequestBatch("requests")
        for time in times {
            let member = time.map { ",\"not-before\":\($0)" } ?? ""
            let entry = "{\"device-token\":\"\(Self.token)\",\"payload\":{\"aps\":{\"badge\":1}}\(member)}"
            try batch.add { () throws(DecodingFailure) in try APNsJSONDecoder.request(ArraySlice(entry.utf8)) }
        }
        try batch.add { () throws(DecodingFailure) in throw DecodingFailure("wrong") }
        guard case .request(let request) = batch.decoded(else: "none") else {
            Issue.record("expected a request")
            return
        }
        #expect(request.notBefore == 9 && request.count == times.count + 1)
    }

    @Test("A wrong entry affects only itself, and a wrong token only itself in its entry")
    func entries() throws {
        let good = #"{"tokens":["\#(Self.token)","x"],"platform":1,"message":"a","notif_id":"one"}"#
        let bad = #"{"platform":1,"notif_id":"two"}"#
        let last = #"{"tokens":["\#(Self.token2)"],"platform":1,"message":"b","notif_id":"three"}"#
        let android = #"{"tokens":["x"],"platform":2}"#
        let sample = DecoderSample(
            #"{"notifications":[\#(good),\#(android),\#(bad),7,\#(last)]}"#, decoder: "gorush")
        let request = try sample.request()
        #expect(request.notifications.map(\.hex) == [Self.token, Self.token2])
        #expect(request.refusals.map(\.position) == [1, 2, 3] && request.count == 5)
        #expect(
            request.refusals.map(\.failure.detail) == [
                "notifications[0].device-tokens[1]: expected an even number of hexadecimal digits, at most 1024",
                "notifications[2].device-tokens: 0 tokens, expected 1 to 500",
                "notifications[3].entry: expected an object, found a number",
            ])
        let names = (0..<5).map { string(GorushDecoder.names(of: sample.delivery, at: $0).id?.text) }
        #expect(names == ["one", "one", "two", nil, "three"])
        let none = try DecoderSample(#"{"notifications":[{"platform":1},{"platform":1}]}"#, decoder: "gorush").request()
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
        let encoded = Base64.standard.encode(Array(data.utf8))
        let base64 = DecoderSample(
            event(
                #""datacontenttype":"application/json","data_base64":"\#(encoded)""#),
            decoder: "cloudevents")
        #expect(try base64.notification().hex == Self.token)
        for separator in [":", "_"] {
            let attributes = [("specversion", "1.0"), ("id", "7"), ("source", "/shop"), ("type", "push.requested")]
            let binary = DecoderSample(
                data, decoder: "auto", headers: attributes.map { ("cloudEvents\(separator)\($0)", .text($1)) },
                properties: [("content-type", "application/json")])
            #expect(try string(binary.request().key) == "/shop\u{0}7")
        }
        let decoders = "  - name: e\n    cloudevents: { types: [push.requested], decoder: gorush }"
        let gorush = #"{"to":"\#(Self.token)","platform":1,"message":"a"}"#
        #expect(
            try DecoderSample(event(#""data":\#(gorush)"#), decoder: "e", decoders: decoders).notification().hex
                == Self.token)
        let other = #"{"specversion":"1.0","id":"7","source":"/shop","type":"order","data":{}}"#
        guard case .ignore = try DecoderSample(other, decoder: "e", decoders: decoders).decoded() else {
            Issue.record("expected it to be ignored")
            return
        }
    }

    @Test("A decoder is not nested in itself, nor more than four deep")
    func nesting() {
        #expect(
            DecoderSample.problems(
                """
                  - name: a
                    cloudevents: { decoder: b }
                  - name: b
                    cloudevents: { decoder: a }
                """) == [
                    "f:5:29: decoders[0].cloudevents.decoder: \"a\" would contain itself",
                    "f:7:29: decoders[1].cloudevents.decoder: \"b\" would contain itself",
                ])
        let chain = (0..<5).map { "  - name: d\($0)\n    cloudevents: { decoder: \($0 == 4 ? "auto" : "d\($0 + 1)") }" }
        #expect(
            DecoderSample.problems(chain.joined(separator: "\n"))
                == [0, 1].map {
                    "f:\(2 * $0 + 5):29: decoders[\($0)].cloudevents.decoder: "
                        + "more than 4 decoders are nested"
                })
    }

    @Test("A part at the nesting limit is refused where the payload adds its own brackets")
    func depth() throws {
        let brackets = JSONScanner.maximumDepth - 1
        let deep = String(repeating: "[", count: brackets) + String(repeating: "]", count: brackets)
        for (decoder, body) in [
            ("gorush", #"{"to":"\#(Self.token)","platform":1,"sound":\#(deep)}"#),
            ("rpush", #"{"device_token":"\#(Self.token)","alert":\#(deep)}"#),
            ("node-apn", #"{"token":"\#(Self.token)","alert":\#(deep)}"#),
        ] {
            guard case .reject(let failure) = try DecoderSample(body, decoder: decoder).decoded() else {
                Issue.record("\(decoder): expected it to be refused")
                continue
            }
            #expect(failure.limit == .depth, "\(decoder): \(failure.detail)")
            #expect(failure.detail.hasPrefix("payload: not JSON: expected at most 64 levels of brackets"))
        }
    }

    @Test("Each format has its row in the documentation, and each foreign one a page")
    func pages() throws {
        let page = try DocumentationPage("produce/decoders.md").text
        for format in DecoderRegistry.builtIn.formats {
            #expect(page.contains("\n| `\(format.name)` |"), "\(format.name)")
            guard !["auto", "apns-json", "apns-headers"].contains(format.name) else { continue }
            #expect(try DocumentationPage("produce/decoders/\(format.name).md").text.contains("`\(format.name)`"))
        }
    }

    @Test("Every damaged message gets a result", arguments: ForeignSamples.forMutation.indices)
    func mutations(index: Int) throws {
        let sample = ForeignSamples.forMutation[index]
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
                for notification in request.notifications {
                    try RequestFields.checkPayload(notification.payload, "payload")
                }
            case .ignore: responses[1] += 1
            case .reject(let failure):
                responses[2] += 1
                #expect(!failure.detail.isEmpty && failure.detail.utf8.count < 600)
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
        "\\ud800",
        "[[[[[[[[", "{\"a\":", "\"\"", "{}", "[]", "\u{FF}", "2", "\"aps\":{}", "MA==",
    ].map { Array($0.utf8) }
}

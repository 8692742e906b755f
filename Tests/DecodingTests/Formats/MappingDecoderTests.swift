import AMQP
import Core
import TestSupport
import Testing

@testable import Commands
@testable import Decoding

@Suite("The decoder mapping")
struct MappingDecoderTests {
    private static let token = DecoderSample.token

    private static func sample(
        _ body: String, _ options: String, headers: [(String, OneOffDelivery.HeaderValue)] = [],
        properties: [(String, String)] = []
    ) -> DecoderSample {
        let indented = options.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n")
        return DecoderSample(
            body, decoder: "m", decoders: "  - name: m\n    mapping:\n\(indented)", headers: headers,
            properties: properties)
    }

    private static let order = """
        {"device": {"token": "\(token)", "os/ver": "17"}, "n": 7, "urgent": true,
         "order": {"id": 4711, "title": "Sch\\u00f6n \\"neu\\"", "tags": ["\\u00fc", [1]]},
         "push": {"aps": {"alert": "Hi", "badge": 1.0e0}, "z": 12345678901234567890.10}}
        """

    @Test("Pointers, constants, templates, headers and properties give the fields, and a payload stays byte for byte")
    func everySource() throws {
        let sample = Self.sample(
            Self.order,
            """
            device-token: /device/token
            apns-topic: com.example.app
            apns-push-type: "constant:alert"
            apns-priority: "5"
            apns-collapse-id: "order-{/order/id}-{/n}"
            apns-expiration: header:until
            environment: property:app-id
            payload: /push
            key: "{/order/id}"
            not-before: property:timestamp
            """, headers: [("until", .integer(1_795_300_000))],
            properties: [("app-id", "development"), ("timestamp", "1795200000000")])
        let found = try sample.notification()
        #expect(found.hex == Self.token)
        #expect(string(found.topic) == "com.example.app" && found.pushType == .alert)
        #expect(found.priority == .considerate && found.expiration == 1_795_300_000)
        #expect(string(found.collapseID) == "order-4711-7" && found.environment == .development)
        #expect(string(found.payload) == #"{"aps": {"alert": "Hi", "badge": 1.0e0}, "z": 12345678901234567890.10}"#)
        #expect(try string(sample.request().key) == "4711" && sample.request().notBefore == 1_795_200_000)
        let options = "device-token: /token\npayload: body\nkey: /order/id"
        let refused = Self.sample(#"{"order": {"id": 4711}}"#, options)
        #expect(try string(refused.decoded().failure?.key) == "4711")
    }

    @Test("A payload template inserts values inside and outside of strings, with characters for escapes, and defaults")
    func template() throws {
        let found = try Self.sample(
            Self.order,
            """
            device-token: /device/token
            payload: '{"aps":{"alert":{"title":"\\"{/order/title}","body":"№ {/order/id} {/urgent}"},"badge":{/n}},
              "order":{/order},"from":{header:from},"x":{/none|null},"y":"{/none|-|}","{{z":1,
              "c":{header:critical|false}}'
            """, headers: [("from", .text("a\"b")), ("critical", .boolean(true))]
        ).notification()
        #expect(
            string(found.payload)
                == #"{"aps":{"alert":{"title":"\"Schön \"neu\"","body":"№ 4711 true"},"badge":7}, "#
                + #""order":{"id":4711,"title":"Schön \"neu\"","tags":["ü",[1]]},"#
                + #""from":"a\"b","x":null,"y":"-|","{z":1, "c":true}"#)
        let long = #"{"t":"00","a":"\#(String(repeating: #"\u00fc"#, count: 6000))"}"#
        let large = Self.sample(long, "device-token: /t\npayload: '{\"aps\":{\"alert\":{/a}}}'")
        #expect(try large.complaint() == "payload: 36020 bytes, expected at most 4096 for alert")
        let message = MappedMessage(delivery: try DeadLetterSamples.delivery(["share": .double(0.5)]), document: nil)
        #expect(try string(FieldSource(template: #"{"x":{header:share}}"#).json(in: message)) == #"{"x":0.5}"#)
    }

    @Test("The body is the payload, even if it is not parsed, and a string may hold it")
    func payloads() throws {
        let payload = #"{"aps":{"badge":1}}"#
        let headers: [(String, OneOffDelivery.HeaderValue)] = [("to", .text("\(Self.token), \(DecoderSample.token2)"))]
        let request = try Self.sample(payload, "device-tokens: header:to\npayload: body", headers: headers).request()
        #expect(request.notifications.map(\.hex) == [Self.token, DecoderSample.token2])
        #expect(request.notifications.map { string($0.payload) } == [payload, payload])
        for index in ["-0", "00"] {
            let sample = Self.sample(#"{"t":["00"],"aps":{"badge":1}}"#, "device-token: /t/\(index)\npayload: body")
            #expect(try sample.complaint() == "no target: device-token (/t/\(index)) found nothing")
        }
        let source = "device-token: header:to\ndevice-tokens: header:to\npayload: body"
        let both = try Self.sample(payload, source, headers: headers).request()
        #expect(both.notifications.map(\.hex) == [Self.token, DecoderSample.token2], "the list has precedence")
        let array = FieldValue.array([.string(Self.token), .string(DecoderSample.token2)])
        let decoder = try #require(try DecoderSample.set(Self.sample(payload, source).decoders)["m"])
        let listed = try decoder.decode(DeadLetterSamples.delivery(["to": array], body: payload), at: DecoderSample.now)
        #expect(try listed.get().notifications.map(\.hex) == [Self.token, DecoderSample.token2])
        let wrapped = try Self.sample(
            #"{"t":["\#(Self.token)"],"p":"{\"aps\":{\"badge\":1}}"}"#, "device-tokens: /t\npayload: /p"
        ).notification()
        #expect(wrapped.hex == Self.token && string(wrapped.payload) == payload)
    }

    @Test("A message that has no accepted value of only_if is ignored")
    func ignored() throws {
        let options = "device-token: /t\ndevice-tokens: /ts\npayload: /p\nonly_if: [/os, ios, \"1\", true, 1.5, 2.0]"
        for (os, isIgnored) in [
            ("\"ios\"", false), ("1", false), ("true", false), ("1.5", false), ("2.0", false), ("\"android\"", true),
            ("null", true), ("[]", true), ("false", true), ("3", true),
        ] {
            let sample = Self.sample(#"{"os":\#(os),"t":"\#(Self.token)","p":{"aps":{"badge":1}}}"#, options)
            #expect(try (sample.decoded().ignored != nil) == isIgnored, "\(os)")
            if !isIgnored { _ = try sample.request() }
        }
    }

    @Test(
        "A missing or wrong value is reported with its place",
        arguments: [
            ("/p", "{", "body: not JSON: expected a key at byte 1"),
            ("/p", #"{"p":{"aps":{}}}"#, "no target: device-token (/t) found nothing"),
            (
                "/p", #"{"t":[],"p":{"aps":{}}}"#,
                "device-token (/t): expected a string of hexadecimal digits, found an array; device-tokens takes "
                    + "several, and digits stand for bytes"
            ),
            ("/p", #"{"t":"00"}"#, "payload: /p is missing"),
            ("/p", #"{"t":"00","p":[1]}"#, "payload: expected a JSON object, found an array"),
            ("/p", #"{"t":"00","p":"["}"#, "payload: not JSON: expected a value at byte 1"),
            (#"  {"aps":{"alert":{/a}}}"#, #"{"t":"00"}"#, "payload: /a is missing"),
            (#"{"aps":{"alert":"{/a}"}}"#, #"{"t":"00","a":{}}"#, "payload: /a: expected text, found an object"),
            (#"{"aps":{"alert":"{/b}"},{/a}:1}"#, #"{"t":"00","b":""}"#, "payload: /a is missing"),
            ("{/a}", #"{"t":"00"}"#, "payload: /a is missing"),
            (#"{"aps":{},{/a|"x"}:1}"#, #"{"t":"00","a":5}"#, "payload: not JSON: expected a key at byte 10"),
        ])
    func complaints(payload: String, body: String, complaint: String) throws {
        var sample = Self.sample(body, "device-token: /t\napns-push-type: alert\npayload: '\(payload)'")
        #expect(try sample.complaint() == complaint)
        // The content type is named if it says what the body is instead.
        sample.properties = [("content-type", "application/msgpack")]
        let isObject = (try? JSONPart(ArraySlice(body.utf8)))?.kind == .object
        let named = isObject ? "" : "; content-type: \"application/msgpack\", expected application/json"
        #expect(try sample.complaint() == complaint + named)
    }

    @Test("check reports an invalid mapping with its place")
    func configuration() {
        let sections = DecoderFormat.sections.map(\.rawValue)
        let constant = "is a constant; use a JSON pointer such as /id, header:NAME or property:NAME"
        #expect(
            DecoderSample.problems(
                """
                  - name: m
                    mapping:
                      device-token: /a~2
                      apns-topic: "{/order/confirmation/x"
                      apns-id: property:nonsense
                      payload: constant
                      only_if: [/a~2]
                  - name: n
                    mapping: { payload: '{"aps":{/a}', key: id, only_if: [os, ios] }
                  - name: o
                    mapping: { device-tokns: /t, payload: 5, apns-priority: 7, apns-id: x }
                  - name: p
                  - name: q
                    mapping: { device-tokens: a/b, payload: body }
                """
            ) == [
                "f:6:21: decoders[0].mapping.device-token: \"/a~2\" is not a JSON pointer: write ~0 for ~ "
                    + "and ~1 for / in a key",
                "f:7:19: decoders[0].mapping.apns-topic: \"{/order/confirmation/\" has no closing brace",
                "f:8:16: decoders[0].mapping.apns-id: \"nonsense\" is not one of the properties content-type, "
                    + "content-encoding, message-id, correlation-id, reply-to, type, app-id, expiration, exchange, "
                    + "routing-key, timestamp",
                "f:9:16: decoders[0].mapping.payload: expected a JSON pointer, body, or a JSON object with "
                    + "{/pointer} in it",
                "f:10:16: decoders[0].mapping.only_if: expected a source and its accepted values",
                "f:10:17: decoders[0].mapping.only_if[0]: \"/a~2\" is not a JSON pointer: write ~0 for ~ "
                    + "and ~1 for / in a key",
                "f:12:14: decoders[1].mapping: expected one of device-token, device-tokens and apns-channel-id",
                "f:12:25: decoders[1].mapping.payload: no JSON object, whatever replaces {/pointer}: check keys, "
                    + "quotes, commas, braces and defaults",
                "f:12:45: decoders[1].mapping.key: \"id\" \(constant)",
                "f:12:59: decoders[1].mapping.only_if[0]: \"os\" \(constant)",
                "f:14:14: decoders[2].mapping: expected one of device-token, device-tokens and apns-channel-id",
                "f:14:16: unknown key \"device-tokns\" in decoders[2].mapping; did you mean \"device-tokens\"?",
                "f:14:43: decoders[2].mapping.payload: expected a JSON pointer, body, or a JSON object with "
                    + "{/pointer} in it",
                "f:14:61: decoders[2].mapping.apns-priority: expected 1, 5 or 10, found \"7\"",
                "f:14:73: decoders[2].mapping.apns-id: \"x\" \(constant)",
                "f:15:5: decoders[3]: expected one of \(sections.joined(separator: ", "))",
                "f:17:31: decoders[4].mapping.device-tokens: device-tokens[0]: "
                    + "expected an even number of hexadecimal digits, at most 1024",
            ])
    }

    @Test(
        "The defaults of a payload template must leave a JSON object",
        arguments: [
            ("1", "", true), ("null", #"a\"b"#, true), ("", "", false), ("none", "", false), ("1", #"a"b"#, false),
        ])
    func defaults(badge: String, title: String, fits: Bool) {
        let payload = "{\"aps\":{\"badge\":{/b|\(badge)},\"alert\":\"{/t|\(title)}\"}}"
        #expect(((try? MappingDecoder.payload(payload)) != nil) == fits)
    }
}

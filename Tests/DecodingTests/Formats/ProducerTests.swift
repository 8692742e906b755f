import Core
import TestSupport
import Testing

@testable import Commands
@testable import Decoding

/// What client libraries set by default, and how their messages are read.
@Suite("Messages of real clients")
struct ProducerTests {
    private static let token = DecoderSample.token
    private static let ok =
        #"{"device-token":"\#(token)","apns-topic":"com.example.app","payload":{"aps":{"alert":"Hello"}}}"#
    private static let payload = #"{"aps":{"alert":"Hello"}}"#

    /// A message after the steps that come before every decoder.
    private static func decode(_ sample: DecoderSample) throws -> Request {
        let decoder = try #require(try DecoderSample.set(sample.decoders)[sample.decoder])
        return try decoder.decode(try sample.delivery.readable(limit: 65536), at: DecoderSample.now).get()
    }

    private static func failure(_ sample: DecoderSample) throws -> DecodingFailure {
        try #require(throws: DecodingFailure.self) { try decode(sample) }
    }

    /// The defaults in the table of docs/produce/clients.md.
    struct Client: Sendable, CustomTestStringConvertible {
        let name: String
        var properties: [(String, String)] = []
        var headers: [(String, OneOffDelivery.HeaderValue)] = []
        var body = Array(ProducerTests.ok.utf8)

        var testDescription: String { name }

        static let all = [
            Client(name: "pika"), Client(name: "aio-pika"),
            Client(name: "kombu", properties: [("content-type", "application/json"), ("content-encoding", "utf-8")]),
            Client(name: "kombu", properties: [("content-type", "text/plain"), ("content-encoding", "utf-8")]),
            Client(name: "kombu", properties: [("content-type", "application/data"), ("content-encoding", "binary")]),
            Client(name: "Bunny", properties: [("content-type", "application/octet-stream")]),
            Client(name: "node amqplib"), Client(name: "php-amqplib"),
            Client(name: "php-amqplib", properties: [("content-type", "text/plain")]),
            Client(name: "amqp091-go"),
            Client(name: "Spring AMQP", properties: [("content-type", "text/plain"), ("content-encoding", "UTF-8")]),
            Client(
                name: "Spring AMQP",
                properties: [("content-type", "application/json"), ("content-encoding", "UTF-8")],
                headers: [("__TypeId__", .text("com.example.Push"))]),
            Client(
                name: "MassTransit", properties: [("content-type", "application/json")],
                headers: [("Content-Type", .text("application/json")), ("publishId", .text("1"))]),
            Client(name: "AMQP 1.0", properties: [("type", "amqp-1.0")], body: section(0xB1, ok)),
        ]

        /// A value section of AMQP 1.0.
        static func section(_ code: UInt8, _ text: String) -> [UInt8] {
            let count = text.utf8.count
            let length = code < 0xB0 ? [UInt8(count)] : [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
            return [0x00, 0x53, 0x77, code] + length + Array(text.utf8)
        }
    }

    @Test("What each client sets by default is read", arguments: Client.all)
    func defaults(client: Client) throws {
        let sample = DecoderSample(
            bytes: client.body, decoder: "auto", headers: client.headers, properties: client.properties)
        let request = try Self.decode(sample)
        #expect(request.count == 1 && request.refusals.isEmpty && request.hint == nil)
        #expect(request.notifications[0].pushType == .alert)
        let page = try DocumentationPage("produce/clients.md").text
        #expect(page.contains(client.name))
    }

    @Test("A byte order mark is skipped in both modes")
    func byteOrderMark() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        _ = try Self.decode(DecoderSample(bytes: mark + Array(Self.ok.utf8), decoder: "auto"))
        let header = DecoderSample(
            bytes: mark + Array(Self.payload.utf8), decoder: "auto", headers: [("device-token", .text(Self.token))])
        #expect(string(try Self.decode(header).notifications[0].payload) == Self.payload)
    }

    @Test(
        "A body that begins like another format is named",
        arguments: [
            ([0xFF, 0xFE], "UTF-16"), ([0x7B, 0], "UTF-16"), ([0, 0x7B], "UTF-16"), ([0xFF, 0xFE, 0, 0], "UTF-32"),
            ([0, 0, 0xFE, 0xFF], "UTF-32"), ([0, 0, 0, 0x7B], "UTF-32"), ([0x7B, 0, 0, 0], "UTF-32"),
            ([0x80, 2], "a pickle"), ([0x80, 3], "a pickle"), ([0x80, 4], "a pickle"), ([0x80, 5], "a pickle"),
            ([0x00, 0x53, 0x77, 0xC1, 3, 0], "an AMQP 1.0 value: send text or binary"),
        ] as [([UInt8], String)])
    func otherFormats(body: [UInt8], name: String) throws {
        let detail = try Self.failure(DecoderSample(bytes: body, decoder: "auto")).detail
        #expect(detail.hasPrefix("body: not JSON: ") && detail.contains("; it looks like \(name)"), "\(detail)")
    }

    @Test("Only a whole value section is unwrapped", arguments: [0xA0, 0xA1, 0xB0, 0xB1] as [UInt8])
    func valueSections(code: UInt8) throws {
        let small = #"{"device-token":"00","payload":{"aps":{"badge":1}}}"#
        let body = Client.section(code, small)
        let long = Client.section(code | 0x10, small + String(repeating: " ", count: 300))
        let full: [UInt8] = [0x00, 0x80, 0, 0, 0, 0, 0, 0, 0] + body.dropFirst(2)
        for body in [body, long, full] {
            let request = try Self.decode(DecoderSample(bytes: body, decoder: "apns-json"))
            #expect(request.notifications.map(\.hex) == ["00"])
        }
        let gzip = Compressor.gzip(Array(small.utf8))
        var section = Client.section(0xB0, "") + gzip
        section[7] = UInt8(gzip.count)
        let sample = DecoderSample(bytes: section, decoder: "apns-json", properties: [("content-encoding", "gzip")])
        #expect(try Self.decode(sample).notifications.map(\.hex) == ["00"])
        for damaged in [Array(body.dropLast()), body + [0x20], Array(body.prefix(4))] {
            _ = try Self.failure(DecoderSample(bytes: damaged, decoder: "apns-json"))
        }
    }

    @Test("Whole numbers may have a fraction of zero or an exponent", arguments: ["10.0", "1.0e1", "1E1", "10.00"])
    func wholeNumbers(number: String) throws {
        let json = #"{"device-token":"00","apns-priority":\#(number),"payload":\#(Self.payload)}"#
        #expect(try Self.decode(DecoderSample(json, decoder: "auto")).notifications[0].priority == .immediate)
        let header = DecoderSample(
            Self.payload, decoder: "auto", headers: [("device-token", .text("00")), ("apns-priority", .text(number))])
        #expect(try Self.decode(header).notifications[0].priority == .immediate)
    }

    @Test("Header names are matched without case, as is the push type")
    func letterCase() throws {
        let sample = DecoderSample(
            Self.payload, decoder: "auto",
            headers: [
                ("Device-Token", .text(Self.token)), ("Apns-Priority", .integer(5)), ("Apns-Collapse-Id", .text("c")),
                ("APNS-PUSH-TYPE", .text("Liveactivity")), ("Apns-Id", .text("123e4567-e89b-12d3-a456-426655440000")),
            ])
        let found = try Self.decode(sample).notifications[0]
        #expect(found.hex == Self.token && found.priority == .considerate && found.pushType == .liveactivity)
        #expect(found.id != nil && string(found.collapseID) == "c")
    }

    @Test("apns-request-id is an alias for broadcasts and channel operations")
    func requestID() throws {
        let id = "123e4567-e89b-12d3-a456-426655440000"
        for target in [#""apns-channel-id":"YQ==","payload":{"aps":{}}"#, #""channel":{"operation":"list"}"#] {
            let body = #"{"apns-request-id":"\#(id)",\#(target)}"#
            #expect(try Self.decode(DecoderSample(body, decoder: "auto")).notifications[0].id?.description == id)
            let wrong = #"{"apns-request-id":"\#(id)","apns-topic":7,\#(target)}"#
            let known = try Self.failure(DecoderSample(wrong, decoder: "auto")).known
            #expect(known?.id?.description == id && known?.target != nil)
        }
        let device = #"{"apns-request-id":"\#(id)","device-token":"00","payload":{"aps":{"badge":1}}}"#
        let request = try Self.decode(DecoderSample(device, decoder: "auto"))
        #expect(request.notifications[0].id == nil)
        #expect(request.hint == "apns-request-id: only for broadcasts and channel operations; use apns-id")
    }

    @Test(
        "A wrong channel operation is named with the nearest one, beside all else that is wrong",
        arguments: [
            (#"{"operation":"crate"}"#, "\"crate\" is not one of create, read, delete, list; did you mean \"create\"?"),
            (#"{"operation":1}"#, "1 is not one of create, read, delete, list"),
            ("{}", "missing, expected one of create, read, delete, list"),
        ])
    func channelOperations(channel: String, complaint: String) throws {
        let body = #"{"channel":\#(channel),"apns-id":"x"}"#
        #expect(
            try Self.failure(DecoderSample(body, decoder: "auto")).detail
                == "channel.operation: \(complaint); apns-id: its length is 1; expected a UUID as 8-4-4-4-12 "
                + "hexadecimal digits")
    }

    @Test("A pass is updated with an empty aps and a push type")
    func wallet() throws {
        let body =
            #"{"device-token":"00","apns-topic":"pass.com.example","apns-push-type":"alert","payload":{"aps":{}}}"#
        let notification = try Self.decode(DecoderSample(body, decoder: "auto")).notifications[0]
        #expect(string(notification.payload) == #"{"aps":{}}"#)
        #expect(PayloadCheck.findings(in: notification) == nil)
    }

    @Test(
        "A form in which a device token often arrives is named",
        arguments: [
            ("{length = 32, bytes = 0x965b251c 11111111 … 376eab7c }", "NSData"),
            ("<00fc13ad ff785122 b4ad2880>", "remove them"), ("0x00fc13ad", "begins with 0x"),
            ("APwTrf94USK0rSiAmjQgmCNBIkE0ITSAl4eP+FV8mZ4=", "base64"), ("00fc13a", "7 digits"),
            ("32 bytes", "description of Data"), ("[0, 252, 19, 173]", "an array of bytes"), ("<00 …>", "NSData"),
            ("00:fc:13:ad", "remove them"), (#"\"00fc13ad\""#, "remove them"), (#"00fc13ad\n"#, "remove them"),
            ("ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", "a token of Expo"), ("dGVz:APA91bHun4", "Firebase"),
            ("123e4567-e89b-12d3-a456-426655440000", "a UUID"), ("APwTrf94USK0rSiAmjQgmCNBIkE0ITSA", "base64"),
        ])
    func tokenForms(token: String, hint: String) throws {
        let body = #"{"device-token":"\#(token)","payload":{"aps":{"badge":1}}}"#
        let detail = try Self.failure(DecoderSample(body, decoder: "auto")).detail
        #expect(detail.contains(hint) && !detail.contains(token), "\(detail)")
    }

    @Test(
        "An unknown key that looks like a field is named with its correction",
        arguments: [
            ("apns-colapse-id", "apns-collapse-id"), ("apnsTopic", "apns-topic"), ("topic", "apns-topic"),
            ("priority", "apns-priority"), ("enviroment", "environment"), ("not_before", "not-before"),
            ("apns_token", "device-token"), ("bundleId", "apns-topic"), ("bundle_id", "apns-topic"),
            ("x-apns-priority", "apns-priority"), ("X-APNS-Topic", "apns-topic"), ("ttl", "apns-expiration"),
            ("expiry", "apns-expiration"), ("dvice-token", "device-token"), ("anps-topic", "apns-topic"),
            ("pns-topic", "apns-topic"), ("pyload", "payload"), ("evironment", "environment"),
            ("playload", "payload"), ("apns-payload", "payload"), ("apns-type", "apns-push-type"),
            ("apns-push", "apns-push-type"), ("apns-prio", "apns-priority"), ("apns-expiry", "apns-expiration"),
            ("apns-expire", "apns-expiration"), ("colapse-id", "apns-collapse-id"),
        ])
    func nearMisses(key: String, field: String) throws {
        let meaning = field == "apns-expiration" ? ", a time in seconds since 1970" : ""
        let hint = "\(key): not a field; did you mean \"\(field)\"\(meaning)?"
        let body = #"{"\#(key)":1,"device-token":"00","payload":{"aps":{"badge":1}}}"#
        #expect(try Self.decode(DecoderSample(body, decoder: "auto")).hint == hint)
        let header = DecoderSample(
            Self.payload, decoder: "auto", headers: [("device-token", .text("00")), (key, .text("1"))])
        #expect(try Self.decode(header).hint == hint)
    }

    @Test("Where a field is missing, the error names what looks like it")
    func missingFields() throws {
        let camel = try Self.failure(
            DecoderSample(#"{"deviceToken":"00","payload":{"aps":{"badge":1}}}"#, decoder: "auto"))
        #expect(camel.detail.hasPrefix("no target: "))
        #expect(camel.detail.hasSuffix("deviceToken: not a field; did you mean \"device-token\"?"))
        let aps = try Self.failure(DecoderSample(#"{"device-token":"00","aps":{"badge":1}}"#, decoder: "auto"))
        #expect(aps.detail == "payload: missing, expected a JSON object; aps: belongs in payload")
    }

    @Test("Four near misses are named, and the others counted")
    func manyNearMisses() throws {
        let keys = (1...5).map { #""apns-topic\#($0)":1,"# }.joined()
        let body = #"{\#(keys)"device-token":"00","payload":{"aps":{"badge":1}}}"#
        let hint = try #require(try Self.decode(DecoderSample(body, decoder: "auto")).hint)
        #expect(hint.split(separator: "did you mean").count == 5 && hint.hasSuffix("; and 1 more"))
    }

    @Test("Headers of frameworks are no near misses")
    func otherHeaders() throws {
        let names = [
            "traceparent", "x-death", "__TypeId__", "content-type", "correlation-id", "MT-Activity-Id", "b3",
            "deviceModel", "app_id", "payload-type", "channelName", "apns-app-id", "x-priority",
        ]
        let headers: [(String, OneOffDelivery.HeaderValue)] = names.map { ($0, .text("1")) }
        let sample = DecoderSample(Self.payload, decoder: "auto", headers: headers + [("device-token", .text("00"))])
        #expect(try Self.decode(sample).hint == nil)
    }

    @Test("A failure lists all that is wrong, and keeps what can be read")
    func knownFields() throws {
        let body = #"""
            {"device-token":"00aa","apns-topic":"com.example.app","environment":"development","apns-priority":7,
            "apns-collapse-id":"","payload":{"aps":{"badge":1}}}
            """#
        let failure = try Self.failure(DecoderSample(body, decoder: "auto"))
        #expect(
            failure.detail
                == "apns-priority: expected 1, 5 or 10, found 7; apns-collapse-id: 0 bytes, expected 1 to 64")
        for payload in ["{}", #"{"aps":{"badge":1}}"#] {
            let body =
                #"{"device-token":"00","apns-push-type":"alrt","apns-priority":7,"payload":\#(payload)}"#
            let detail = try Self.failure(DecoderSample(body, decoder: "auto")).detail
            #expect(detail.contains("\"alrt\" is not one of") && detail.hasSuffix("found 7"), "\(detail)")
        }
        let known = try #require(failure.known)
        #expect(known.target == DeviceToken("00aa").map { .device($0) })
        #expect(string(known.topic) == "com.example.app" && known.environment == .development)
        let fanOut =
            #"{"device-tokens":["00","x"],"apns-topic":"t","environment":"development","payload":{"aps":{"badge":1}}}"#
        let refusal = try #require(try Self.decode(DecoderSample(fanOut, decoder: "auto")).refusals.first)
        #expect(string(refusal.failure.known?.topic) == "t" && refusal.failure.known?.environment == .development)
    }

    @Test("Composed payloads have characters in place of escapes")
    func composed() throws {
        let sample = DecoderSample(
            #"{"t":"00","a":"\u00e9\u20ac\"","b":{"\u00e9":["\u00e9\n\r\t\u0001\\"]}}"#, decoder: "m",
            decoders: """
                  - name: m
                    mapping:
                      device-token: /t
                      payload: '{"aps":{"alert":"Hi {/a}"},"a":{/a},"b":{/b}}'
                """)
        #expect(
            string(try sample.notification().payload)
                == #"{"aps":{"alert":"Hi é€\""},"a":"é€\"","b":{"é":["é\n\r\t\u0001\\"]}}"#)
    }
}

import AMQP
import Commands
import Core
import Foundation
import TestSupport
import Testing

@testable import Decoding

private func delivery(
    _ body: [UInt8], contentType: String? = nil, headers: [(String, OneOffDelivery.HeaderValue)] = []
) -> Delivery {
    let properties = contentType.map { [("content-type", $0)] } ?? []
    return DecoderSample(bytes: body, decoder: "auto", headers: headers, properties: properties).delivery
}

private let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"

private let severalTargets = "device-token: expected only one of device-token, device-tokens and apns-channel-id"

/// An envelope with all required fields, with changes; `nil` leaves a key out.
private func envelope(_ changes: [(String, String?)] = []) -> String {
    var members = [
        ("device-token", "\"\(token)\""), ("apns-topic", "\"com.example.app\""), ("apns-push-type", "\"alert\""),
        ("payload", "{\"aps\":{\"alert\":\"Hello\"}}"),
    ]
    for (key, value) in changes {
        members.removeAll { $0.0 == key }
        if let value { members.append((key, value)) }
    }
    return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
}

private func request(_ decoder: any Core.Decoder, _ delivery: Delivery) throws -> Request {
    try decoder.decode(delivery, at: WallTime(milliseconds: 0)).get()
}

private func notification(_ body: String) throws -> Core.Notification {
    let request = try request(APNsJSONDecoder(), delivery(Array(body.utf8)))
    try #require(request.notifications.count == 1)
    return request.notifications[0]
}

/// The decoder's error for a body; empty if there is none.
private func complaint(_ body: some Collection<UInt8>) -> String {
    APNsJSONDecoder().decode(delivery(Array(body)), at: WallTime(milliseconds: 0)).failure?.detail ?? ""
}

@Suite("Decoders")
struct DecoderTests {
    @Suite("apns-json")
    struct JSON {
        @Test("Every envelope field reaches the notification, and the payload byte for byte")
        func everything() throws {
            let payload = "{ \"aps\" : {\"alert\":{\"title\":\"H\\u00e9llo\"}}, \"n\": 1.10e2 ,\"ü\":\"\u{1F407}\"\n}"
            let found = try notification(
                """
                {
                  "unknown": [1, {"payload": {}}, "x"], "device-token": "\(token.uppercased())",
                  "apns-topic": "com.example.app.voip", "apns-push-type": "voip",
                  "apns-id": "123E4567-e89b-12d3-a456-426655440000", "apns-priority": 5, "apns-expiration": 1795300000,
                  "apns-collapse-id": "score 42", "environment": "development",
                  "payload":\t\(payload)
                }

                """)
            #expect(found.target == .device(try #require(DeviceToken(token))))
            #expect(string(found.topic) == "com.example.app.voip" && found.pushType == .voip)
            #expect(found.id?.description == "123e4567-e89b-12d3-a456-426655440000")
            #expect(found.priority == .considerate && found.expiration == 1_795_300_000)
            #expect(string(found.collapseID) == "score 42" && found.environment == .development)
            #expect(string(found.payload) == payload)
        }

        @Test("Optional fields may be absent")
        func least() throws {
            let found = try notification("{\"device-token\":\"\(token)\",\"payload\":{\"aps\":{\"badge\":1}}}")
            #expect(found.topic == nil && found.id == nil && found.collapseID == nil && found.environment == nil)
            #expect(found.priority == nil && found.expiration == nil)
        }

        @Test("Slices point into the delivery's own memory")
        func slices() throws {
            let delivery = delivery(Array(envelope([("apns-collapse-id", "\"c\"")]).utf8))
            let found = try #require(try request(APNsJSONDecoder(), delivery).notifications.first)
            let storage = unsafe delivery.storage.withUnsafeBufferPointer { $0.baseAddress }
            for slice in [found.topic, found.collapseID, found.payload] {
                let slice = try #require(slice)
                let start = unsafe slice.withUnsafeBufferPointer { $0.baseAddress }
                let expected = unsafe storage.map { unsafe $0 + slice.startIndex }
                #expect(unsafe start == expected)
            }
        }

        @Test("Escapes in keys and values are decoded")
        func escapes() throws {
            let found = try notification(
                envelope([
                    ("apns\\u002dtopic", "\"com\\u002eexample\""), ("apns-topic", nil),
                    ("apns-collapse-id", "\"\\\"\\\\\\/\\u00fc\\ud83d\\ude00\""),
                ]))
            #expect(string(found.topic) == "com.example")
            #expect(string(found.collapseID) == "\"\\/ü😀")
            #expect(
                complaint(envelope([("apns-collapse-id", "\"\\ud83d\"")]).utf8)
                    == "apns-collapse-id: expected a string, found half of a surrogate pair")
        }

        @Test("The last of two equal keys is used and named, and null is the same as no key")
        func twiceAndNull() throws {
            let twice = "{\"payload\":3,\"apns-priority\":\"x\"," + envelope([("apns-priority", "10")]).dropFirst()
            #expect(try notification(twice).priority == .immediate)
            #expect(
                try request(APNsJSONDecoder(), delivery(Array(twice.utf8))).hint
                    == "payload: comes twice; the last one is used; apns-priority: comes twice; the last one is used")
            let null = envelope([("apns-priority", "null"), ("device-tokens", "null"), ("environment", "null")])
            #expect(try notification(null).priority == nil)
        }

        @Test("A fan-out gives one notification for each device token, in their order")
        func fanOut() throws {
            let tokens = (0..<500).map { String(format: "%064x", $0) }
            let list = "[ " + tokens.map { "\"\($0)\"" }.joined(separator: " , ") + "]"
            let body = envelope([("device-token", nil), ("device-tokens", list)])
            let found = try request(APNsJSONDecoder(), delivery(Array(body.utf8))).notifications
            #expect(found.map(\.target) == tokens.compactMap { DeviceToken($0).map { .device($0) } })
            #expect(found.allSatisfy { string($0.payload) == "{\"aps\":{\"alert\":\"Hello\"}}" })
        }

        @Test("A broadcast has the expiration and the priority that Apple requires")
        func broadcast() throws {
            let changes: [(String, String?)] = [
                ("device-token", nil), ("apns-channel-id", "\"dHN0LXNyY2gtY2hubA==\""),
                ("apns-push-type", "\"liveactivity\""),
            ]
            let found = try notification(envelope(changes))
            #expect(found.target == .channel(ArraySlice("dHN0LXNyY2gtY2hubA==".utf8)))
            #expect(found.expiration == 0 && found.priority == .immediate)
            let given = try notification(
                envelope(changes + [("apns-expiration", "1795300000"), ("apns-priority", "1")]))
            #expect(given.expiration == 1_795_300_000 && given.priority == .low)
            let findings = [found, given].map { PayloadCheck.findings(in: $0)?.detail.contains("apns-priority") }
            #expect(findings == [false, false])
        }

        @Test(
            "A body that is not JSON is refused with the offset and the expected token",
            arguments: [
                ("hello", "a value at byte 0"), ("{", "a key at byte 1"),
                ("{\"a\"", "a colon at byte 4"), ("{\"a\":", "a value at byte 5"),
                ("{\"a\":1", "a comma or the closing bracket at byte 6"),
                ("{\"a\":1]", "a comma or the closing bracket at byte 6"), ("{\"a\":1,}", "a key at byte 7"),
                ("{\"a\":[1,]}", "a value at byte 8"), ("{a:1}", "a key at byte 1"),
                ("{'a':1}", "a key at byte 1; it looks like Python's notation: use json.dumps"),
                ("{\"a\":01}", "a comma or the closing bracket at byte 6"), ("{\"a\":-}", "a digit at byte 6"),
                ("{\"a\":1.}", "a digit at byte 7"), ("{\"a\":1e+}", "a digit at byte 8"),
                ("{\"a\":nul}", "a value at byte 5"), ("{\"a\":\"\\x\"}", "an escape at byte 7"),
                ("{\"a\":\"\\u12g4\"}", "four hexadecimal digits at byte 10"),
                ("{} {}", "nothing after the value at byte 3"), ("\u{FEFF}{}", "a value at byte 0"),
            ])
        func notJSON(body: String, expectation: String) {
            #expect(complaint(body.utf8) == "body: not JSON: expected \(expectation)")
        }

        @Test("A body that is not an object, or has no payload, is refused")
        func noEnvelope() {
            #expect(complaint("".utf8) == "body: empty, expected JSON")
            #expect(complaint(" \"x\" ".utf8) == "body: expected a JSON object, found a string")
            #expect(complaint(envelope([("payload", "null")]).utf8) == "payload: missing, expected a JSON object")
            #expect(
                complaint(envelope([("payload", "\"{}\"")]).utf8) == "payload: expected a JSON object, found a string")
            #expect(
                complaint(envelope([("payload", "{ \n}")]).utf8) == "payload: expected at least one key, found none")
        }

        @Test("Brackets may be nested 64 deep and no deeper")
        func depth() {
            func body(_ levels: Int) -> String {
                let nested = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
                return envelope([("payload", "{\"aps\":{\"alert\":\"x\"},\"a\":\(nested)}")])
            }
            #expect(complaint(body(62).utf8) == "")
            #expect(
                complaint(body(63).utf8).hasPrefix("body: not JSON: expected at most 64 levels of brackets at byte "))
            #expect(
                complaint(String(repeating: "[", count: 200_000).utf8)
                    == "body: not JSON: expected at most 64 levels of brackets at byte 64")
        }

        @Test(
            "Invalid UTF-8 is refused",
            arguments: [
                [0x80], [0xC0, 0x80], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
                [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82], [0xFF],
            ] as [[UInt8]])
        func utf8(bytes: [UInt8]) {
            let body = Array("{\"payload\":{\"a\":\"".utf8) + bytes
            for end in ["\"}}", ""] {
                #expect(complaint(body + Array(end.utf8)) == "body: not JSON: expected UTF-8 at byte 17")
            }
        }

        private static let badFields = cases(
            #"""
            device-token: "<>" → expected an even number of hexadecimal digits, at most 1024
            device-token: "Expo\#(String(repeating: "A", count: 27))=" → \#
                expected an even number of hexadecimal digits, at most 1024
            device-token: "abc" → it has 3 digits; expected an even number of hexadecimal digits, at most 1024
            device-token: "" → it is empty or not a string; expected an even number of hexadecimal digits, at most 1024
            device-token: 17 → expected a string of hexadecimal digits, found a number
            device-token: [0,252] → \#
                expected a string of hexadecimal digits, found an array; device-tokens takes several, and digits \#
            stand for bytes
            apns-topic: 17 → expected 1 to 255 visible ASCII characters, found 17
            apns-topic: "" → expected 1 to 255 visible ASCII characters, found ""
            apns-topic: "a\r\nb" → expected 1 to 255 visible ASCII characters, found "a\r\nb"
            apns-push-type: "\#(String(repeating: "b", count: 40))" → \#
                "\#(String(repeating: "b", count: 40))" is not one of alert, background, complication, controls, \#
            fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets
            apns-push-type: 1 → \#
                1 is not one of alert, background, complication, controls, fileprovider, liveactivity, location, mdm, \#
            pushtotalk, voip, widgets
            apns-id: "APwTrf94USK0rSiAmjQgmCNBIkE0" → its length is 28; expected a UUID as 8-4-4-4-12 hexadecimal digits
            apns-id: "{123e4567-e89b-12d3-a456-426655440000}" → \#
                it has no hyphens, or something around it; expected a UUID as 8-4-4-4-12 hexadecimal digits
            apns-id: "Ej5FZ+ibEtOkVkJmVUQAAA==" → it looks like base64; expected a UUID as 8-4-4-4-12 hexadecimal digits
            apns-id: 5 → found 5; expected a UUID as 8-4-4-4-12 hexadecimal digits
            apns-priority: 3 → expected 1, 5 or 10, found 3
            apns-priority: 10.5 → expected 1, 5 or 10, found 10.5
            apns-priority: 1e300 → expected 1, 5 or 10, found 1e300
            apns-priority: "10" → expected 1, 5 or 10, found "10"
            apns-priority: 266 → expected 1, 5 or 10, found 266
            apns-priority: {"__type__":"","__value__":{"__type__":"","__value__":5}} → \#
            expected 1, 5 or 10, found an object
            apns-collapse-id: "\#(String(repeating: "c", count: 65))" → 65 bytes, expected 1 to 64
            apns-collapse-id: "" → 0 bytes, expected 1 to 64
            apns-collapse-id: "a\nb" → expected no control characters, and no space around it
            apns-collapse-id: true → expected a string, found a boolean
            environment: "sandbox" → "sandbox" is not one of production, development; did you mean "development"?
            environment: {} → an object is not one of production, development
            """#)

        @Test(
            "A field of a wrong type or out of range is refused with its name and what was expected",
            arguments: badFields)
        func fields(member: String, message: String) {
            let parts = member.split(separator: ":", maxSplits: 1)
            #expect(complaint(envelope([(String(parts[0]), String(parts[1]))]).utf8) == "\(parts[0]): \(message)")
        }

        @Test(
            "A request has one target",
            arguments: [
                ("device-token", nil, "no target: expected device-token, device-tokens or apns-channel-id"),
                ("device-tokens", #"["ab"]"#, severalTargets), ("apns-channel-id", #""ab""#, severalTargets),
            ] as [(String, String?, String)])
        func target(key: String, value: String?, message: String) {
            #expect(complaint(envelope([(key, value)]).utf8) == message)
        }

        @Test(
            "A time is in seconds, and the error names what it looks like",
            arguments: [
                ("1.5", "", ", found 1.5"), ("-1", "", ", found -1"), (#""1""#, "", #", found "1", a string"#),
                (#""0""#, "", #", found "0", a string"#),
                (#""2026-11-26T10:00:00Z""#, "", ", found a date in ISO 8601, which is 1795687200"),
                ("99999999999999999999", "", ", found 99999999999999999999"),
                ("100000000000", "100000000000 looks like milliseconds; ", ""),
                ("99999999999999", "99999999999999 looks like milliseconds; ", ", such as 99999999999"),
                ("100000000000000", "100000000000000 looks like microseconds; ", ""),
                ("99999999999999999", "99999999999999999 looks like microseconds; ", ", such as 99999999999"),
                ("100000000000000000", "100000000000000000 looks like nanoseconds; ", ""),
                ("1764003600000000000", "1764003600000000000 looks like nanoseconds; ", ", such as 1764003600"),
                ("1e0", "1 looks like a duration; ", ": add it to the time of publishing"),
                ("999999999", "999999999 looks like a duration; ", ": add it to the time of publishing"),
            ])
        func times(value: String, form: String, example: String) {
            let expected = "expected seconds since 1970 (UTC) as an integer"
            for key in ["apns-expiration", "not-before"] {
                #expect(complaint(envelope([(key, value)]).utf8) == "\(key): \(form)\(expected)\(example)")
            }
        }

        @Test(
            "A fan-out is an array of 1 to 500 device tokens",
            arguments: [
                ("[]", "device-tokens: 0 tokens, expected 1 to 500"),
                ("\"ab\"", "device-tokens: expected an array, found a string"),
                (
                    "[" + Array(repeating: "\"ab\"", count: 501).joined(separator: ",") + "]",
                    "device-tokens: 501 tokens, expected 1 to 500"
                ),
            ])
        func badFanOut(value: String, message: String) {
            #expect(complaint(envelope([("device-token", nil), ("device-tokens", value)]).utf8) == message)
        }

        @Test("A malformed device token of a fan-out affects only itself, and the others keep their positions")
        func malformedTokens() throws {
            let id = "123e4567-e89b-12d3-a456-426655440000"
            let values = #"["ab",1,"x",{"a":[]},"cd","",null,"ef",["ab"]]"#
            let body = envelope([("device-token", nil), ("device-tokens", values), ("apns-id", "\"\(id)\"")])
            let found = try request(APNsJSONDecoder(), delivery(Array(body.utf8)))
            #expect(found.notifications.map(\.hex) == ["ab", "cd", "ef"])
            #expect(found.refusals.map(\.position) == [1, 2, 3, 5, 6, 8] && found.count == 9)
            #expect(found.failure("").known?.lacksTopic == false)
            for refusal in found.refusals {
                #expect(refusal.failure.detail.hasPrefix("device-tokens[\(refusal.position)]: "))
                #expect(refusal.failure.detail.hasSuffix("expected an even number of hexadecimal digits, at most 1024"))
                #expect(refusal.failure.known?.id == NotificationID(id))
            }
        }

        @Test("A fan-out without a valid device token still has one notification for each, unless more is wrong")
        func onlyMalformedTokens() throws {
            let fields = [("device-token", nil), ("apns-topic", nil), ("device-tokens", #"["x",2]"#)]
            let found = try request(APNsJSONDecoder(), delivery(Array(envelope(fields).utf8)))
            #expect(found.notifications.isEmpty && found.refusals.map(\.position) == [0, 1])
            #expect(found.refusals.allSatisfy { $0.failure.known?.lacksTopic == true })
            #expect(
                complaint(envelope(fields + [("apns-priority", "3")]).utf8)
                    == "apns-priority: expected 1, 5 or 10, found 3; device-tokens[0]: expected an even number of "
                    + "hexadecimal digits, at most 1024; device-tokens[1]: it is empty or not a string; expected an "
                    + "even number of hexadecimal digits, at most 1024")
            func suffix(_ bad: String) -> Substring {
                let many = [("device-token", nil), ("device-tokens", "[\"ab\",\(bad)]"), ("apns-priority", "3")]
                return complaint(envelope(many).utf8).suffix(35)
            }
            #expect(suffix("1,2,3,4,5") == "024; device-tokens: 5 are not valid")
            #expect(suffix("1,2,3,4") == " of hexadecimal digits, at most 1024".suffix(35))
        }

        @Test("A broadcast is a Live Activity to a channel")
        func badBroadcast() {
            let channel: [(String, String?)] = [("device-token", nil), ("apns-channel-id", "\"YQ==\"")]
            #expect(complaint(envelope(channel + [("apns-push-type", nil)]).utf8) == "")
            #expect(
                complaint(envelope(channel + [("apns-push-type", "\"alert\"")]).utf8)
                    == "apns-push-type: expected liveactivity for a broadcast, found alert")
            for bad in ["\"a b\"", "\"\"", "7", "\"\(String(repeating: "a", count: 257))\""] {
                #expect(
                    complaint(envelope([("device-token", nil), ("apns-channel-id", bad)]).utf8)
                        == "apns-channel-id: expected base64, at most 256 characters")
            }
        }

        @Test(
            "A payload of 4096 bytes is the largest, 5120 for voip and broadcasts",
            arguments: [
                ("alert", "device-token", 4096), ("background", "device-token", 4096), ("voip", "device-token", 5120),
                ("liveactivity", "device-token", 4096), ("liveactivity", "apns-channel-id", 5120),
            ])
        func size(type: String, target: String, limit: Int) {
            func body(_ size: Int) -> String {
                let frame = "{\"aps\":{\"alert\":\"\"}}".utf8.count
                let payload = "{\"aps\":{\"alert\":\"\(String(repeating: "x", count: size - frame))\"}}"
                return envelope([
                    ("device-token", nil), (target, "\"abcd\""), ("apns-push-type", "\"\(type)\""),
                    ("payload", payload),
                ])
            }
            let whom = target == "device-token" ? type : "a broadcast"
            #expect(complaint(body(limit).utf8) == "")
            #expect(
                complaint(body(limit + 1).utf8)
                    == "payload: \(limit + 1) bytes, expected at most \(limit) for \(whom)")
        }

        @Test("A payload too large for any push type is an error even if the type is not known")
        func sizeForAny() {
            let message = "; payload: 5121 bytes, expected at most 5120 for any push type"
            for (size, isNamed) in [(5120, false), (5121, true)] {
                let payload = "{\"a\":\"\(String(repeating: "x", count: size - 8))\"}"
                for type in [nil, "\"alarm\""] {
                    let found = complaint(envelope([("apns-push-type", type), ("payload", payload)]).utf8)
                    #expect(found.hasSuffix(message) == isNamed && found.hasPrefix("apns-push-type: "))
                }
            }
        }

        @Test(
            "The push type is derived from the payload where it is unambiguous",
            arguments: [
                ("{\"aps\":{\"alert\":\"x\"}}", "alert"), ("{\"aps\":{\"badge\":0}}", "alert"),
                ("{\"aps\":{\"sound\":\"x\",\"content-available\":1}}", "alert"),
                ("{\"a\":{\"aps\":1},\"aps\":{\"content-available\":1}}", "background"),
                ("{\"aps\":{\"content-available\": 1 ,\"alert\":null},\"x\":1}", "background"),
                ("{\"\\u0061ps\":{\"content-available\":1}}", "background"),
                ("{\"aps\":{\"event\":\"update\",\"content-state\":{}}}", "liveactivity"),
                ("{\"aps\":{\"event\":\"update\",\"content-state\":{},\"alert\":{}}}", "liveactivity"),
                ("{\"aps\":{\"alert\":\"x\"},\"aps\":{\"content-available\":1}}", "background"),
                ("{\"aps\":{}}", nil), ("{\"aps\":{\"content-available\":0}}", nil), ("{\"alert\":\"x\"}", nil),
                ("{\"aps\":{\"event\":\"end\",\"alert\":{}}}", "liveactivity"), ("{\"aps\":[{\"alert\":\"x\"}]}", nil),
                ("{\"aps\":{\"content-available\":true}}", nil), ("{\"mdm\":\"x\"}", nil),
            ] as [(String, String?)])
        func inference(payload: String, type: String?) throws {
            let body = envelope([("apns-push-type", nil), ("payload", payload)])
            if let type {
                #expect(try notification(body).pushType.description == type)
            } else {
                #expect(complaint(body.utf8).hasPrefix("apns-push-type: missing, and aps does not determine it: "))
            }
        }

        @Test(
            "A topic is certainly missing only if the request and its environment could be read",
            arguments: [
                ("{}", true), (#"{"environment":"production"}"#, true), (#"{"environment":"sandbox"}"#, false),
                (#"{"apns-topic":"t"}"#, false), (#"{"apns-topic":7}"#, false), ("{", false),
            ])
        func lacksTopic(body: String, isCertain: Bool) {
            let json = APNsJSONDecoder().decode(delivery(Array(body.utf8)), at: WallTime(milliseconds: 0)).failure
            #expect(json?.known?.lacksTopic == isCertain)
        }

        @Test("A topic may be in a part that was not read: in headers, or in a whole request as the body")
        func topicElsewhere() {
            let headers = delivery(
                Array(#"{"aps":{"alert":"x"}}"#.utf8),
                headers: [("apns-topic", .text("com.example.app")), ("devicetoken", .text("00aa"))])
            #expect(AutoDecoder().decode(headers, at: DecoderSample.now).failure?.known?.lacksTopic == false)
            let whole = delivery(Array(envelope().utf8), contentType: "application/vnd.apple.apns+json")
            #expect(AutoDecoder().decode(whole, at: DecoderSample.now).failure?.known?.lacksTopic == false)
        }

        @Test("A Live Activity without a target may be as large as a broadcast")
        func sizeWithoutTarget() {
            let payload = #"{"aps":{"event":"end","timestamp":1,"a":"\#(String(repeating: "x", count: 4500))"}}"#
            let body = envelope([("device-token", nil), ("apns-push-type", nil), ("payload", payload)])
            let found = complaint(body.utf8)
            #expect(found.contains("no target") && !found.contains("bytes"))
        }

        @Test("A background notification has priority 5, and any other is an error")
        func background() throws {
            let body = envelope([("apns-push-type", "\"background\"")])
            #expect(try notification(body).priority == .considerate)
            for other in ["10", "1"] {
                let body = envelope([("apns-push-type", "\"background\""), ("apns-priority", other)])
                #expect(complaint(body.utf8) == "apns-priority: expected 5 for background, found \(other)")
            }
        }

        @Test("No message contains a device token or a payload")
        func discretion() throws {
            let secret = "feedfacecafe"
            for body in [
                envelope([("device-token", "\"\(secret)x\"")]), envelope([("payload", "\"\(secret)\"")]),
                envelope([("apns-id", "\"\(secret)\"")]), "{\"device-token\":\"\(secret)",
            ] {
                let message = complaint(body.utf8)
                #expect(!message.isEmpty && !message.contains(secret))
            }
            let body = envelope([("device-token", nil), ("device-tokens", "[\"\(secret)z\"]")])
            let refusals = try request(APNsJSONDecoder(), delivery(Array(body.utf8))).refusals
            #expect(refusals.map { $0.failure.detail.contains(secret) } == [false])
        }
    }

    @Suite("apns-headers")
    struct Headers {
        private let body = Array("{\"aps\":{\"alert\":\"Hello\"}}\n".utf8)

        private func complaint(_ headers: [(String, OneOffDelivery.HeaderValue)], body: String? = nil) -> String {
            let delivery = delivery(body.map { Array($0.utf8) } ?? self.body, headers: headers)
            return APNsHeadersDecoder().decode(delivery, at: WallTime(milliseconds: 0)).failure?.detail ?? ""
        }

        @Test("Every header reaches the notification, and the whole body is the payload")
        func everything() throws {
            let headers = [
                ("x-other", OneOffDelivery.HeaderValue.boolean(true)), ("device-token", .text(token)),
                ("apns-topic", .text("com.example.app")), ("apns-push-type", .text("alert")),
                ("apns-id", .text("123e4567-e89b-12d3-a456-426655440000")), ("apns-priority", .integer(10)),
                ("apns-expiration", .integer(0)), ("apns-collapse-id", .text("c")),
                ("environment", .text("production")),
            ]
            let found = try #require(
                try request(APNsHeadersDecoder(), delivery(body, headers: headers)).notifications.first)
            #expect(found.target == .device(try #require(DeviceToken(token))))
            #expect(string(found.topic) == "com.example.app" && found.pushType == .alert)
            #expect(found.id?.description == "123e4567-e89b-12d3-a456-426655440000")
            #expect(found.priority == .immediate && found.expiration == 0)
            #expect(string(found.collapseID) == "c" && found.environment == .production)
            #expect(Array(found.payload) == body)
        }

        @Test("Numbers may be digits, and the last of two headers counts and is named")
        func digits() throws {
            let headers = [
                ("device-token", OneOffDelivery.HeaderValue.text(token)), ("apns-priority", .text("7")),
                ("apns-priority", .text("5")), ("apns-expiration", .text("1795300000")),
            ]
            let found = try request(APNsHeadersDecoder(), delivery(body, headers: headers))
            #expect(found.notifications.map(\.priority) == [.considerate])
            #expect(found.notifications.map(\.expiration) == [1_795_300_000])
            #expect(found.hint == "apns-priority: comes twice; the last one is used")
        }

        @Test("not-before is an integer, digits, or a JSON key", arguments: [Int64(0), 1_000_000_000, 99_999_999_999])
        func notBefore(time: Int64) throws {
            for value in [OneOffDelivery.HeaderValue.integer(time), .text("\(time)")] {
                let headers = [("device-token", .text(token)), ("not-before", value)]
                #expect(try request(APNsHeadersDecoder(), delivery(body, headers: headers)).notBefore == time)
            }
            let json = Array(envelope([("not-before", "\(time)")]).utf8)
            #expect(try request(APNsJSONDecoder(), delivery(json)).notBefore == time)
            #expect(
                complaint([("device-token", .text(token)), ("not-before", .text("soon"))])
                    == "not-before: expected seconds since 1970 (UTC) as an integer, found \"soon\"")
        }

        @Test("Several device tokens are separated by commas in one header")
        func fanOut() throws {
            let found = try request(
                APNsHeadersDecoder(), delivery(body, headers: [("device-tokens", .text("ab, cd,ef"))]))
            #expect(found.notifications.map(\.hex) == ["ab", "cd", "ef"])
            let gap = try request(APNsHeadersDecoder(), delivery(body, headers: [("device-tokens", .text("ab,,cd"))]))
            #expect(gap.notifications.count == 2)
            #expect(
                gap.refusals.map(\.failure.detail)
                    == [
                        "device-tokens[1]: it is empty or not a string; expected an even number of "
                            + "hexadecimal digits, at most 1024"
                    ])
            #expect(
                complaint([("device-tokens", .boolean(true))])
                    == "device-tokens: expected an array of texts, or a text with commas between the tokens")
        }

        @Test("Errors name the header")
        func complaints() throws {
            let target = ("device-token", OneOffDelivery.HeaderValue.text(token))
            for (value, found) in [
                (FieldValue.double(5), nil), (.double(5.5), "5.5"), (.void, "a decimal, a table, an array or nothing"),
            ] {
                let delivery = try DeadLetterSamples.delivery(
                    ["device-token": .string(token), "apns-priority": value], body: #"{"aps":{"badge":1}}"#)
                let failure = APNsHeadersDecoder().decode(delivery, at: WallTime(milliseconds: 0)).failure
                #expect(failure?.detail == found.map { "apns-priority: expected 1, 5 or 10, found \($0)" })
            }
            #expect(
                complaint([target, ("apns-expiration", .text(""))])
                    == "apns-expiration: expected seconds since 1970 (UTC) as an integer, found \"\"")
            #expect(
                complaint([target, ("apns-topic", .boolean(true))])
                    == "apns-topic: expected 1 to 255 visible ASCII characters, found a boolean")
            #expect(complaint([target], body: "") == "payload: empty, expected JSON")
            #expect(complaint([target], body: "{") == "payload: not JSON: expected a key at byte 1")
            #expect(complaint([target], body: " {} ") == "payload: expected at least one key, found none")
            for (text, lacksTopic) in [("{", false), (#"{"aps":{"badge":1}}"#, true)] {
                let wrong = delivery(Array(text.utf8), headers: [target, ("apns-priority", .integer(7))])
                let failure = APNsHeadersDecoder().decode(wrong, at: WallTime(milliseconds: 0)).failure
                #expect(failure?.known?.lacksTopic == lacksTopic)
            }
        }
    }

    @Suite("auto")
    struct Auto {
        private let headers = [
            ("device-token", OneOffDelivery.HeaderValue.text(token)), ("apns-push-type", .text("background")),
        ]
        /// A payload of the app's own, with the key of an envelope.
        private let payload = Array("{\"payload\":{\"x\":1}}".utf8)

        @Test(
            "The content type decides, without its parameters and in any case",
            arguments: [
                "application/json", "Application/JSON; charset=utf-8", "application/vnd.harebell.request+json",
                "application/json ;x=y",
            ])
        func json(contentType: String) throws {
            let found = try request(AutoDecoder(), delivery(Array(envelope().utf8), contentType: contentType))
            #expect(found.notifications[0].pushType == .alert)
        }

        @Test("Headers count, but with JSON's content type a whole envelope counts more, and a payload does not")
        func envelopeBesideHeaders() throws {
            let whole = Array(envelope().utf8)
            for (body, contentType, pushType) in [
                (whole, "Application/JSON", .alert), (payload, "application/json", .background),
                (Array(#"{"device-token":"00"}"#.utf8), "application/json", .background),
                (whole, nil, .background), (whole, "application/vnd.harebell.request+json", .alert),
                (payload, "application/vnd.apple.apns+json", .background),
            ] as [([UInt8], String?, PushType)] {
                let found = try request(AutoDecoder(), delivery(body, contentType: contentType, headers: headers))
                #expect(found.notifications[0].pushType == pushType, "\(contentType ?? "none")")
            }
        }

        @Test("A header beside an envelope is named if it is nearly right, or a field that the envelope lacks")
        func ignoredHeaders() throws {
            let headers = [
                ("Environment", OneOffDelivery.HeaderValue.text("x")), ("apns-topic", .text("t")),
                ("apns-colapse-id", .text("x")), ("traceparent", .text("0")), ("channel", .text("x")),
                ("apns-request-id", .text("x")),
            ]
            let ignored = "environment: a header has no effect on a request in JSON; write it in the body"
            let hint = "apns-colapse-id: not a field; did you mean \"apns-collapse-id\"?"
            for type in ["", "application/vnd.harebell.request+json"] {
                let body = envelope([("environment", "null"), ("device-token", nil), ("device-tokens", "[\"00\"]")])
                let target = type.isEmpty ? [] : [("device-token", OneOffDelivery.HeaderValue.text("00"))]
                let found = delivery(Array(body.utf8), contentType: type, headers: headers + target)
                #expect(try request(AutoDecoder(), found).hint == "\(ignored); \(hint)")
                for body in ["{}", "{\"aps\":{}}", "[", "[]", "{\"channel\":{}}", "{\"apns-channel-id\":\"YQ==\"}"] {
                    let bad = delivery(Array(body.utf8), contentType: type, headers: headers)
                    let detail = AutoDecoder().decode(bad, at: WallTime(milliseconds: 0)).failure?.detail ?? ""
                    #expect(detail.hasSuffix("; \(hint)") && !detail.contains(ignored))
                }
            }
        }

        @Test("A content type is named where the payload is missing")
        func missingPayload() {
            let body = Array("{\"device-token\":\"\(token)\"}".utf8)
            let failure = AutoDecoder().decode(
                delivery(body, contentType: "text/plain"), at: WallTime(milliseconds: 0)
            ).failure
            #expect(failure?.detail.hasSuffix("content-type: \"text/plain\", expected application/json") == true)
        }

        @Test(
            "A content type that clients set for every message says nothing: headers and body decide",
            arguments: [
                "application/octet-stream", "text/plain", "text/plain; charset=UTF-8", "text/json",
                "application/x-json", "application/problem+json", "binary/octet-stream", "nonsense", "/xml", "",
            ])
        func anyType(contentType: String) throws {
            let json = try request(AutoDecoder(), delivery(Array(envelope().utf8), contentType: contentType))
            #expect(json.notifications[0].pushType == .alert)
            let header = try request(AutoDecoder(), delivery(payload, contentType: contentType, headers: headers))
            #expect(header.notifications[0].pushType == .background)
            guard !contentType.isEmpty else { return }
            for (place, headers) in [("body", []), ("payload", headers)] {
                let failure = AutoDecoder().decode(
                    delivery([0x5B, 0x5D], contentType: contentType, headers: headers), at: WallTime(milliseconds: 0)
                ).failure
                #expect(
                    failure?.detail == "\(place): expected a JSON object, found an array; content-type: "
                        + "\"\(contentType)\", expected application/json")
            }
        }

        @Test(
            "The content type of another known format is refused and named",
            arguments: [
                "application/x-python-serialize", "application/msgpack", "application/x-yaml", "text/xml",
                "application/soap+xml", "application/x-protobuf", "image/png", "application/vnd.masstransit+json",
            ])
        func foreign(contentType: String) {
            let body = delivery(Array(envelope().utf8), contentType: contentType)
            let failure = AutoDecoder().decode(body, at: WallTime(milliseconds: 0)).failure
            #expect(failure?.detail == "content-type: \"\(contentType)\" is another format, expected application/json")
        }
    }

    @Suite("JSON scanner against a grammar")
    struct Fuzz {
        @Test("The scanner accepts a mutated body if the grammar does, and extracts the same payload as Foundation")
        func mutations() throws {
            let seed = Mutator.seed(.random(in: 0 ... .max))
            var mutator = Mutator(
                seed: seed,
                fragments: ["{", "}", "[", "]", "\"", ",", ":", "\\u", "null", "1e5", "\n", "aé", "0"].map {
                    Array($0.utf8)
                })
            let originals = [
                envelope([
                    ("payload", "{\"aps\":{\"alert\":\"H\\u00e9\\n\",\"badge\":-1.5e+3},\"é😀\":[true,false,null,[]]}")
                ]),
                envelope([("device-tokens", "[\"ab\", \"cd\"]"), ("apns-priority", "10")]),
                "{\"payload\":{\"a\":[1,2,{\"b\":[[]]}]} , \"x\":\"\\\\\\\"\\/\"}",
            ]
            var accepted = 0
            let inputs = Mutator.inputs(20_000)
            for _ in 0..<inputs {
                var body = Array(originals[Int.random(in: 0..<originals.count, using: &mutator.random)].utf8)
                mutator.damage(&body)
                let isJSON = Grammar.accepts(body)
                let payload = try? scan(body)
                let shown = String(decoding: body, as: UTF8.self)
                guard isJSON == (payload != nil) else {
                    Issue.record("seed \(seed): the grammar says \(isJSON), the scanner not: \(shown)")
                    return
                }
                guard let payload else { continue }
                accepted += 1
                // Foundation accepts no lone surrogate and no number beyond its range.
                guard let range = payload.range,
                    let whole = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any],
                    let expected = whole["payload"]
                else { continue }
                let found = try JSONSerialization.jsonObject(with: Data(body[range]), options: .fragmentsAllowed)
                if payload.isUnique {
                    #expect((found as? NSObject) == (expected as? NSObject), "seed \(seed): \(shown)")
                }
            }
            #expect(accepted > inputs / 50, "seed \(seed): enough of the mutations are JSON still")
        }

        /// The payload's range, and whether no other key has its name.
        private func scan(_ body: [UInt8]) throws -> (range: Range<Int>?, isUnique: Bool) {
            var scanner = JSONScanner()
            var range: Range<Int>?
            var isUnique = true
            let bytes = body.span
            if scanner.open(bytes, "{") {
                while let key = try scanner.nextKey(bytes) {
                    let value = try scanner.value(bytes, depth: 1)
                    guard body[...].text(of: key)?.equals("payload") == true else { continue }
                    isUnique = range == nil
                    let isString = value.kind == .string
                    range = isString ? value.range.lowerBound - 1..<value.range.upperBound + 1 : value.range
                }
            } else {
                _ = try scanner.value(bytes, depth: 0)
            }
            try scanner.end(bytes)
            return (range, isUnique)
        }
    }
}

/// The grammar of RFC 8259, rule by rule and by recursion, over characters instead of bytes.
private struct Grammar {
    private var rest: Substring.UnicodeScalarView

    static func accepts(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        var grammar = Grammar(rest: Substring(text).unicodeScalars)
        return grammar.element() && grammar.rest.isEmpty
    }

    private mutating func element() -> Bool {
        space()
        guard value() else { return false }
        space()
        return true
    }

    private mutating func value() -> Bool {
        switch rest.first {
        case "{": return list("{", "}") { $0.member() }
        case "[": return list("[", "]") { $0.element() }
        case "\"": return string()
        case "t": return "true".unicodeScalars.allSatisfy { take($0) }
        case "f": return "false".unicodeScalars.allSatisfy { take($0) }
        case "n": return "null".unicodeScalars.allSatisfy { take($0) }
        default: return number()
        }
    }

    private mutating func list(
        _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ item: (inout Grammar) -> Bool
    ) -> Bool {
        guard take(open) else { return false }
        space()
        if take(close) { return true }
        repeat {
            guard item(&self) else { return false }
        } while take(",")
        return take(close)
    }

    private mutating func member() -> Bool {
        space()
        guard string() else { return false }
        space()
        return take(":") && element()
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let scalar = rest.popFirst() {
            if scalar == "\"" { return true }
            if scalar.value < 0x20 { return false }
            guard scalar == "\\" else { continue }
            guard let escape = rest.popFirst() else { return false }
            if escape == "u" {
                let digits = rest.prefix(4)
                guard digits.count == 4, digits.allSatisfy({ $0.properties.isASCIIHexDigit }) else { return false }
                rest.removeFirst(4)
            } else if !"\"\\/bfnrt".unicodeScalars.contains(escape) {
                return false
            }
        }
        return false
    }

    private mutating func number() -> Bool {
        _ = take("-")
        if !take("0") { guard digits() else { return false } }
        if take(".") { guard digits() else { return false } }
        guard take("e") || take("E") else { return true }
        if !take("+") { _ = take("-") }
        return digits()
    }

    private mutating func digits() -> Bool {
        let digits = rest.prefix { ("0"..."9").contains($0) }
        rest.removeFirst(digits.count)
        return !digits.isEmpty
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard rest.first == scalar else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func space() {
        while let first = rest.first, first == " " || first == "\n" || first == "\t" || first == "\r" {
            rest.removeFirst()
        }
    }
}

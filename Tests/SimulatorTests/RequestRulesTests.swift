import HTTP2
import TestSupport
import Testing

@testable import Simulator

@Suite("The rules of a notification")
struct RequestRulesTests {
    /// The response to a request, without regard to its provider token.
    func response(
        _ headers: [HTTP2Header], _ body: [UInt8] = Samples.payload, topics: [String]? = nil, keyTopics: [String] = []
    ) -> SimulatedResponse? {
        refusal(headers, body, topics: topics, keyTopics: keyTopics)?.withoutCause
    }

    /// Likewise, with its cause.
    private func refusal(
        _ headers: [HTTP2Header], _ body: [UInt8] = Samples.payload, topics: [String]? = nil, keyTopics: [String] = []
    ) -> SimulatedResponse? {
        var rules = RequestRules()
        rules.topics = topics?.map { Array($0.utf8) }
        rules.keyTopics = keyTopics.map { Array($0.utf8) }
        let fields = RequestHeaders(headers)
        return SimulatedResponse.thrown { () throws(SimulatedResponse) in
            guard case .device(let token) = try RequestTarget(fields) else {
                throw SimulatedResponse(599, "not a device's path")
            }
            try rules.check(device: token, fields, body: body)
        }
    }

    @Test("Apple's sample request is accepted")
    func sample() {
        #expect(response(Samples.headers()) == nil)
        #expect(
            response(
                Samples.headers(["apns-id": nil, "apns-expiration": nil, "apns-priority": nil, "apns-push-type": nil]))
                == nil)
    }

    @Test(
        "Every invalid header is refused with Apple's status and reason, and a cause that names it",
        arguments: [
            (":method", "GET", 405, "MethodNotAllowed", nil),
            (":method", "PUT", 405, "MethodNotAllowed", #"the method is "PUT", not POST"#),
            (":path", "/3/devices/00ff", 404, "BadPath", "the path is none of /3/device/TOKEN"),
            (":path", "/", 404, "BadPath", nil), (":path", "/2/device/00ff", 404, "BadPath", nil),
            (":path", "/3/device/00ff/00ff", 404, "BadPath", nil),
            (":path", "/4/broadcasts/apps/", 404, "BadPath", nil),
            (":path", "/3/device/", 400, "MissingDeviceToken", nil),
            (":path", "/3/device", 400, "MissingDeviceToken", nil),
            (
                ":path", "/3/device/00f", 400, "BadDeviceToken",
                "the device token is not an even number of hexadecimal digits"
            ),
            (":path", "/3/device/slow", 400, "BadDeviceToken", nil),
            (":path", "/3/device/00ff?a=b", 400, "BadDeviceToken", nil),
            ("apns-id", "123E4567-e89b-12d3-a456-426655440000", 400, "BadMessageId", nil),
            (
                "apns-id", "123e4567e89b12d3a456426655440000", 400, "BadMessageId",
                #"apns-id is "123e4567e89b12d3a456426655440000", not a UUID in lower case"#
            ),
            ("apns-id", "", 400, "BadMessageId", nil),
            (
                "apns-expiration", "tomorrow", 400, "BadExpirationDate",
                #"apns-expiration is "tomorrow", not seconds since 1970"#
            ),
            ("apns-expiration", "-1", 400, "BadExpirationDate", nil),
            ("apns-expiration", "1.5", 400, "BadExpirationDate", nil),
            ("apns-expiration", "", 400, "BadExpirationDate", nil),
            ("apns-priority", "7", 400, "BadPriority", #"apns-priority is "7"; allowed: 10, 5, 1"#),
            ("apns-priority", "010", 400, "BadPriority", nil), ("apns-priority", "", 400, "BadPriority", nil),
            ("apns-push-type", "Alert", 400, "InvalidPushType", nil),
            ("apns-push-type", "silent", 400, "InvalidPushType", #"apns-push-type is "silent", not one of Apple's"#),
            ("apns-push-type", "", 400, "InvalidPushType", nil),
            ("apns-push-type", "background", 400, "BadPriority", #"apns-priority is "10"; allowed: 5"#),
            ("apns-topic", "", 400, "MissingTopic", nil), ("apns-topic", "com example", 400, "BadTopic", nil),
            ("apns-topic", "com..example", 400, "BadTopic", nil), ("apns-topic", "com.example.", 400, "BadTopic", nil),
            (
                "apns-topic", "com.example.MyApp.voip", 400, "BadTopic",
                #"apns-topic is "com.example.MyApp.voip", which has the suffix"#
            ),
            (
                "apns-push-type", "voip", 400, "BadTopic",
                #"apns-topic is "com.example.MyApp"; a topic of voip ends with .voip"#
            ),
            (
                "apns-collapse-id", String(repeating: "x", count: 65), 400, "BadCollapseId",
                "apns-collapse-id has 65 bytes; at most 64"
            ),
        ] as [(String, String, Int, String, String?)])
    func brokenHeader(name: String, value: String, status: Int, reason: String, cause: String?) throws {
        let found = try #require(refusal(Samples.headers([name: value])))
        #expect(found.withoutCause == SimulatedResponse(UInt16(status), reason))
        if let cause { #expect(found.cause?.hasPrefix(cause) == true, "\(found)") }
    }

    @Test("Provider tokens require a topic")
    func missingTopic() {
        let found = refusal(Samples.headers(["apns-topic": nil]))
        #expect(found?.withoutCause == SimulatedResponse(400, "MissingTopic"))
        #expect(found?.cause == "apns-topic is missing")
    }

    @Test(
        "Apple's permitted limits are accepted",
        arguments: [
            ("apns-collapse-id", String(repeating: "x", count: 64)), ("apns-priority", "1"), ("apns-priority", "5"),
            ("apns-expiration", "1795219200"), ("apns-expiration", "1"), ("apns-unknown", "ignored"),
            (":path", "/3/device/00FF"), (":path", "/3/device/" + String(repeating: "ab", count: 100)),
        ])
    func edges(name: String, value: String) {
        #expect(response(Samples.headers([name: value])) == nil)
    }

    @Test(
        "Each push type requires its own suffix and no other",
        arguments: [
            ("alert", ""), ("background", ""), ("complication", ".complication"),
            ("controls", ".push-type.controls"), ("fileprovider", ".pushkit.fileprovider"),
            ("liveactivity", ".push-type.liveactivity"), ("location", ".location-query"), ("pushtotalk", ".voip-ptt"),
            ("voip", ".voip"), ("widgets", ".push-type.widgets"),
        ])
    func suffixes(type: String, suffix: String) {
        func response(_ topic: String) -> SimulatedResponse? {
            self.response(Samples.headers(["apns-push-type": type, "apns-topic": topic, "apns-priority": "5"]))
        }
        #expect(response("com.example.MyApp" + suffix) == nil)
        let wrong = suffix == ".voip" ? ".complication" : ".voip"
        #expect(response("com.example.MyApp" + wrong) == SimulatedResponse(400, "BadTopic"))
        if !suffix.isEmpty {
            #expect(response("com.example.MyApp") == SimulatedResponse(400, "BadTopic"))
            #expect(response(suffix) == SimulatedResponse(400, "BadTopic"))
        }
    }

    @Test("An MDM topic is the UID of an MDM certificate")
    func mdm() {
        func response(_ topic: String) -> SimulatedResponse? {
            self.response(Samples.headers(["apns-push-type": "mdm", "apns-topic": topic]))
        }
        #expect(response("com.apple.mgmt.External.0f1e2d3c") == nil)
        #expect(response("com.example.MyApp") == SimulatedResponse(400, "BadTopic"))
    }

    @Test("Background is always priority 5", arguments: [("10", false), ("5", true), ("1", false)])
    func background(priority: String, isGood: Bool) {
        let headers = Samples.headers(["apns-push-type": "background", "apns-priority": priority])
        #expect(response(headers) == (isGood ? nil : SimulatedResponse(400, "BadPriority")))
    }

    @Test("A bundle ID may end like a suffix if the service or the key knows it")
    func suffixedBundleID() {
        let known = ["com.example.MyApp.voip"]
        let alert = Samples.headers(["apns-topic": "com.example.MyApp.voip"])
        #expect(response(alert) == SimulatedResponse(400, "BadTopic"))
        #expect(response(alert, topics: known) == nil)
        #expect(response(alert, keyTopics: known) == nil)
        let unstated = Samples.headers(["apns-topic": "com.example.MyApp.voip", "apns-push-type": nil])
        #expect(response(unstated, topics: known) == nil)
        let call = Samples.headers(["apns-topic": "com.example.MyApp.voip.voip", "apns-push-type": "voip"])
        #expect(response(call, topics: known) == nil)
        let plain = Samples.headers(["apns-topic": "com.example.MyApp.voip", "apns-push-type": "voip"])
        #expect(response(plain, topics: known) == SimulatedResponse(400, "TopicDisallowed"))
    }

    @Test(
        "A repeated header is refused, an unknown one may repeat",
        arguments: ["apns-id", "apns-topic", "apns-priority", "apns-expiration", "apns-push-type", "authorization"])
    func repeatedHeader(name: String) {
        let headers = Samples.headers()
        let twin = headers.filter { $0.nameText == name }
        #expect(response(headers + twin) == SimulatedResponse(400, "DuplicateHeaders"))
        #expect(response(headers + [HTTP2Header("x", "1"), HTTP2Header("x", "2")]) == nil)
    }

    @Test("A payload has its limit by push type")
    func payloadSize() {
        func body(_ count: Int) -> [UInt8] {
            let frame = "{\"aps\":{\"alert\":\"\"}}".utf8.count
            return Array("{\"aps\":{\"alert\":\"\(String(repeating: "x", count: count - frame))\"}}".utf8)
        }
        let voip = Samples.headers(["apns-push-type": "voip", "apns-topic": "com.example.MyApp.voip"])
        let unstated = Samples.headers(["apns-push-type": nil, "apns-topic": "com.example.MyApp.voip"])
        #expect(response(Samples.headers(), []) == SimulatedResponse(400, "PayloadEmpty"))
        #expect(response(Samples.headers(), body(4096)) == nil)
        #expect(response(Samples.headers(), body(4097)) == SimulatedResponse(413, "PayloadTooLarge"))
        #expect(response(voip, body(5120)) == nil)
        #expect(response(voip, body(5121)) == SimulatedResponse(413, "PayloadTooLarge"))
        #expect(response(unstated, body(5120)) == nil)
    }

    @Test("A payload is a JSON object, with aps where the type has one")
    func payloadForm() {
        for bad in ["[]", "{\"aps\":1}", "{}", "{\"aps\":{}", "hello", "\u{1F}\u{8B}", "{\"aps\":{}} x"] {
            #expect(response(Samples.headers(), Array(bad.utf8)) == SimulatedResponse(400, "PayloadEmpty"), "\(bad)")
        }
        let large = "{\"aps\":\"\(String(repeating: "x", count: 4096))\"}"
        for (payload, cause) in [
            ("", "there is no payload"), ("[]", "the payload is not a JSON object"),
            ("{\"a\":1}", "the payload has no aps dictionary"),
            (large, "the payload has 4106 bytes; at most 4096 are allowed"),
        ] {
            #expect(refusal(Samples.headers(), Array(payload.utf8))?.cause == cause)
        }
        let mdm = Samples.headers(["apns-push-type": "mdm", "apns-topic": "com.apple.mgmt.External.0"])
        #expect(response(mdm, Array("{\"mdm\":\"magic\"}".utf8)) == nil)
    }

    @Test("Priority 10 with content-available alone is an error where no push type is stated")
    func silentUrgent() {
        let body = Array("{\"aps\":{\"content-available\":1},\"x\":2}".utf8)
        #expect(response(Samples.headers(["apns-push-type": nil]), body) == SimulatedResponse(400, "BadPriority"))
        #expect(response(Samples.headers(["apns-push-type": nil, "apns-priority": "5"]), body) == nil)
        #expect(response(Samples.headers(["apns-push-type": nil, "apns-priority": nil]), body) == nil)
    }

    @Test("Topics are limited by the service and the key")
    func topics() {
        let known = ["com.example.Other"]
        let disallowed = SimulatedResponse(400, "TopicDisallowed")
        #expect(response(Samples.headers(), topics: known) == disallowed)
        #expect(response(Samples.headers(["apns-topic": "com.example.Other"]), topics: known) == nil)
        #expect(response(Samples.headers(), keyTopics: ["com.example.Other"]) == disallowed)
        #expect(response(Samples.headers(), keyTopics: ["com.example.MyApp"]) == nil)
    }
}

import Core
import TestSupport
import Testing

@testable import Decoding

private func findings(_ payload: String, _ type: PushType = .alert, isBroadcast: Bool = false) -> [String] {
    PayloadCheck.findings(in: ArraySlice(payload.utf8), for: type, isBroadcast: isBroadcast).texts
}

private func brackets(_ levels: Int) -> String {
    String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
}

/// The push type, the payload, and its finding.
private let rules = cases(
    #"""
    // aps
    alert {"custom":1} → payload.aps: missing, expected an object for push type alert
    widgets {"custom":1} → payload.aps: missing, expected an object for push type widgets
    alert {"aps":[]} → payload.aps: expected an object, found an array
    voip {"aps":null} → payload.aps: expected an object, found null
    alert {"aps":{}} → payload.aps: expected alert, badge or sound for push type alert
    alert {"aps":{"content-available":1}} → payload.aps: expected alert, badge or sound for push type alert
    // Duplicate keys
    alert {"aps":{"badge":1},"aps":{"badge":1}} → payload.aps: comes twice
    alert {"aps":{"badge":1,"b\u0061dge":1}} → payload.aps.badge: comes twice
    alert {"aps":{"alert":{"body":"a","title":"t","body":"b"}}} → payload.aps.alert.body: comes twice
    // Unknown keys
    alert {"aps":{"badge":1,"order-id":{"aps":1}}} → \#
        payload.aps.order-id: not a key of Apple's; move custom keys out of aps, where APNs ignores them
    alert {"aps":{"badge":1,"mutable_content":1}} → \#
        payload.aps.mutable_content: not a key of Apple's; did you mean "mutable-content"?
    alert {"aps":{"alert":{"titel":\#(brackets(61))}}} → \#
        payload.aps.alert.titel: not a key of Apple's; did you mean "title"?
    alert {"aps":{"badge":1,"Bob said \"hi\"":1}} → \#
        payload.aps[…]: not a key of Apple's; move custom keys out of aps, where APNs ignores them
    alert {"aps":{"badge":1,"\#(String(repeating: "a", count: 41))":1}} → \#
        payload.aps[…]: not a key of Apple's; move custom keys out of aps, where APNs ignores them
    alert {"aps":{"badge":1},"ü":{"":{"\#(String(repeating: "k", count: 40))":null}}} → \#
        payload[…][…].\#(String(repeating: "k", count: 40)): expected an object, an array, a string, a number or a \#
    boolean, found null
    alert {"aps":{"alert":"x"},"a":\#(brackets(64))} → \#
        payload: not JSON: expected at most 64 levels of brackets at byte 88
    alert {"aps":{"alert":{"loc-args":[\#(brackets(60))]}}} → \#
        payload.aps.alert.loc-args[0]: expected a string, found an array
    // Background
    background {"aps":{}} → payload.aps.content-available: missing, expected the number 1 for push type background
    background {"aps":{"content-available":1,"alert":"x"}} → \#
        payload.aps.alert: not for push type background (for all but background)
    // Live Activities
    alert {"aps":{"alert":"x","event":"update"}} → payload.aps.event: not for push type alert (for liveactivity)
    liveactivity {"aps":{"timestamp":1}} → \#
        payload.aps.event: missing, expected start, update or end for push type liveactivity
    liveactivity {"aps":{"event":"end"}} → \#
        payload.aps.timestamp: missing, expected a number of seconds since 1970 for push type liveactivity
    liveactivity {"aps":{"event":"update","timestamp":1}} → \#
        payload.aps.content-state: missing, expected an object for event update
    liveactivity {"aps":{"timestamp":1,"attributes-type":"A","attributes":{},"event":"start","alert":"x"}} → \#
        payload.aps.content-state: missing, expected an object for event start
    liveactivity {"aps":{"timestamp":1,"content-state":{},"attributes":{},"event":"start","alert":"x"}} → \#
        payload.aps.attributes-type: missing, expected a string for event start
    liveactivity {"aps":{"timestamp":1,"content-state":{},"attributes-type":"A","event":"start","alert":"x"}} → \#
        payload.aps.attributes: missing, expected an object for event start
    liveactivity {"aps":{"timestamp":1,"content-state":{},"attributes-type":"A","attributes":{},"event":"start"}} → \#
        payload.aps.alert: missing, expected an object or a string for event start
    // Nothing to show
    liveactivity {"aps":{"timestamp":1,"content-state":{},"attributes-type":"A","attributes":{},"event":"start",\#
    "alert":{}}} → payload.aps.alert: empty, expected an object or a string for event start
    // Keys of another place
    alert {"aps":{"badge":1,"title":"x"}} → payload.aps.title: belongs in payload.aps.alert
    alert {"aps":{"alert":{"body":"x","mutable_content":1}}} → \#
        payload.aps.alert.mutable_content: belongs in payload.aps as mutable-content
    alert {"aps":{"badge":1},"mutable_content":1} → payload.mutable_content: belongs in aps as mutable-content
    // Values of Python
    alert {"aps":{"badge":1},"\#(String(repeating: "k", count: 40))":[{"__type__":"uuid","__value__":"1"}]} → \#
        payload.\#(String(repeating: "k", count: 40))[0]: kombu wrote a value of Python here, which the device \#
    would receive; convert it to text or a number
    // Nulls below the first level
    alert {"aps":{"alert":{"title":"x","subtitle":null}}} → payload.aps.alert.subtitle: expected a string, found null
    alert {"aps":{"badge":1},"list":[1,{"b":[2,null]}]} → \#
        payload.list[1].b[1]: expected an object, an array, a string, a number or a boolean, found null
    liveactivity {"aps":{"timestamp":1,"event":"update","content-state":{"a":null}}} → \#
        payload.aps.content-state.a: expected an object, an array, a string, a number or a boolean, found null
    // Former keys
    alert {"aps":{"alert":"x","url-args":[]}} → payload.aps.url-args: no longer in Apple's tables
    alert {"aps":{"alert":{"body":"x","action-loc-key":"y"}}} → \#
        payload.aps.alert.action-loc-key: no longer in Apple's tables
    // Not JSON: a third-party decoder may pass it through.
    alert → payload: not JSON: expected a value at byte 0
    alert {"aps":{"alert":"x"} → payload: not JSON: expected a comma or the closing bracket at byte 20
    alert {"aps":{"alert":"x"}}x → payload: not JSON: expected nothing after the value at byte 21
    alert {"aps":{"alert":"x"},"a":{}}_ → payload: not JSON: expected nothing after the value at byte 28
    alert [1] → payload: expected an object, found an array
    """#)

@Suite("Payload check")
struct PayloadCheckTests {
    @Test("Apple's own examples and common payloads pass", arguments: PayloadSample.apple + PayloadSample.common)
    func samples(sample: PayloadSample) {
        #expect(findings(sample.text, sample.type, isBroadcast: sample.isBroadcast) == [])
    }

    @Test("Each rule for the whole payload has its finding", arguments: rules)
    func rule(pushed: String, finding: String) throws {
        let name = pushed.prefix { $0 != " " }
        let type = try #require(PushType.allCases.first { $0.description == name })
        #expect(findings(String(pushed.dropFirst(name.count + 1)), type) == [finding])
    }

    @Test(
        "A null or a value of Python is found even if the same key has another finding",
        arguments: [
            (#"{"aps":{"alert":"x","content-state":{"a":null}}}"#, ".content-state.a"),
            (#"{"aps":{"alert":"x","event":null}}"#, ".event"),
            (#"{"aps":{"alert":{"loc-args":[[null]]}}}"#, ".alert.loc-args[0][0]"),
            (#"{"aps":{"alert":{"loc-args":[{"__type__":"uuid","__value__":"1"}]}}}"#, ".alert.loc-args[0]"),
            (#"{"aps":{"alert":{"__type__":"uuid","__value__":"1"}}}"#, ".alert"),
            (#"{"aps":{"sound":{"__type__":"uuid","__value__":"1"}}}"#, ".sound"),
        ])
    func hidden(payload: String, path: String) {
        let complaint =
            payload.contains("null")
            ? "expected an object, an array, a string, a number or a boolean, found null" : KombuValue.complaint
        #expect(findings(payload).contains("payload.aps\(path): \(complaint)"))
    }

    @Test("A broadcast does not start a Live Activity, a push to a device does")
    func broadcastStart() throws {
        let start =
            #"{"aps":{"timestamp":1,"content-state":{},"attributes-type":"A","attributes":{},"event":"start","#
            + #""alert":"x"}}"#
        #expect(findings(start, .liveactivity) == [])
        #expect(
            findings(start, .liveactivity, isBroadcast: true) == [
                "payload.aps.event: expected update or end; a broadcast cannot start a Live Activity"
            ])
        let low = Notification.Content(pushType: .liveactivity, priority: .low, payload: ArraySlice(start.utf8))
        let device = Notification(target: .device(try #require(DeviceToken(hex: ArraySlice("00".utf8)))), low)
        #expect(PayloadCheck.findings(in: device)?.detail.hasPrefix("apns-priority: expected 10 or 5") == true)
        #expect(PayloadCheck.findings(in: Notification(target: .channel([]), low))?.count == 1, "its start only")
    }

    @Test("The first four findings are kept, the others counted")
    func many() {
        let text = "{\"aps\":{\"badge\":\"1\",\"category\":1,\"thread-id\":1,\"a\":1,\"b\":1}}"
        let found = PayloadCheck.findings(in: ArraySlice(text.utf8), for: .alert, isBroadcast: false)
        #expect(found.count == 5 && found.texts.count == PayloadFindings.maximumKept)
        #expect(found.detail.hasPrefix("payload.aps.badge: expected a number, found a string; payload.aps.category: "))
        #expect(found.detail.hasSuffix("; and 1 more"))
        #expect(findings(#"{"aps":{"badge":{"__type__":"decimal","__value__":"1"}}}"#).count == 2, "of Python")
        #expect(findings(#"{"aps":{"timestamp":1,"event":"end","event":"x"}}"#, .liveactivity).count == 2, "twice")
    }

    @Test("No finding shows a value")
    func discretion() {
        let secret = "feedfacecafe"
        for value in [
            "\"\(secret)\"", "{\"\(secret)\(String(repeating: "0", count: 40))\":\"\(secret)\"}", "[\"\(secret)\"]",
        ] {
            for name in Set(PayloadTable.aps.keys.map(\.name.description)) {
                for type in PushType.allCases {
                    let text = "{\"aps\":{\"\(name)\":\(value)}}"
                    #expect(!findings(text, type).joined().contains(secret))
                }
            }
        }
    }

    @Test("Damaged payloads are scanned to their end")
    func mutations() {
        let seed = Mutator.seed(20_260_921)
        var mutator = Mutator(
            seed: seed,
            fragments: ["{", "}", "[", "]", "\"", ",", ":", "\\u", "null", "1e5", "\n", "aé"].map { Array($0.utf8) } + [
                [0x80]
            ])
        let samples = PayloadSample.apple + PayloadSample.common
        for _ in 0..<Mutator.inputs(20_000) {
            guard let sample = samples.randomElement(using: &mutator.random) else { return }
            var bytes = Array(sample.text.utf8)
            mutator.damage(&bytes)
            // A slice that does not begin at 0, as in a delivery.
            let padding = Int.random(in: 0...8, using: &mutator.random)
            let slice = ([UInt8](repeating: 0x20, count: padding) + bytes)[padding...]
            let type = PushType.allCases.randomElement(using: &mutator.random) ?? .alert
            let found = PayloadCheck.findings(in: slice, for: type, isBroadcast: sample.isBroadcast)
            #expect(found.texts.count == min(found.count, PayloadFindings.maximumKept), "seed \(seed)")
        }
    }
}

import Core
import TestSupport
import Testing

@testable import Decoding

private func findings(_ payload: String, _ type: PushType = .alert, isBroadcast: Bool = false) -> [String] {
    PayloadCheck.findings(in: ArraySlice(payload.utf8), for: type, isBroadcast: isBroadcast).texts
}

@Suite("Payload check")
struct PayloadCheckTests {
    @Test("Apple's own examples and common payloads pass", arguments: PayloadSample.apple + PayloadSample.common)
    func samples(sample: PayloadSample) {
        #expect(findings(sample.text, sample.type, isBroadcast: sample.isBroadcast) == [])
    }

    @Test(
        "Each rule for the whole payload has its finding",
        arguments: [
            // aps
            (#"{"custom":1}"#, .alert, "payload.aps: missing, expected an object for push type alert"),
            (#"{"custom":1}"#, .widgets, "payload.aps: missing, expected an object for push type widgets"),
            (#"{"aps":[]}"#, .alert, "payload.aps: expected an object, found an array"),
            (#"{"aps":null}"#, .voip, "payload.aps: expected an object, found null"),
            (#"{"aps":{}}"#, .alert, "payload.aps: expected alert, badge or sound for push type alert"),
            (
                #"{"aps":{"content-available":1}}"#, .alert,
                "payload.aps: expected alert, badge or sound for push type alert"
            ),
            // Duplicate keys
            (#"{"aps":{"badge":1},"aps":{"badge":1}}"#, .alert, "payload.aps: comes twice"),
            (#"{"aps":{"badge":1,"b\u0061dge":1}}"#, .alert, "payload.aps.badge: comes twice"),
            (#"{"aps":{"alert":{"body":"a","title":"t","body":"b"}}}"#, .alert, "payload.aps.alert.body: comes twice"),
            // Unknown keys
            (
                #"{"aps":{"badge":1,"order-id":{"aps":1}}}"#, .alert,
                "payload.aps.order-id: not a key of Apple's; move custom keys out of aps, where APNs ignores them"
            ),
            (
                #"{"aps":{"badge":1,"mutable_content":1}}"#, .alert,
                #"payload.aps.mutable_content: not a key of Apple's; did you mean "mutable-content"?"#
            ),
            (
                #"{"aps":{"alert":{"titel":"x"}}}"#, .alert,
                #"payload.aps.alert.titel: not a key of Apple's; did you mean "title"?"#
            ),
            (
                #"{"aps":{"badge":1,"Bob said \"hi\"":1}}"#, .alert,
                "payload.aps[…]: not a key of Apple's; move custom keys out of aps, where APNs ignores them"
            ),
            (
                "{\"aps\":{\"badge\":1,\"\(String(repeating: "a", count: 41))\":1}}", .alert,
                "payload.aps[…]: not a key of Apple's; move custom keys out of aps, where APNs ignores them"
            ),
            (
                #"{"aps":{"badge":1},"custom":null}"#, .alert,
                "payload.custom: expected an object, an array, a string, a number or a boolean, found null"
            ),
            // Background
            (
                #"{"aps":{}}"#, .background,
                "payload.aps.content-available: missing, expected the number 1 for push type background"
            ),
            (
                #"{"aps":{"content-available":1,"alert":"x"}}"#, .background,
                "payload.aps.alert: not for push type background (for all but background)"
            ),
            // Live Activities
            (
                #"{"aps":{"alert":"x","event":"update"}}"#, .alert,
                "payload.aps.event: not for push type alert (for liveactivity)"
            ),
            (
                #"{"aps":{"timestamp":1}}"#, .liveactivity,
                "payload.aps.event: missing, expected start, update or end for push type liveactivity"
            ),
            (
                #"{"aps":{"event":"end"}}"#, .liveactivity,
                "payload.aps.timestamp: missing, expected a number of seconds since 1970 for push type liveactivity"
            ),
            (
                #"{"aps":{"event":"update","timestamp":1}}"#, .liveactivity,
                "payload.aps.content-state: missing, expected an object for event update"
            ),
            (
                #"{"aps":{"timestamp":1,"attributes-type":"A","attributes":{},"event":"start","#
                    + #""alert":"x"}}"#, .liveactivity,
                "payload.aps.content-state: missing, expected an object for event start"
            ),
            (
                #"{"aps":{"timestamp":1,"content-state":{},"attributes":{},"event":"start","#
                    + #""alert":"x"}}"#, .liveactivity,
                "payload.aps.attributes-type: missing, expected a string for event start"
            ),
            (
                #"{"aps":{"timestamp":1,"content-state":{},"attributes-type":"A","event":"start","#
                    + #""alert":"x"}}"#, .liveactivity,
                "payload.aps.attributes: missing, expected an object for event start"
            ),
            (
                #"{"aps":{"timestamp":1,"content-state":{},"attributes-type":"A","attributes":{},"#
                    + #""event":"start"}}"#, .liveactivity,
                "payload.aps.alert: missing, expected an object or a string for event start"
            ),
            // Nothing to show
            (
                #"{"aps":{"timestamp":1,"content-state":{},"attributes-type":"A","attributes":{},"#
                    + #""event":"start","alert":{}}}"#, .liveactivity,
                "payload.aps.alert: empty, expected an object or a string for event start"
            ),
            // Keys of another place
            (#"{"aps":{"badge":1,"title":"x"}}"#, .alert, "payload.aps.title: belongs in payload.aps.alert"),
            (
                #"{"aps":{"alert":{"body":"x","mutable_content":1}}}"#, .alert,
                "payload.aps.alert.mutable_content: belongs in payload.aps as mutable-content"
            ),
            (
                #"{"aps":{"badge":1},"mutable_content":1}"#, .alert,
                "payload.mutable_content: belongs in aps as mutable-content"
            ),
            // Values of Python
            (
                #"{"aps":{"badge":1},"at":[{"__type__":"uuid","__value__":"1"}]}"#, .alert,
                "payload.at[0]: kombu wrote a value of Python here, which the device would receive; convert it to "
                    + "text or a number"
            ),
            // Nulls below the first level
            (
                #"{"aps":{"alert":{"title":"x","subtitle":null}}}"#, .alert,
                "payload.aps.alert.subtitle: expected a string, found null"
            ),
            (
                #"{"aps":{"badge":1},"extra":{"a":null}}"#, .alert,
                "payload.extra.a: expected an object, an array, a string, a number or a boolean, found null"
            ),
            (
                #"{"aps":{"badge":1},"list":[1,{"b":[2,null]}]}"#, .alert,
                "payload.list[1].b[1]: expected an object, an array, a string, a number or a boolean, found null"
            ),
            (
                #"{"aps":{"timestamp":1,"event":"update","content-state":{"a":null}}}"#, .liveactivity,
                "payload.aps.content-state.a: expected an object, an array, a string, a number or a boolean, found null"
            ),
            // Former keys
            (#"{"aps":{"alert":"x","url-args":[]}}"#, .alert, "payload.aps.url-args: no longer in Apple's tables"),
            (
                #"{"aps":{"alert":{"body":"x","action-loc-key":"y"}}}"#, .alert,
                "payload.aps.alert.action-loc-key: no longer in Apple's tables"
            ),
            // Not JSON: a third-party decoder may pass it through.
            ("", .alert, "payload: not JSON: expected a value at byte 0"),
            (#"{"aps":{"alert":"x"}"#, .alert, "payload: not JSON: expected a comma or the closing bracket at byte 20"),
            (#"{"aps":{"alert":"x"}}x"#, .alert, "payload: not JSON: expected nothing after the value at byte 21"),
            (
                #"{"aps":{"alert":"x"},"a":{}}_"#, .alert,
                "payload: not JSON: expected nothing after the value at byte 28"
            ),
            ("[1]", .alert, "payload: expected an object, found an array"),
        ] as [(String, PushType, String)])
    func rule(payload: String, type: PushType, finding: String) {
        #expect(findings(payload, type) == [finding])
    }

    @Test("A broadcast does not start a Live Activity, a push to a device does")
    func broadcastStart() {
        let start =
            #"{"aps":{"timestamp":1,"content-state":{},"attributes-type":"A","attributes":{},"event":"start","#
            + #""alert":"x"}}"#
        #expect(findings(start, .liveactivity) == [])
        #expect(
            findings(start, .liveactivity, isBroadcast: true) == [
                "payload.aps.event: expected update or end; a broadcast cannot start a Live Activity"
            ])
    }

    @Test("The first four findings are kept, the others counted")
    func many() {
        let text = "{\"aps\":{\"badge\":\"1\",\"category\":1,\"thread-id\":1,\"a\":1,\"b\":1,\"c\":1}}"
        let found = PayloadCheck.findings(in: ArraySlice(text.utf8), for: .alert, isBroadcast: false)
        #expect(found.count == 6)
        #expect(found.texts.count == PayloadFindings.maximumKept)
        #expect(found.detail.hasPrefix("payload.aps.badge: expected a number, found a string; payload.aps.category: "))
        #expect(found.detail.hasSuffix("; and 2 more"))
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

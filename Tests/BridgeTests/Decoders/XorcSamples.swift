import Core
import SwiftProtobuf
import XorcMessages

@testable import Bridge

/// Push requests of the xorc events.
enum XorcSamples {
    static let token = DecoderSample.token

    /// What `protoc --encode=notification.PushNotification` makes, by the messages' own files, of
    ///
    ///     header {
    ///       context { key: "traceparent" value: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" }
    ///       context { key: "tenant" value: "shop" }
    ///       correlation_id: "123e4567-e89b-12d3-a456-426655440000"
    ///       type: "notification.PushNotification"
    ///     }
    ///     device_token: "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    ///     universe: "shop"
    ///     apple {
    ///       headers { apns_expiration: 1795300000 apns_priority: 10 apns_topic: "com.example.app" }
    ///       badge: 3
    ///       sound: "ping.aiff"
    ///       category: "ORDER"
    ///       localized {
    ///         title: "On its way" body: "Order \"4711\"" title_loc_key: "T" title_loc_args: "a" action_loc_key: "A"
    ///         loc_key: "L" loc_args: "b" loc_args: "c" launch_image: "i.png" mutable_content: true
    ///       }
    ///       custom_data { key: "order" body: "{\"id\": 4711.0}" }
    ///     }
    static let localized = bytes(
        """
        0a9d0112460a0b7472616365706172656e74123730302d34626639326633353737623334646136613363653932396430653065343733362d
        303066303637616130626139303262372d3031120e0a0674656e616e74120473686f701a2431323365343536372d653839622d313264332d
        613435362d343236363535343430303030221d6e6f74696669636174696f6e2e507573684e6f74696669636174696f6e1240303066633133
        6164666637383531323262346164323838303961333432303938323334313234313432313334383039373837386535373763393931646538
        66301a0473686f70327f0a1920a0b588d806280a320f636f6d2e6578616d706c652e61707010031a0970696e672e6169666622054f524445
        522a350a0a4f6e2069747320776179120c4f72646572202234373131221a01542201612a014132014c3a01623a01634205692e706e674801
        42170a056f72646572120e7b226964223a20343731312e307d
        """)

    /// Likewise of
    ///
    ///     header { type: "notification.PushNotification" correlation_id: "job-1" }
    ///     device_token: "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    ///     universe: "shop"
    ///     apple { plain: "Hello" badge: 0 }
    static let plain = bytes(
        """
        0a261a056a6f622d31221d6e6f74696669636174696f6e2e507573684e6f74696669636174696f6e12403030666331336164666637383531
        32326234616432383830396133343230393832333431323431343231333438303937383738653537376339393164653866301a0473686f70
        32091000320548656c6c6f
        """)

    /// Likewise of
    ///
    ///     header { type: "notification.PushNotification" }
    ///     device_token: "x"
    ///     universe: "shop"
    ///     google { registration_ids: "x" priority: High message { data { key: "a" value: "b" } } }
    static let google = bytes(
        """
        0a1f221d6e6f74696669636174696f6e2e507573684e6f74696669636174696f6e1201781a0473686f703a0f0a017818024a080a060a0161
        120162
        """)

    /// What `protoc --encode=notification.PushResult` makes of the header of ``localized`` and `UnsubscribeEntity`.
    static let unsubscribe = bytes(
        """
        0ab901129d01120e0a0674656e616e74120473686f7012460a0b7472616365706172656e74123730302d3462663932663335373762333464
        6136613363653932396430653065343733362d303066303637616130626139303262372d30311a2431323365343536372d653839622d3132
        64332d613435362d343236363535343430303030221d6e6f74696669636174696f6e2e507573684e6f74696669636174696f6e22176e6f74
        696669636174696f6e2e50757368526573756c741001
        """)

    static func bytes(_ hex: String) -> [UInt8] {
        var digits = hex.utf8.compactMap(\.hexDigit)[...]
        var bytes: [UInt8] = []
        while let high = digits.popFirst(), let low = digits.popFirst() { bytes.append(high << 4 | low) }
        return bytes
    }

    /// - Parameter text: what follows header, device token and universe, in the text format of Protocol Buffers.
    static func push(_ text: String) -> String {
        #"header { type: "notification.PushNotification" } device_token: "\#(token)" universe: "shop" \#(text)"#
    }

    /// Where requests name their apps.
    static let universes = """
          - name: x
            xorc:
              universes:
                - { name: shop, apns-topic: com.example.shop, environment: development }
                - { name: bank, apns-topic: com.example.bank }
        """
}

extension DecoderSample {
    /// - Parameter text: the request in the text format of Protocol Buffers.
    init(
        xorc text: String, decoder: String = "xorc", decoders: String = "",
        headers: [(String, HandmadeDelivery.HeaderValue)] = [], properties: [(String, String)] = []
    ) {
        let body: [UInt8]
        do {
            body = try XorcPushNotification(textFormatString: text).serializedBytes()
        } catch {
            preconditionFailure("\(text): \(error)")
        }
        self.init(bytes: body, decoder: decoder, decoders: decoders, headers: headers, properties: properties)
    }
}

extension ForeignSamples {
    static let xorc = [
        Entry(
            name: "xorc: a localized alert with everything",
            message: DecoderSample(bytes: XorcSamples.localized, decoder: "xorc"),
            head: "alert com.example.app p10 e1795300000",
            payload: #"{"aps":{"alert":{"title":"On its way","body":"Order \"4711\"","title-loc-key":"T","#
                + #""title-loc-args":["a"],"action-loc-key":"A","loc-key":"L","loc-args":["b","c"],"#
                + #""launch-image":"i.png"},"badge":3,"sound":"ping.aiff","category":"ORDER","mutable-content":1},"#
                + #""order":{"id": 4711.0}}"#),
        Entry(
            name: "xorc: a plain alert with the priority of their client",
            message: DecoderSample(bytes: XorcSamples.plain, decoder: "xorc"),
            head: "alert p5", payload: #"{"aps":{"alert":"Hello","badge":0}}"#),
        Entry(
            name: "xorc: a silent one has nothing beside",
            message: DecoderSample(xorc: XorcSamples.push("apple { silent: 0 badge: 1 sound: 's' category: 'c' }")),
            head: "background p5", payload: #"{"aps":{"content-available":1}}"#),
        Entry(
            name: "xorc: no alert is an empty one",
            message: DecoderSample(
                xorc: XorcSamples.push(#"apple { custom_data { key: "a\"b" body: " [1.50,null]" } }"#)),
            head: "alert p5", payload: #"{"aps":{"alert":""},"a\"b":[1.50,null]}"#),
        Entry(
            name: "xorc: what the message leaves open stands in headers",
            message: DecoderSample(
                xorc: XorcSamples.push("apple { plain: 'x' }"),
                headers: [
                    ("apns-topic", .text("com.example.app")), ("apns-priority", .integer(10)),
                    ("apns-collapse-id", .text("c")),
                ]),
            head: "alert com.example.app c p10", payload: #"{"aps":{"alert":"x"}}"#),
        Entry(
            name: "xorc: a universe is an app",
            message: DecoderSample(
                xorc: XorcSamples.push("apple { plain: 'x' }"), decoder: "x", decoders: XorcSamples.universes),
            head: "alert com.example.shop p5 development", payload: #"{"aps":{"alert":"x"}}"#),
        Entry(
            name: "xorc: a topic of the request's own wins over that of its universe",
            message: DecoderSample(
                xorc: XorcSamples.push("apple { plain: 'x' headers { apns_topic: 'com.example.other' } }"),
                decoder: "x", decoders: XorcSamples.universes),
            head: "alert com.example.other p5 development", payload: #"{"aps":{"alert":"x"}}"#),
    ]

    static let xorcRefused =
        [
            ("", "header.type: missing"),
            ("header { correlation_id: 'x' }", "header.type: missing"),
            ("header { type: 'notification.PushNotification' } apple {}", "device_token: missing"),
            (
                "header { type: 'notification.PushNotification' } device_token: 'x' apple {}",
                "device_token: expected an even number of hexadecimal digits, at most 1024"
            ),
            (XorcSamples.push(""), "type: expected one of apple, google and web, found 0"),
            (XorcSamples.push("apple {} google {}"), "type: expected one of apple, google and web, found 2"),
            (
                XorcSamples.push("apple { plain: 'x' silent: 1 }"),
                "apple.type: expected one of localized, plain and silent, found 2"
            ),
            (
                XorcSamples.push("apple { headers { apns_priority: 7 } }"),
                "apple.headers.apns_priority: expected 1, 5 or 10"
            ),
            (
                XorcSamples.push("apple { headers { apns_priority: 10 } silent: 1 }"),
                "apple.headers.apns_priority: expected 5 for background"
            ),
            (
                XorcSamples.push("apple { headers { apns_expiration: -1 } }"),
                "apple.headers.apns_expiration: expected seconds since 1970 as an integer, or 0"
            ),
            (
                XorcSamples.push("apple { headers { apns_topic: '' } }"),
                "apple.headers.apns_topic: expected 1 to 255 visible ASCII characters"
            ),
            (XorcSamples.push("apple { localized { body: 'b' } }"), "apple.localized.title: missing"),
            (XorcSamples.push("apple { localized { title: 't' } }"), "apple.localized.body: missing"),
            (XorcSamples.push("apple { custom_data { body: '1' } }"), "apple.custom_data.key: missing"),
            (XorcSamples.push("apple { custom_data { key: 'k' } }"), "apple.custom_data.body: missing"),
            (
                XorcSamples.push("apple { custom_data { key: 'aps' body: '{}' } }"),
                "apple.custom_data.key: aps is made of the other fields"
            ),
            (
                XorcSamples.push("apple { custom_data { key: 'k' body: '{\"a\":}' } }"),
                "apple.custom_data.body: not JSON: expected a value at byte 5"
            ),
        ].map { Refused(message: DecoderSample(xorc: $0.0), complaint: $0.1) }
        + [
            ("\u{0F}", "body: not protobuf: a field that is none"),
            ("\u{0A}\u{05}", "body: not protobuf: it ends too early"),
        ].map { Refused(message: DecoderSample($0.0, decoder: "xorc"), complaint: $0.1) }
        + [
            Refused(
                message: DecoderSample(bytes: [0x12, 0x01, 0xFF], decoder: "xorc"),
                complaint: "body: not protobuf: a text that is not UTF-8"),
            Refused(
                message: DecoderSample(
                    xorc: XorcSamples.push("apple { plain: 'x' }"), decoder: "xorc",
                    headers: [("apns-priority", .integer(7))]),
                complaint: "apns-priority: expected 1, 5 or 10"),
            Refused(
                message: DecoderSample(
                    xorc: "header { type: 'notification.PushNotification' } device_token: '00' apple {}", decoder: "x",
                    decoders: XorcSamples.universes),
                complaint: "universe: missing"),
            Refused(
                message: DecoderSample(
                    xorc: XorcSamples.push("universe: 'zoo' apple { headers { apns_topic: 'com.example.zoo' } }")
                        .replacing(#"universe: "shop" "#, with: ""), decoder: "x", decoders: XorcSamples.universes),
                complaint: "universe: not one of the universes configured"),
        ]

    static let xorcIgnored = [
        DecoderSample(bytes: XorcSamples.google, decoder: "xorc"),
        DecoderSample(xorc: XorcSamples.push("web {}")),
        DecoderSample(xorc: "header { type: 'http.HttpRequest' }"),
    ]
}

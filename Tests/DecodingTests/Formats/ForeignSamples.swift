import Core
import Operations
import SimulatedWorld

/// Messages of other senders, in the form that each project documents.
enum ForeignSamples {
    struct Entry: Sendable {
        let name: String
        let message: DecoderSample
        var tokens = [DecoderSample.token]
        let head: String
        let payload: String
    }

    struct Refused: Sendable {
        let message: DecoderSample
        let complaint: String
    }

    private static let token = DecoderSample.token
    private static let token2 = DecoderSample.token2

    static let all = gorush + rpush + fcm + sns + nodeAPN + pushy

    /// All samples that decode to a request, and the formats that need options.
    static let forMutation =
        all.map(\.message) + [
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

    private static let gorush = [
        Entry(
            name: "gorush: a request of the HTTP interface",
            message: DecoderSample(
                """
                {"notifications": [{"tokens": ["\(token)", "\(token2)"], "platform": 1, "message": "Hello World iOS!",
                  "title": "Gorush with iOS", "topic": "com.example.app", "priority": "high", "badge": 5,
                  "sound": {"critical": 1, "name": "default", "volume": 2.0}, "production": true,
                  "expiration": 1795300000, "collapse_id": "c", "data": {"key1": "welcome", "key2": 2.50}}]}
                """, decoder: "gorush"),
            tokens: [token, token2], head: "alert com.example.app c p10 e1795300000 production",
            payload: #"{"aps":{"alert":{"title":"Gorush with iOS","body":"Hello World iOS!"},"badge":5,"#
                + #""sound":{"critical": 1, "name": "default", "volume": 2.0}},"key1":"welcome","key2":2.50}"#),
        Entry(
            name: "gorush: one entry with an alert",
            message: DecoderSample(
                """
                {"to": "\(token)", "tokens": null, "platform": 1, "category": "i", "thread-id": "t",
                 "name": "bell.aiff", "mutable_content": true, "interruption_level": "time-sensitive",
                 "url-args": ["a"], "development": true,
                 "alert": {"title": "Game Request", "body": "Bob wants to play poker", "action-loc-key": "PLAY",
                   "loc-args": ["a", "b"]}}
                """, decoder: "gorush"),
            head: "alert development",
            payload: #"{"aps":{"alert":{"title":"Game Request","loc-args":["a", "b"],"action-loc-key":"PLAY","#
                + #""body":"Bob wants to play poker"},"sound":{"critical":1,"name":"bell.aiff","volume":1.0},"#
                + #""mutable-content":1,"category":"i","thread-id":"t","interruption-level":"time-sensitive","#
                + #""url-args":["a"]}}"#),
        Entry(
            name: "gorush: a silent one is sent as such",
            message: DecoderSample(
                #"{"tokens": ["\#(token)"], "platform": 1, "content_available": true}"#, decoder: "gorush"),
            head: "background p5", payload: #"{"aps":{"content-available":1}}"#),
        Entry(
            name: "gorush: a job of its queue",
            message: DecoderSample(
                #"{"timeout":3600000000000,"body":""#
                    + base64(#"{"tokens":["\#(token)"],"platform":1,"message":"a"}"#)
                    + #"","retry_count":0,"retry_delay":0,"retry_factor":0,"retry_min":0,"retry_max":0}"#,
                decoder: "gorush"),
            head: "alert", payload: #"{"aps":{"alert":"a"}}"#),
        Entry(
            name: "gorush: a Live Activity",
            message: DecoderSample(
                """
                {"tokens": ["\(token)"], "platform": 1, "push_type": "liveactivity", "event": "update",
                 "timestamp": 1790000000, "stale-date": 1790000600, "content-state": {"n": 1.0}}
                """, decoder: "gorush"),
            head: "liveactivity",
            payload: #"{"aps":{"content-state":{"n": 1.0},"stale-date":1790000600,"event":"update","#
                + #""timestamp":1790000000}}"#),
    ]

    private static let rpush = [
        Entry(
            name: "rpush: a row",
            message: DecoderSample(
                """
                {"id": 1, "type": "Rpush::Apnsp8::Notification", "app_id": 1, "device_token": "<\(token)>", "badge": 2,
                 "sound": "default", "alert": "Hi", "alert_is_json": false, "expiry": 86400, "priority": 5,
                 "category": null, "thread_id": "t", "delivered": false,
                 "data": "{\\"foo\\":1.0,\\"__rpush_content_available__\\":true,\
                \\"headers\\":{\\"apns-topic\\":\\"com.example.app\\"}}"}
                """, decoder: "rpush"),
            head: "alert com.example.app p5 e1790086400",
            payload:
                #"{"aps":{"alert":"Hi","badge":2,"sound":"default","thread-id":"t","content-available":1},"foo":1.0}"#),
        Entry(
            name: "rpush: an alert as JSON in its column",
            message: DecoderSample(
                #"{"device_token":"\#(token)","alert":"{\"title\":\"T\"}","alert_is_json":true,"#
                    + #""content_available":true}"#,
                decoder: "rpush"),
            head: "alert", payload: #"{"aps":{"alert":{"title":"T"},"content-available":1}}"#),
    ]

    private static let fcm = [
        Entry(
            name: "fcm-v1: the payload byte for byte",
            message: DecoderSample(
                """
                {"message": {"token": "bk3RNwTe3H0:CI2k", "apns": {
                  "headers": {"APNs-Priority": "5", "apns-expiration": "1795300000", "apns-collapse-id": "c"},
                  "payload": {"aps" : {"alert": "Hi", "badge": 1.0}, "x": 1}}}}
                """, decoder: "f",
                decoders: "  - name: f\n    fcm-v1: { device-token: header:device, apns-topic: com.example.app }",
                headers: [("device", .text(token))]),
            head: "alert com.example.app c p5 e1795300000", payload: #"{"aps" : {"alert": "Hi", "badge": 1.0}, "x": 1}"#
        ),
        Entry(
            name: "fcm-v1: notification and data are merged, as FCM does",
            message: DecoderSample(
                """
                {"message": {"notification": {"title": "T", "body": "B"}, "data": {"apns_token": "\(token)", "k": "v"},
                  "apns": {"payload": {"aps": {"sound": "default"}}}}}
                """, decoder: "fcm-v1"),
            head: "alert", payload: #"{"aps":{"alert":{"title":"T","body":"B"},"sound":"default"},"k":"v"}"#),
        Entry(
            name: "fcm-v1: a Live Activity",
            message: DecoderSample(
                """
                {"apns": {"live_activity_token": "\(token)", "payload": {"aps": {"event": "end", "content-state": {}}}}}
                """, decoder: "fcm-v1"),
            head: "liveactivity", payload: #"{"aps": {"event": "end", "content-state": {}}}"#),
    ]

    private static let sns = [
        Entry(
            name: "sns: a text for each platform, attributes as headers",
            message: DecoderSample(
                #"{"default": "d", "APNS": "{\"aps\":{\"alert\": \"Check out these awesome deals!\"},\"n\":1.0}", "#
                    + #""GCM": "{}"}"#,
                decoder: "sns",
                headers: [
                    ("device-token", .text(token)), ("AWS.SNS.MOBILE.APNS.TTL", .text("60")),
                    ("AWS.SNS.MOBILE.APNS.PUSH_TYPE", .text("alert")), ("AWS.SNS.MOBILE.APNS.PRIORITY", .text("10")),
                    ("AWS.SNS.MOBILE.APNS.TOPIC", .text("com.example.app")),
                    ("AWS.SNS.MOBILE.APNS.COLLAPSE_ID", .text("c")),
                ]),
            head: "alert com.example.app c p10 e1790000060 production",
            payload: #"{"aps":{"alert": "Check out these awesome deals!"},"n":1.0}"#),
        Entry(
            name: "sns: as it is handed to Publish, for the sandbox",
            message: DecoderSample(
                #"{"Message": "{\"APNS_SANDBOX\":\"{\\\"aps\\\":{\\\"badge\\\":1}}\"}", "MessageStructure": "json", "#
                    + #""MessageAttributes": {"AWS.SNS.MOBILE.APNS.TOPIC": "#
                    + #"{"DataType": "String", "StringValue": "t"}}, "Token": "\#(token)"}"#, decoder: "s",
                decoders: "  - name: s\n    sns: { device-token: /Token }"),
            head: "alert t development", payload: #"{"aps":{"badge":1}}"#),
        Entry(
            name: "sns: the default text",
            message: DecoderSample(
                #"{"default": "Hello"}"#, decoder: "sns", headers: [("device-token", .text(token))]),
            head: "alert production", payload: #"{"aps":{"alert":"Hello"}}"#),
    ]

    private static let nodeAPN = [
        Entry(
            name: "node-apn: a notification's properties",
            message: DecoderSample(
                """
                {"deviceToken": "\(token)", "topic": "com.example.app", "expiry": 1795300000, "priority": 5, "id": "",
                 "collapseId": "c", "pushType": "alert", "badge": 3, "sound": "ping.aiff", "contentAvailable": 1,
                 "alert": "You have a new message", "title": "T", "payload": {"messageFrom": "John", "n": 1.0}}
                """, decoder: "node-apn"),
            head: "alert com.example.app c p5 e1795300000",
            payload: #"{"aps":{"alert":{"title":"T","body":"You have a new message"},"badge":3,"sound":"ping.aiff","#
                + #""content-available":1},"messageFrom":"John","n":1.0}"#),
        Entry(
            name: "node-apn: aps as it is, for several devices",
            message: DecoderSample(
                """
                {"tokens": ["\(token)", "\(token2)"], "encoding": "utf8", "compiled": false, "expiry": -1,
                 "priority": 10, "payload": {}, "aps": {"alert": {"title-loc-key": "K"}, "badge": 1}, "badge": 2}
                """, decoder: "node-apn"),
            tokens: [token, token2], head: "alert p10",
            payload: #"{"aps":{"alert":{"title-loc-key": "K"},"badge":2}}"#),
        Entry(
            name: "node-apn: a raw payload byte for byte",
            message: DecoderSample(
                #"{"token": "\#(token)", "rawPayload": {"from": "node-apn", "aps" : { "content-available" : 1 }}}"#,
                decoder: "node-apn"),
            head: "background p5", payload: #"{"from": "node-apn", "aps" : { "content-available" : 1 }}"#),
    ]

    private static let pushy = [
        Entry(
            name: "pushy: as Jackson writes it",
            message: DecoderSample(
                """
                {"token":"\(token)","payload":"{\\"aps\\":{\\"alert\\":\\"Example!\\"}}",
                 "expiration":1795300000.123000000,"priority":"IMMEDIATE","pushType":"LIVE_ACTIVITY",
                 "topic":"com.example.app","collapseId":null,"apnsId":"123e4567-e89b-12d3-a456-426655440000"}
                """, decoder: "pushy"),
            head: "liveactivity com.example.app p10 e1795300000", payload: #"{"aps":{"alert":"Example!"}}"#),
        Entry(
            name: "pushy: as Gson writes it",
            message: DecoderSample(
                """
                {"token":"\(token)","payload":"{\\"aps\\":{\\"badge\\":1}}",
                 "invalidationTime":{"seconds":1795300000,"nanos":0},"priority":"CONSERVE_POWER"}
                """, decoder: "pushy"),
            head: "alert p5 e1795300000", payload: #"{"aps":{"badge":1}}"#),
    ]

    static let refused = [
        ("gorush", #"{"tokens":["\#(token)"]}"#, "platform: expected 1 (iOS), or another one's number"),
        ("gorush", #"{"body":"!"}"#, "body.body: expected base64"),
        ("gorush", #"{"notifications":[]}"#, "notifications: expected at least one"),
        ("gorush", #"{"to":"\#(token)","platform":1,"priority":"low"}"#, "priority: expected high or normal"),
        (
            "gorush", #"{"to":"\#(token)","platform":1,"data":{"aps":{}}}"#,
            "data: aps is made of the other fields"
        ),
        ("rpush", #"{"device_token":"\#(token)","data":[]}"#, "data: expected an object, found an array"),
        ("rpush", #"{"device_token":"\#(token)","expiry":"x"}"#, "expiry: expected seconds as an integer"),
        (
            "fcm-v1", #"{"message":{"token":"x","data":{"apns_token":"\#(token)"}}}"#,
            "apns.payload: missing, and there is no notification"
        ),
        (
            "fcm-v1", #"{"message":{"token":"fcm","notification":{"body":"b"}}}"#,
            "device-token: missing, expected it or device-tokens or apns-channel-id"
        ),
        ("sns", #"{"APNS":{"aps":{}}}"#, "APNS: expected JSON in a string"),
        ("sns", #"{"APNS":"{"}"#, "APNS: not JSON: expected a key at byte 1"),
        ("node-apn", #"{"token":"\#(token)"}"#, "aps: missing, expected it or what it is made of"),
        ("pushy", #"{"token":"\#(token)","payload":{}}"#, "payload: expected JSON in a string"),
        ("pushy", #"{"payload":"{\"aps\":{}}","priority":"HIGH"}"#, "priority: expected IMMEDIATE or CONSERVE_POWER"),
        ("cloudevents", #"{"id":"1"}"#, "data: missing, expected it or data_base64"),
        (
            "cloudevents", #"{"specversion":"0.3","id":"1","source":"s","type":"t","data":{}}"#,
            "specversion: expected 1.0"
        ),
        ("cloudevents", #"{"specversion":"1.0","source":"s","type":"t","data":{}}"#, "id: missing, expected a text"),
    ].map { Refused(message: DecoderSample($0.1, decoder: $0.0), complaint: $0.2) }

    static let ignored = [
        DecoderSample(#"{"tokens":["a"],"platform":2,"message":"m"}"#, decoder: "gorush"),
        DecoderSample(#"{"notifications":[{"tokens":["a"],"platform":3}]}"#, decoder: "gorush"),
        DecoderSample(#"{"type":"Rpush::Gcm::Notification","registration_ids":["a"]}"#, decoder: "rpush"),
        DecoderSample(#"{"default":"d","GCM":"{}"}"#, decoder: "sns"),
    ]

    private static func base64(_ text: String) -> String {
        Base64.standard.encode(Array(text.utf8))
    }
}

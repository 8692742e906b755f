import Core
import Commands

/// Messages for each format that needs options, and for ours.
enum ForeignSamples {
    struct Refused: Sendable {
        let message: DecoderSample
        let complaint: String
    }

    private static let token = DecoderSample.token
    private static let token2 = DecoderSample.token2

    static let forMutation = [
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

    static let refused = [
        ("cloudevents", #"{"id":"1"}"#, "data: missing; expected data or data_base64"),
        (
            "cloudevents", #"{"specversion":"0.3","id":"1","source":"s","type":"t","data":{}}"#,
            #"specversion: expected 1.0, found "0.3""#
        ),
        ("cloudevents", #"{"specversion":"1.0","source":"s","type":"t","data":{}}"#, "id: missing; expected a text"),
    ].map { Refused(message: DecoderSample($0.1, decoder: $0.0), complaint: $0.2) }
}

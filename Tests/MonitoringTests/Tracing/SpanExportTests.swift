import Core
import Foundation
import Monitoring
import Testing

@testable import Pipeline

/// Spans on their way to the collector; see `docs/operate/tracing.md`.
@Suite("Exported spans")
struct SpanExportTests {
    private static func span(_ attributes: [TraceSpan.Attribute] = [], parent: UInt64? = nil) throws -> TraceSpan {
        let context = try #require(
            TraceContext(ArraySlice("00-0af7651916cd43dd8448eb211c80319c-00ad6b7169203331-01".utf8)))
        return TraceSpan(
            context: context, parent: parent, name: "harebell process", kind: .consumer,
            time: 1_790_000_000_123_000_000...1_790_000_000_124_000_001, attributes: attributes)
    }

    @Test("Ids are hexadecimal digits, 64-bit integers text and enumerations numbers")
    func encoding() throws {
        let json = OTLPEncoder.request(
            [
                try Self.span(
                    [
                        ("messaging.message.id", .text("a\"\\\u{1}é")), ("server.port", .integer(443)),
                        ("error.type", .text("lost")),
                    ],
                    parent: 1),
                try Self.span(),
            ],
            resource: [("service.name", .text("harebell"))])
        #expect(
            String(decoding: json, as: UTF8.self) == """
                {"resourceSpans":[{"resource":{"attributes":\
                [{"key":"service.name","value":{"stringValue":"harebell"}}]},\
                "scopeSpans":[{"scope":{"name":"harebell","version":"\(Version.text)"},"spans":[\
                {"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00ad6b7169203331",\
                "parentSpanId":"0000000000000001","name":"harebell process","kind":5,\
                "startTimeUnixNano":"1790000000123000000","endTimeUnixNano":"1790000000124000001",\
                "status":{"code":2},"attributes":[\
                {"key":"messaging.message.id","value":{"stringValue":"a\\"\\\\\\u0001é"}},\
                {"key":"server.port","value":{"intValue":"443"}},\
                {"key":"error.type","value":{"stringValue":"lost"}}]},\
                {"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00ad6b7169203331","name":"harebell process",\
                "kind":5,"startTimeUnixNano":"1790000000123000000","endTimeUnixNano":"1790000000124000001",\
                "status":{},"attributes":[]}]}]}]}
                """)
        #expect(try JSONSerialization.jsonObject(with: Data(json)) is [String: Any])
        #expect([TraceSpan.Kind.internal, .client, .producer, .consumer].map(\.rawValue) == [1, 3, 4, 5])
    }

    @Test(
        "A collector may take only some spans",
        arguments: [
            ("{\"partialSuccess\":{\"rejectedSpans\":true}}", 0), ("{\"partialSuccess\":{\"rejectedSpans\":\"3\"}}", 3),
            ("{\"partialSuccess\": {\"errorMessage\": \"}\", \"rejectedSpans\": 4} }", 4), ("", 0), ("{}", 0),
            ("{\"partialSuccess\":{\"rejectedSpans\":\"-3\"}}", 0), ("{\"partialSuccess\":", 0),
        ])
    func partialSuccess(text: String, rejected: Int) {
        #expect(OTLPEncoder.rejectedSpans(in: Array(text.utf8)) == rejected)
    }
}

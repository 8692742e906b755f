import Core
import Decoding
package import Pipeline

/// Writes spans for a collector.
///
/// Sources: OpenTelemetry protocol 1.9, "JSON Protobuf Encoding" (ids as hexadecimal digits, 64-bit integers as text,
/// enumerations as numbers); opentelemetry/proto/collector/trace/v1/trace_service.proto.
package enum OTLPEncoder {
    /// - Parameter resource: the attributes of this process.
    package static func request(_ spans: [TraceSpan], resource: [TraceSpan.Attribute]) -> [UInt8] {
        let scope = JSONOutput.object([("name", .text("harebell")), ("version", .text(Version.text))])
        let resourceSpans = JSONOutput.object([
            ("resource", .object([("attributes", list(resource))])),
            ("scopeSpans", .array([.object([("scope", scope), ("spans", .array(spans.map(object)))])])),
        ])
        return Array(JSONOutput.object([("resourceSpans", .array([resourceSpans]))]).description.utf8)
    }

    private static func object(_ span: TraceSpan) -> JSONOutput {
        let parent = span.parent.map { [("parentSpanId", hex($0))] } ?? []
        return .object(
            [("traceId", hex(span.context.trace)), ("spanId", hex(span.context.span))] + parent + [
                ("name", .text(span.name.description)), ("kind", .integer(span.kind.rawValue)),
                ("startTimeUnixNano", .text(String(span.time.lowerBound))),
                ("endTimeUnixNano", .text(String(span.time.upperBound))),
                ("status", .object(span.hasFailed ? [("code", .integer(2))] : [])),
                ("attributes", list(span.attributes)),
            ])
    }

    private static func list(_ attributes: [TraceSpan.Attribute]) -> JSONOutput {
        .array(
            attributes.map { attribute in
                let value: (String, JSONOutput) =
                    switch attribute.value {
                    case .text(let text): ("stringValue", .text(text))
                    case .integer(let integer): ("intValue", .text(String(integer)))
                    }
                return .object([("key", .text(attribute.name.description)), ("value", .object([value]))])
            })
    }

    private static func hex(_ id: some FixedWidthInteger) -> JSONOutput {
        var digits: [UInt8] = []
        digits.append(hex: id)
        return .bytes(digits[...])
    }

    /// How many spans a collector did not take though it answered with 200.
    package static func rejectedSpans(in response: [UInt8]) -> Int {
        // A body in chunks has their sizes around its JSON.
        guard let start = response.firstIndex(of: UInt8(ascii: "{")),
            let end = response.lastIndex(of: UInt8(ascii: "}")), start < end,
            let body = try? JSONPart(response[start...end]), let count = body["partialSuccess"]?["rejectedSpans"]
        else { return 0 }
        return Int(max(0, count.text.flatMap(JSONText.integer) ?? count.integer ?? 0))
    }
}

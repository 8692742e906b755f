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
        var json = ByteQueue()
        json.append("{\"resourceSpans\":[{\"resource\":")
        append(resource, to: &json)
        json.append("},\"scopeSpans\":[{\"scope\":{\"name\":\"harebell\",\"version\":")
        append(Version.text, to: &json)
        json.append("},\"spans\":[")
        for (index, span) in spans.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            append(span, to: &json)
        }
        json.append("]}]}]}")
        return json.copy()
    }

    private static func append(_ span: TraceSpan, to json: inout ByteQueue) {
        var ids = Array("{\"traceId\":\"".utf8)
        ids.append(span.trace)
        ids += Array("\",\"spanId\":\"".utf8)
        ids.append(hex: span.span)
        if let parent = span.parent {
            ids += Array("\",\"parentSpanId\":\"".utf8)
            ids.append(hex: parent)
        }
        json.append(ids)
        json.append("\",\"name\":\"")
        json.append(span.name)
        json.append("\",\"kind\":")
        json.append(decimal: span.kind.rawValue)
        json.append(",\"startTimeUnixNano\":\"")
        json.append(decimal: Int(span.start))
        json.append("\",\"endTimeUnixNano\":\"")
        json.append(decimal: Int(span.end))
        json.append("\",\"status\":")
        json.append(span.hasFailed ? "{\"code\":2}," : "{},")
        appendAttributes(span.attributes, to: &json)
        json.append(UInt8(ascii: "}"))
    }

    private static func append(_ resource: [TraceSpan.Attribute], to json: inout ByteQueue) {
        json.append(UInt8(ascii: "{"))
        appendAttributes(resource, to: &json)
    }

    private static func appendAttributes(_ attributes: [TraceSpan.Attribute], to json: inout ByteQueue) {
        json.append("\"attributes\":[")
        for (index, attribute) in attributes.enumerated() {
            json.append(index == 0 ? "{\"key\":\"" : ",{\"key\":\"")
            json.append(attribute.name)
            switch attribute.value {
            case .text(let text):
                json.append("\",\"value\":{\"stringValue\":")
                append(text, to: &json)
            case .integer(let integer):
                json.append("\",\"value\":{\"intValue\":\"")
                json.append(decimal: integer)
                json.append(UInt8(ascii: "\""))
            }
            json.append("}}")
        }
        json.append(UInt8(ascii: "]"))
    }

    private static func append(_ text: String, to json: inout ByteQueue) {
        json.appendJSON(string: ArraySlice(text.utf8))
    }

    /// How many spans a collector did not take though it answered with 200.
    package static func rejectedSpans(in response: ArraySlice<UInt8>) -> Int {
        guard let partial = member("partialSuccess", of: response), let count = member("rejectedSpans", of: partial),
            let number = JSONText.integer(count)
        else { return 0 }
        return Int(max(0, number))
    }

    /// The value of an object's member, without its quotes; `nil` for what is not JSON.
    private static func member(_ name: StaticString, of object: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let bytes = object.span
        var scanner = JSONScanner()
        guard scanner.open(bytes, "{") else { return nil }
        do throws(JSONFailure) {
            var isFirst = true
            while let key = try scanner.nextKey(bytes, isFirst: isFirst) {
                isFirst = false
                let value = try scanner.value(bytes, depth: 1)
                if bytes.extracting(key.range).equals(name) { return object.slice(value.range) }
            }
        } catch {
            return nil
        }
        return nil
    }
}

/// A finished step of a request. Source: opentelemetry/proto/trace/v1/trace.proto, `Span`.
package struct TraceSpan: Sendable {
    /// The numbers of `Span.SpanKind`.
    package enum Kind: Int, Sendable {
        case `internal` = 1
        case client = 3
        case producer = 4
        case consumer = 5
    }

    package enum Value: Sendable, Equatable {
        case text(String)
        case integer(Int)
    }

    package typealias Attribute = (name: StaticString, value: Value)

    package let context: TraceContext
    /// `nil` for the first span of a trace.
    package let parent: UInt64?
    package let name: StaticString
    package let kind: Kind
    /// In nanoseconds since 1970 UTC.
    package let time: ClosedRange<Int64>
    /// Each name once.
    package let attributes: [Attribute]

    package var hasFailed: Bool { self["error.type"] != nil }

    package subscript(name: String) -> Value? {
        attributes.first { "\($0.name)" == name }?.value
    }
}

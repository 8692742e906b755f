package import Core

/// Prometheus' text format, version 0.0.4: families in the order written, each with its samples.
///
/// Source: prometheus.io/docs/instrumenting/exposition_formats, "Text-based format".
package struct PrometheusText {
    package static let contentType: StaticString = "text/plain; version=0.0.4; charset=utf-8"

    /// A sample's value, exact.
    package enum Value: Sendable {
        case count(UInt64)
        case integer(Int)
        /// Written in seconds.
        case nanoseconds(Int64)

        /// A duration.
        package static func duration(_ duration: Duration) -> Value {
            .nanoseconds(duration.nanoseconds)
        }
    }

    package private(set) var bytes: [UInt8] = []
    /// The families so far; samples belong to the last one.
    package private(set) var metrics: [Metric] = []

    package init() {}

    /// Begins a family; its samples follow.
    package mutating func begin(_ metric: Metric) {
        metrics.append(metric)
        bytes.append("# HELP ")
        bytes.append(metric.name)
        bytes.append(" ")
        appendEscaped(metric.help.description, quotes: false)
        bytes.append("\n# TYPE ")
        bytes.append(metric.name)
        bytes.append(" ")
        bytes.append(contentsOf: metric.kind.rawValue.utf8)
        bytes.append("\n")
    }

    /// Adds a sample of the family.
    ///
    /// - Parameter labels: the values of the metric's labels, in order.
    package mutating func sample(_ labels: [String] = [], _ value: Value) {
        sample(suffix: "", labels, bound: nil, value)
    }

    /// Adds all samples of a histogram.
    package mutating func sample(_ labels: [String] = [], _ histogram: Histogram) {
        precondition(metrics.last?.kind == .histogram, "only a histogram has buckets")
        var total: UInt64 = 0
        for (bucket, count) in histogram.counts.enumerated() {
            total &+= count
            let bound = bucket < Histogram.bounds.count ? Self.seconds(Histogram.bounds[bucket]) : "+Inf"
            sample(suffix: "_bucket", labels, bound: bound, .count(total))
        }
        sample(suffix: "_sum", labels, bound: nil, .nanoseconds(Int64(clamping: histogram.sum)))
        sample(suffix: "_count", labels, bound: nil, .count(total))
    }

    private mutating func sample(suffix: StaticString, _ values: [String], bound: String?, _ value: Value) {
        guard let metric = metrics.last else { preconditionFailure("a sample belongs to a family") }
        precondition(metric.labels.count == values.count, "every label has a value")
        bytes.append(metric.name)
        bytes.append(suffix)
        var separator: StaticString = "{"
        for (name, value) in zip(metric.labels.map(\.description) + ["le"], values + [bound].compactMap(\.self)) {
            bytes.append(separator)
            bytes.append(contentsOf: name.utf8)
            bytes.append("=\"")
            appendEscaped(value, quotes: true)
            bytes.append("\"")
            separator = ","
        }
        if !values.isEmpty || bound != nil { bytes.append("}") }
        bytes.append(" ")
        switch value {
        case .count(let count): bytes.append(decimal: count)
        case .integer(let integer): bytes.append(decimal: integer)
        case .nanoseconds(let nanoseconds): bytes.append(contentsOf: Self.seconds(nanoseconds).utf8)
        }
        bytes.append("\n")
    }

    /// Nanoseconds as seconds in decimal digits, as many as needed.
    private static func seconds(_ nanoseconds: Int64) -> String {
        var text: [UInt8] = []
        if nanoseconds < 0 { text.append(UInt8(ascii: "-")) }
        let (whole, rest) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        text.append(decimal: whole)
        if rest > 0 {
            // The leading one preserves the zeros after the decimal point.
            var digits: [UInt8] = []
            digits.append(decimal: 1_000_000_000 + rest)
            digits[0] = UInt8(ascii: ".")
            while digits.last == UInt8(ascii: "0") { digits.removeLast() }
            text += digits
        }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func appendEscaped(_ text: String, quotes: Bool) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes.append("\\\\")
            case UInt8(ascii: "\n"): bytes.append("\\n")
            case UInt8(ascii: "\"") where quotes: bytes.append("\\\"")
            default: bytes.append(byte)
            }
        }
    }
}

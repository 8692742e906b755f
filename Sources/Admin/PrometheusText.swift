package import Core

/// Prometheus' text format, version 0.0.4: families in the order written, each with its samples. Prometheus stores
/// every value as a `Double`.
///
/// Source: prometheus.io/docs/instrumenting/exposition_formats, "Text-based format".
package struct PrometheusText {
    package static let contentType: StaticString = "text/plain; version=0.0.4; charset=utf-8"

    package private(set) var bytes: [UInt8] = []
    /// The families so far; samples belong to the last one.
    package private(set) var metrics: [Metric] = []

    package init() {}

    /// Begins a family; its samples follow.
    package mutating func begin(_ metric: Metric) {
        metrics.append(metric)
        bytes.append(contentsOf: "# HELP \(metric.name) ".utf8)
        appendEscaped(metric.help.description, quotes: false)
        bytes.append(contentsOf: "\n# TYPE \(metric.name) \(metric.kind.rawValue)\n".utf8)
    }

    /// Adds a sample of the family.
    ///
    /// - Parameter labels: the values of the metric's labels, in order.
    package mutating func sample(_ labels: [String] = [], _ value: Double) {
        sample(suffix: "", labels, bound: nil, value)
    }

    /// Adds all samples of a histogram.
    package mutating func sample(_ labels: [String] = [], _ histogram: Histogram) {
        precondition(metrics.last?.kind == .histogram, "only a histogram has buckets")
        var total: UInt64 = 0
        for (bucket, count) in histogram.counts.enumerated() {
            total &+= count
            let bound = bucket < Histogram.bounds.count ? Self.text(Self.seconds(Histogram.bounds[bucket])) : "+Inf"
            sample(suffix: "_bucket", labels, bound: bound, Double(total))
        }
        sample(suffix: "_sum", labels, bound: nil, Self.seconds(histogram.sum))
        sample(suffix: "_count", labels, bound: nil, Double(total))
    }

    private mutating func sample(suffix: StaticString, _ values: [String], bound: String?, _ value: Double) {
        guard let metric = metrics.last else { preconditionFailure("a sample belongs to a family") }
        precondition(metric.labels.count == values.count, "every label has a value")
        bytes.append(contentsOf: "\(metric.name)\(suffix)".utf8)
        var separator = "{"
        for (name, value) in zip(metric.labels.map(\.description) + ["le"], values + [bound].compactMap(\.self)) {
            bytes.append(contentsOf: "\(separator)\(name)=\"".utf8)
            appendEscaped(value, quotes: true)
            bytes.append("\"")
            separator = ","
        }
        if !values.isEmpty || bound != nil { bytes.append("}") }
        bytes.append(contentsOf: " \(Self.text(value))\n".utf8)
    }

    private static func seconds(_ nanoseconds: some BinaryInteger) -> Double {
        Double(nanoseconds) / 1e9
    }

    /// Whole numbers have no fraction.
    private static func text(_ value: Double) -> String {
        Int(exactly: value).map { String($0) } ?? String(value)
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

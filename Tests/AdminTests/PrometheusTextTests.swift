import Admin
import Core
import Testing

@Suite("Prometheus' text format")
struct PrometheusTextTests {
    private func render(_ write: (inout PrometheusText) -> Void) -> String {
        var text = PrometheusText()
        write(&text)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    private let plain = Metric("things", .gauge, "How many there are.")
    private let labelled = Metric("done_total", .counter, by: ["what", "who"], "Done.")
    private let timed = Metric("seconds", .histogram, by: ["what"], "Time.")

    @Test("A family is its help, its type and its samples")
    func families() {
        let text = render { text in
            text.begin(plain)
            text.sample([], -3)
            text.begin(labelled)
            text.sample(["a", "b"], 1_234_567_890_123)
            text.sample(["", ""], 0.0625)
        }
        #expect(
            text == """
                # HELP things How many there are.
                # TYPE things gauge
                things -3
                # HELP done_total Done.
                # TYPE done_total counter
                done_total{what="a",who="b"} 1234567890123
                done_total{what="",who=""} 0.0625

                """)
    }

    @Test("Backslashes, quotes and line feeds are escaped in labels, and quotes are not in help")
    func escaping() {
        let strange = Metric("strange", .gauge, by: ["label"], "A \\ and a \" and\na line.")
        let text = render { text in
            text.begin(strange)
            text.sample(["a\\b\"c\nd\r😀"], 1)
        }
        #expect(
            text == "# HELP strange A \\\\ and a \" and\\na line.\n# TYPE strange gauge\n"
                + "strange{label=\"a\\\\b\\\"c\\nd\r😀\"} 1\n")
    }

    @Test("A histogram's buckets are cumulative, and end with +Inf, sum and count")
    func histograms() {
        var histogram = Histogram()
        histogram.record(nanoseconds: 400_000)
        histogram.record(nanoseconds: 2_000_000)
        histogram.record(nanoseconds: 7_200_000_000_000)
        let lines = render { text in
            text.begin(timed)
            text.sample(["x"], histogram)
        }.split(separator: "\n").map(String.init)
        let bounds = "0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 60 300 900 3600"
        let buckets = bounds.split(separator: " ").enumerated().map { bucket, bound in
            "seconds_bucket{what=\"x\",le=\"\(bound)\"} \(bucket < 2 ? 1 : 2)"
        }
        let others = ["bucket{what=\"x\",le=\"+Inf\"} 3", "sum{what=\"x\"} 7200.0024", "count{what=\"x\"} 3"]
        #expect(Array(lines.dropFirst(2)) == buckets + others.map { "seconds_\($0)" })
    }
}

import Admin
import Monitoring

/// The metrics in the form of the documentation page.
enum MetricsReference {
    /// A Markdown table.
    static func markdown(_ metrics: [Metric]) -> String {
        let rows = metrics.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
                .replacing("|  |", with: "| |")
        }
        return "| metric | type | labels | what it tells |\n|---|---|---|---|\n"
            + rows.joined(separator: "\n") + "\n"
    }
}

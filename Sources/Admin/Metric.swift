/// A metric's name, meaning and operational advice: one row of the documentation.
package struct Metric: Sendable {
    /// Prometheus' types.
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package let name: StaticString
    package let kind: Kind
    /// The names of its labels.
    package let labels: [StaticString]
    /// One sentence.
    package let help: StaticString
    /// The recommended action for operators; may be Markdown.
    package let advice: StaticString

    package init(
        _ name: StaticString, _ kind: Kind, by labels: [StaticString] = [], _ help: StaticString,
        advice: StaticString
    ) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.help = help
        self.advice = advice
    }
}

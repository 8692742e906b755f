/// A metric's name, labels and meaning: one row of the documentation.
package struct Metric: Sendable {
    /// Prometheus' types.
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package let name: StaticString
    package let kind: Kind
    package let labels: [StaticString]
    /// One sentence.
    package let help: StaticString

    package init(
        _ name: StaticString, _ kind: Kind, by labels: [StaticString] = [], _ help: StaticString
    ) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.help = help
    }
}

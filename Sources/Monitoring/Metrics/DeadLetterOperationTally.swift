/// Counts dead-letter orders by how they ended.
package struct DeadLetterOperationTally: Equatable, Sendable {
    /// The possible ends of an order, see ``DeadLetterProgress``.
    static let ends = ["complete", "interrupted", "aborted", "locked", "failed"]

    private var counts: [String: [UInt64]] = ["look": [], "replay": [], "stop": []]
        .mapValues { _ in Array(repeating: 0, count: Self.ends.count) }

    package init() {}

    package mutating func add(_ order: String, _ end: String) {
        guard let index = Self.ends.firstIndex(of: end), counts[order] != nil else {
            preconditionFailure("unknown verb or end of a dead-letter operation")
        }
        counts[order]?[index] += 1
    }

    /// All counts, including zeros.
    var all: [(order: String, end: String, count: UInt64)] {
        counts.sorted { $0.key < $1.key }.flatMap { order, counts in
            // An order to stop always completes.
            zip(Self.ends, counts).filter { order != "stop" || $0.0 == "complete" }.map { (order, $0, $1) }
        }
    }
}

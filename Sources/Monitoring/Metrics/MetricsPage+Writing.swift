import APNs
import Admin
import Core
import Pipeline
import Runtime

/// Writes metrics. Their labels depend on what a value belongs to: the process, a queue or an app.
extension MetricsPage {
    /// An unknown value has no sample.
    mutating func write(_ kind: Metric.Kind, _ name: StaticString, _ help: StaticString, _ value: Double?) {
        text.begin(Metric(name, kind, help))
        if let value { text.sample([], value) }
    }

    mutating func write(_ name: StaticString, _ help: StaticString, _ histogram: Histogram) {
        text.begin(Metric(name, .histogram, help))
        text.sample([], histogram)
    }

    /// A sum over the workers.
    mutating func write(
        _ kind: Metric.Kind, _ name: StaticString, _ help: StaticString,
        sum value: (WorkerSnapshot) -> some BinaryInteger
    ) {
        write(kind, name, help, snapshots.reduce(0) { $0 + Double(value($1)) })
    }

    mutating func write(_ counter: PipelineCounters.Name, _ name: StaticString, _ help: StaticString) {
        write(.counter, name, help, sum: { $0.counters[counter] })
    }

    mutating func write(_ counter: PoolCounters.Name, _ name: StaticString, _ help: StaticString) {
        write(.counter, name, help, sum: { $0.poolCounters[counter] })
    }

    /// One sample for each combination of labels, in order.
    mutating func write(_ metric: Metric, _ values: [[String]: Double]) {
        text.begin(metric)
        for (labels, value) in values.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            text.sample(labels, value)
        }
    }

    /// Writes one sample for each combination of labels: the sum of its values.
    mutating func write(_ metric: Metric, sums parts: [(labels: [String], value: Int)]) {
        let sums = Dictionary(parts.map { ($0.labels, $0.value) }, uniquingKeysWith: +)
        write(metric, sums.mapValues { Double($0) })
    }

    mutating func write(_ metric: Metric, sums parts: [(label: String, value: Int)]) {
        write(metric, sums: parts.map { ([$0.label], $0.value) })
    }

    mutating func write(
        _ kind: Metric.Kind, _ name: StaticString, _ help: StaticString, perQueue value: (WorkerSnapshot, Int) -> Int
    ) {
        let parts = snapshots.flatMap { snapshot in
            snapshot.queues.enumerated().map { ($1.name, value(snapshot, $0)) }
        }
        write(Metric(name, kind, by: ["queue"], help), sums: parts)
    }

    mutating func write(_ name: StaticString, _ help: StaticString, perApp value: (WorkerSnapshot.Pool) -> Int) {
        let parts = snapshots.flatMap(\.pools).compactMap { pool in pool.app.map { ($0.labels, value(pool)) } }
        write(Metric(name, .gauge, by: ["app", "environment"], help), sums: parts)
    }

    mutating func write(
        _ name: StaticString, _ help: StaticString, perCredential value: (ProcessSnapshot.Credential) -> Double?
    ) {
        let values = seen.credentials.compactMap { one in value(one).map { (one.app.labels, $0) } }
        write(Metric(name, .gauge, by: ["topic", "environment"], help), Dictionary(values) { first, _ in first })
    }

    mutating func write(
        _ kind: Metric.Kind, _ name: StaticString, _ help: StaticString,
        perProcess value: (WorkerSnapshot.Process) -> Int
    ) {
        let parts = snapshots.flatMap(\.processes).map { ($0.name, value($0)) }
        write(Metric(name, kind, by: ["decoder"], help), sums: parts)
    }
}

extension AppName {
    var labels: [String] { [topic, environment.rawValue] }
}

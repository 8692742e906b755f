import APNs
import Admin
import Core
import Runtime

/// Families of samples, each with its metric.
extension MetricsPage {
    /// An unknown value has no sample.
    mutating func write(_ metric: Metric, _ value: Double?) {
        text.begin(metric)
        if let value { text.sample([], value) }
    }

    /// A sum over the workers.
    mutating func write(_ metric: Metric, sum value: (WorkerSnapshot) -> some BinaryInteger) {
        write(metric, snapshots.reduce(0) { $0 + Double(value($1)) })
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

    mutating func write(_ metric: Metric, perQueue value: (WorkerSnapshot, Int) -> Int) {
        let parts = snapshots.flatMap { snapshot in
            snapshot.queues.enumerated().map { ($1.name, value(snapshot, $0)) }
        }
        write(metric, sums: parts)
    }

    mutating func write(_ metric: Metric, perApp value: (WorkerSnapshot.Pool) -> Int) {
        write(metric, sums: snapshots.flatMap(\.pools).compactMap { pool in pool.app.map { ($0.labels, value(pool)) } })
    }

    mutating func write(_ metric: Metric, perCredential value: (ProcessSnapshot.Credential) -> Double?) {
        let values = seen.credentials.compactMap { one in value(one).map { (one.app.labels, $0) } }
        write(metric, Dictionary(values) { first, _ in first })
    }

    mutating func write(_ metric: Metric, perProcess value: (WorkerSnapshot.Process) -> Int) {
        write(metric, sums: snapshots.flatMap(\.processes).map { ($0.name, value($0)) })
    }

    mutating func write(_ metric: Metric, pools name: PoolCounters.Name) {
        write(metric, sum: { $0.poolCounters[name] })
    }
}

extension Metric {
    static func counter(_ name: StaticString, by labels: [StaticString] = [], _ help: StaticString)
        -> Metric
    {
        Metric(name, .counter, by: labels, help)
    }

    static func gauge(_ name: StaticString, by labels: [StaticString] = [], _ help: StaticString) -> Metric {
        Metric(name, .gauge, by: labels, help)
    }

    static func histogram(_ name: StaticString, _ help: StaticString) -> Metric {
        Metric(name, .histogram, help)
    }
}

extension AppName {
    var labels: [String] { [topic, environment.rawValue] }
}

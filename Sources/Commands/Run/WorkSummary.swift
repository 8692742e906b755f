import Core
import Logging
import Pipeline
import Runtime

struct WorkSummary {
    static let interval = Duration.seconds(60)

    private(set) var nextDue: Instant
    private var previous: [String: UInt64] = [:]

    init(at now: Instant) {
        nextDue = now + Self.interval
    }

    /// - Returns: `nil` before the minute has passed, and if there was no work.
    mutating func take(_ snapshots: [WorkerSnapshot], at now: Instant) -> Logger.Metadata? {
        guard nextDue <= now else { return nil }
        nextDue = now + Self.interval
        var totals = PipelineCounters(queues: 0)
        for snapshot in snapshots { totals.add(snapshot.counters) }
        let numbers = totals.numbers(["dead_letters": .deadLetters, "parked": .parked])
        let work = numbers.merging(previous) { now, before in now - before }
        previous = numbers
        return work.values.contains { $0 > 0 } ? work.mapValues { .stringConvertible($0) } : nil
    }
}

extension PipelineCounters {
    /// Counters by their names in the log, with those of all outcomes.
    func numbers(_ names: [String: Name]) -> [String: UInt64] {
        var numbers = names.mapValues { self[$0] }
        for outcome in Outcome.allCases { numbers["\(outcome.name)"] = self[outcome] }
        return numbers
    }
}

import Core
import Logging
import Pipeline
import Runtime

/// The work of all workers in the last minute.
struct WorkSummary {
    static let interval = Duration.seconds(60)

    private(set) var nextDue: Instant
    /// Totals at the previous summary.
    private var outcomes = [UInt64](repeating: 0, count: Outcome.allCases.count)
    private var deadLetters: UInt64 = 0
    private var parked: UInt64 = 0

    init(at now: Instant) {
        nextDue = now + Self.interval
    }

    /// - Returns: `nil` before the minute has passed, and if there was no work.
    mutating func take(_ snapshots: [WorkerSnapshot], at now: Instant) -> Logger.Metadata? {
        guard nextDue <= now else { return nil }
        var next = WorkSummary(at: now)
        for snapshot in snapshots {
            for outcome in Outcome.allCases { next.outcomes[Int(outcome.rawValue)] += snapshot.counters[outcome] }
            next.deadLetters += snapshot.counters[.deadLetters]
            next.parked += snapshot.counters[.parked]
        }
        defer { self = next }
        guard next.outcomes != outcomes || next.parked != parked else { return nil }
        var fields: Logger.Metadata = [
            "dead_letters": .stringConvertible(next.deadLetters - deadLetters),
            "parked": .stringConvertible(next.parked - parked),
        ]
        for outcome in Outcome.allCases {
            let index = Int(outcome.rawValue)
            fields["\(outcome.name)"] = .stringConvertible(next.outcomes[index] - outcomes[index])
        }
        return fields
    }
}

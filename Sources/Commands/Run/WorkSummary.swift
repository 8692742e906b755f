import Core
import Logging
import Pipeline
import Runtime

/// The work of all workers in the last minute.
struct WorkSummary {
    static let interval = Duration.seconds(60)

    private(set) var nextDue: Instant
    /// Totals at the previous summary.
    private var previous = PipelineCounters(queues: 0)

    init(at now: Instant) {
        nextDue = now + Self.interval
    }

    /// - Returns: `nil` before the minute has passed, and if there was no work.
    mutating func take(_ snapshots: [WorkerSnapshot], at now: Instant) -> Logger.Metadata? {
        guard nextDue <= now else { return nil }
        nextDue = now + Self.interval
        var totals = PipelineCounters(queues: 0)
        for snapshot in snapshots { totals.add(snapshot.counters) }
        defer { previous = totals }
        guard
            totals.outcomes != previous.outcomes || totals[.parked] != previous[.parked]
                || totals[.deadLetters] != previous[.deadLetters]
        else { return nil }
        var fields: Logger.Metadata = [
            "dead_letters": .stringConvertible(totals[.deadLetters] - previous[.deadLetters]),
            "parked": .stringConvertible(totals[.parked] - previous[.parked]),
        ]
        for outcome in Outcome.allCases {
            fields["\(outcome.name)"] = .stringConvertible(totals[outcome] - previous[outcome])
        }
        return fields
    }
}

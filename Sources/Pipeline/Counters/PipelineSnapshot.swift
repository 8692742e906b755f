/// A pipeline in numbers, at one moment.
package struct PipelineSnapshot {
    package let counters: PipelineCounters
    package let timings: Timings
    package let tally: NotificationTally
    /// By slot.
    package let apps: [PipelineApp]
    /// The slots of the apps that are configured, in the configuration's order.
    package let configured: [Int]
    /// What is kept in memory beside what is in flight.
    package let remembered: Int
    package let orphans: Int
    /// Requests whose results wait for a reply queue that refuses them.
    package let refused: Int
    package let refusing: RefusingDestinations
}

// A worker reads this in place of the pipeline's properties, which no other target sees.
extension Pipeline {
    package var snapshot: PipelineSnapshot {
        PipelineSnapshot(
            counters: counters, timings: timings, tally: tally, apps: apps.apps, configured: apps.configured,
            remembered: completed.count, orphans: orphans.count, refused: refusedResults.count, refusing: refusing)
    }

    /// Deliveries without a settlement.
    package var unsettled: Int { counters.unsettled }

    package var queues: [PipelineQueue] { settings.queues }
}
